//! The store contract, row by row of DESIGN section 4.

mod handover;
mod past;
mod purge;
mod requests;
mod settings;
mod support;
