//! The PostgreSQL store against real servers: every row of the store contract, servers that are not what
//! they should be, and elections while servers and networks fail.
//!
//! Needs PostgreSQL; without it, these tests fail and say how to install it.

mod advisory;
mod elections;
mod isolation;
mod locks;
mod refusals;
pub(crate) mod rows;
pub(crate) mod support;
mod table;
mod tls;
mod wakeup;
