//! The library that keeps the server's processes in one session: `sessions.c` says why.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use rustix::process::geteuid;

use crate::ServerError;
use crate::error::doing;
use crate::preload;

const MAKING: &str = "making a library for PostgreSQL";
const SOURCE: &str = include_str!("sessions.c");

/// It is made once on a machine, as the cluster is.
pub(super) fn library() -> Result<PathBuf, ServerError> {
    let user = geteuid().as_raw();
    let path = std::env::temp_dir().join(format!("tenure-sessions-{user}.so"));
    // Another user may have put something there.
    let is_own = |file: fs::Metadata| file.is_file() && file.uid() == user;
    if fs::symlink_metadata(&path).is_ok_and(is_own) {
        return Ok(path);
    }
    let folder = preload::folder(MAKING)?;
    let made = folder.path().join("sessions.so");
    preload::compile(MAKING, SOURCE, &made, &[])?;
    // The server may run as another user, and what it can't read is ignored.
    fs::set_permissions(&made, Permissions::from_mode(0o755)).map_err(doing(MAKING))?;
    fs::rename(made, &path).map_err(doing(MAKING))?;
    Ok(path)
}
