//! The programs' places: where the environment says, or where their script builds them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::ServerError;
use crate::error::doing;
use crate::process::Program;

const INSTALL: &str = "scripts/kube-apiserver";
pub(super) const SERVER: Program = Program { name: "kube-apiserver", install: INSTALL };
pub(super) const CANDIDATE: Program = Program { name: "client-go-candidate", install: INSTALL };

/// The output of that script, below the folder of the user's caches.
const BUILT: &str = "tenure/kube-apiserver-1.20.2";
/// The candidate's source. The script leaves a copy beside the program.
const SOURCE: &str = include_str!("candidate.go");

pub(super) fn server() -> Result<PathBuf, ServerError> {
    const FINDING: &str = "finding the program that TENURE_KUBE_APISERVER names";
    find(SERVER, "TENURE_KUBE_APISERVER", FINDING, |_| true)
}

/// One that was built from another source counts as missing.
pub(super) fn candidate() -> Result<PathBuf, ServerError> {
    const FINDING: &str = "finding the program that TENURE_CLIENT_GO_CANDIDATE names";
    let is_of_this_source = |program: &Path| {
        fs::read(program.with_extension("go")).is_ok_and(|source| source == SOURCE.as_bytes())
    };
    find(CANDIDATE, "TENURE_CLIENT_GO_CANDIDATE", FINDING, is_of_this_source)
}

fn find(
    program: Program,
    variable: &str,
    finding: &'static str,
    counts: impl Fn(&Path) -> bool,
) -> Result<PathBuf, ServerError> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = set(variable) {
        return fs::canonicalize(path).map_err(doing(finding));
    }
    let Program { name: program, install } = program;
    let caches = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    let built = caches.map(|caches| caches.join(BUILT).join(program));
    built
        .filter(|path| path.is_file() && counts(path))
        .ok_or(ServerError::Missing { program, install })
}
