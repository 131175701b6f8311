//! Small libraries that programs load before the C library (`LD_PRELOAD`), compiled when a test
//! needs them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::ServerError;
use crate::child::find;
use crate::error::doing;

const NAME: &str = "LD_PRELOAD";

/// A folder for such a library.
pub(crate) fn folder(making: &'static str) -> Result<TempDir, ServerError> {
    let folder = tempfile::tempdir().map_err(doing(making))?;
    if folder.path().to_string_lossy().contains([' ', ':']) {
        let path = folder.path().display();
        let why = format!("LD_PRELOAD does not take a path with a space or a colon: '{path}'");
        return Err(doing(making)(io::Error::new(io::ErrorKind::InvalidInput, why)));
    }
    Ok(folder)
}

/// The process of that command loads it, beside what it loads already.
pub(crate) fn load(command: &mut Command, library: &Path) {
    let mut all = OsString::new();
    if let Some((_, Some(known))) = command.get_envs().find(|(name, _)| *name == NAME) {
        all.push(known);
        all.push(":");
    }
    all.push(library);
    command.env(NAME, all);
}

/// Compiles it; the source is kept beside it.
pub(crate) fn compile(
    making: &'static str,
    source: &str,
    library: &Path,
    flags: &[&str],
) -> Result<(), ServerError> {
    let Some(compiler) = find("cc", Vec::new()) else {
        return Err(ServerError::Missing {
            program: "cc",
            install: "apt-get install gcc libc6-dev",
        });
    };
    let file = library.with_extension("c");
    fs::write(&file, source).map_err(doing(making))?;
    let mut compile = Command::new(compiler);
    compile.args(["-shared", "-fPIC", "-O2", "-o"]).arg(library).args(flags).arg(file);
    let output = compile.output().map_err(doing(making))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(doing(making)(io::Error::other(said)))
}
