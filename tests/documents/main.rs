//! The pages for users: their links lead somewhere, and the programs that they show are those that are tested.

#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

mod book;
mod figures;
mod links;
mod programs;

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
