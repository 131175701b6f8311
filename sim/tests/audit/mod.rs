//! The audit: hand-made logs that it must and must not accuse, logs of the model engine, and logs
//! of the real library.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod command;
mod ends;
mod input;
mod leads;
mod library;
mod model;
mod offsets;
mod parts;
mod shifts;
mod support;
mod writes;
