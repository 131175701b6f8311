//! The PostgreSQL store against real servers: every row of the store contract, servers that are not what
//! they should be, and elections while servers and networks fail.
//!
//! Needs PostgreSQL; without it, these tests fail and say how to install it.

pub(crate) mod advisory;
mod blocked;
mod elections;
mod history;
mod isolation;
mod locks;
mod poolers;
mod refusals;
mod rights;
pub(crate) mod rows;
pub(crate) mod support;
mod table;
pub(crate) mod tls;
mod wakeup;
