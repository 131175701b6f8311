//! The store contract, row by row of DESIGN section 4.

mod history;
mod purge;
mod requests;
mod restarts;
mod settings;
mod support;
