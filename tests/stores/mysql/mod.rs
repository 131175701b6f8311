//! The store on MariaDB: what other stores can't do, or do in another way.

mod altered;
mod dumps;
mod failover;
mod kept;
mod refusals;
pub(crate) mod rows;
pub(crate) mod support;
mod together;
