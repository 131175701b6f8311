//! The PostgreSQL store against real servers: every row of the store contract, servers that are not
//! what they should be, and elections whose sessions, locks or table are disturbed.
//!
//! Needs PostgreSQL; without it, these tests fail and say how to install it.

mod altered;
mod blocked;
mod few_slots;
mod locks;
mod messages;
mod old_lock;
mod oversized;
mod past;
mod poolers;
mod promoted;
mod refusals;
mod rights;
pub(crate) mod rows;
pub(crate) mod support;
mod table;
mod terminated;
pub(crate) mod tls;
mod together;
mod wakeup;
