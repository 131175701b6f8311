//! The SQLite store: every row of the store contract, files that are not what they should be or do
//! not stay where they were, processes that contend and are killed, and elections.

mod beside;
mod child;
mod elections;
mod oversized;
mod places;
mod processes;
mod quarantine;
mod refusals;
mod rights;
pub(crate) mod rows;
pub(crate) mod support;
