//! Which store is meant.

#[cfg(feature = "sqlite")]
mod own_file;

use std::fs;
use std::path::PathBuf;

use clap::Args;
use tenure::store::AnyStore;

use crate::exit::Failure;
#[cfg(feature = "sqlite")]
use own_file::own_file;

/// Any of these, if it is not empty, makes the library read the store from variables.
pub(crate) const VARIABLES: [&str; 3] =
    ["TENURE_STORE", "TENURE_REDIS_HOST", "TENURE_REDIS_SENTINEL_HOST"];

/// Where elections are kept.
#[expect(clippy::doc_markdown, reason = "the texts of --help have no markup")]
#[derive(Debug, Args)]
pub(crate) struct At {
    /// The store's URL, such as redis://10.0.0.7:6379.
    ///
    /// Without it: the file of --store-file, else TENURE_STORE and the variables beside it, else a
    /// file of this user on this host. Other users can read command lines: give a URL with a
    /// password by --store-file or TENURE_STORE.
    #[arg(long, value_name = "URL", conflicts_with = "store_file")]
    pub(crate) store: Option<String>,
    /// A file with the store's URL in it.
    #[arg(long, value_name = "FILE")]
    pub(crate) store_file: Option<PathBuf>,
}

/// The store of the command line, else of the variables, else of this user on this host.
pub(crate) fn store(at: &At) -> Result<AnyStore, Failure> {
    if at.store.as_deref().is_some_and(has_password) {
        eprintln!(
            "tenure: the URL of --store has a password in it, and other users can read command lines: put the URL \
             into a file and name it by --store-file, or into TENURE_STORE"
        );
    }
    quiet(at)
}

/// The same without a warning: for another connection to the store.
pub(crate) fn quiet(at: &At) -> Result<AnyStore, Failure> {
    if let Some(url) = &at.store {
        return AnyStore::from_url(url)
            .map_err(|error| Failure::usage(format!("--store: {error}")));
    }
    if let Some(file) = &at.store_file {
        let url = fs::read_to_string(file).map_err(|error| {
            let file = file.display();
            Failure::usage(format!(
                "--store-file {file} can't be read: {error}: name a file with the store's URL in it"
            ))
        })?;
        let named = |error| Failure::usage(format!("--store-file {}: {error}", file.display()));
        return AnyStore::from_url(url.trim()).map_err(named);
    }
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if VARIABLES.into_iter().any(is_set) {
        return Ok(AnyStore::from_env()?);
    }
    own_file()
}

/// Whether a URL has a password between its scheme and its host, or as a parameter.
fn has_password(url: &str) -> bool {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = place.split('/').next().unwrap_or_default();
    let in_place = authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'));
    in_place || parameters.split('&').any(|parameter| parameter.starts_with("password="))
}

#[cfg(not(feature = "sqlite"))]
fn own_file() -> Result<AnyStore, Failure> {
    Err(Failure::usage(
        "no store is named: give --store or set TENURE_STORE, such as redis://127.0.0.1:6379",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_urls_are_seen() {
        for url in [
            "redis://:secret@host:6379",
            "postgres://app:secret@db/app",
            "redis://app:a@b@host",
            "postgres://db/app?user=app&password=secret",
        ] {
            assert!(has_password(url), "{url}");
        }
        for url in [
            "redis://host:6379",
            "postgres://app@db/app",
            "sqlite:///a:b@c/d",
            "memory:",
            "nonsense",
        ] {
            assert!(!has_password(url), "{url}");
        }
    }
}
