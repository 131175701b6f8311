//! The pages for users: their links lead somewhere, their programs are those that are tested, their
//! commands are carried out.

#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

mod blocks;
mod book;
mod commands;
mod figures;
mod links;
mod programs;
mod shell;
mod shown;

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
