//! A name server that never answers.

use std::process::Command;

use tempfile::TempDir;

use crate::ServerError;
use crate::preload;

const MAKING: &str = "making a silent name server";
const SOURCE: &str = include_str!("names/preload.c");

/// A name server that never answers, for programs that ask the C library for addresses.
#[derive(Debug)]
pub struct SilentNames(TempDir);

impl SilentNames {
    /// Makes one.
    ///
    /// # Errors
    /// [`ServerError::Missing`] without a C compiler. If the temporary folder's path has a space or
    /// a colon, which `LD_PRELOAD` takes for the end of a path.
    pub fn start() -> Result<Self, ServerError> {
        let folder = preload::folder(MAKING)?;
        let library = folder.path().join("names.so");
        preload::compile(MAKING, SOURCE, &library, &[])?;
        Ok(Self(folder))
    }

    /// No lookup of that process ends. It must be kept until the process has begun.
    pub fn silence(&self, command: &mut Command) {
        preload::load(command, &self.0.path().join("names.so"));
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_lookup_never_ends() {
        let names = SilentNames::start().expect("a compiler");
        let mut lookup = Command::new("getent");
        names.silence(&mut lookup);
        let mut lookup = lookup.args(["ahosts", "localhost"]).spawn().expect("getent runs");
        let end = Instant::now() + Duration::from_secs(1);
        while Instant::now() < end {
            assert_eq!(lookup.try_wait().expect("a child"), None);
            std::thread::sleep(Duration::from_millis(20));
        }
        lookup.kill().expect("it runs");
        lookup.wait().expect("a child");
    }
}
