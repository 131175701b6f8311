//! The etcd store against real members and clusters: every row of the store contract, servers that
//! are not what they should be, and clusters whose members fail.
//!
//! Needs `etcd`; without it, these tests fail and say how to install it.

pub(crate) mod support;

mod cluster;
mod loss;
mod races;
pub(crate) mod refusals;
pub(crate) mod rows;
pub(crate) mod secured;
mod settings;
mod slow;
mod together;
mod wakeup;
