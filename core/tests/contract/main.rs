//! The store contract, row by row of DESIGN section 4.

mod handover;
#[path = "../shared/lines.rs"]
mod lines;
mod past;
mod purge;
mod requests;
mod settings;
mod support;
