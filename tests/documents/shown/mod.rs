//! The code in pages that is part of no example: each block is an excerpt of one of these
//! functions.
//!
//! What can run without a server or a signal runs; the rest is compiled.

mod leading;
mod simulator;
mod store_model;
mod workload;

use std::error::Error;

type Outcome = Result<(), Box<dyn Error>>;
