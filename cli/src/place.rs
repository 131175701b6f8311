//! The choice of the store.

#[cfg(feature = "sqlite")]
mod own_file;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;

use clap::Args;
use tenure::store::AnyStore;

use crate::exit::Failure;
use crate::output;
#[cfg(feature = "sqlite")]
use own_file::own_file;

const STORE: &str = "TENURE_STORE";
/// Its value is a path, as that of `--store-file`.
pub(crate) const STORE_FILE: &str = "TENURE_STORE_FILE";
/// Any of these, if it is not empty, names a store.
pub(crate) const VARIABLES: [&str; 4] =
    [STORE, STORE_FILE, "TENURE_REDIS_HOST", "TENURE_REDIS_SENTINEL_HOST"];
/// In the place of a URL: the file of this user on this host.
const OWN: &str = "own";
const NAME_ONE: &str = "set TENURE_STORE to the store's URL, such as redis://127.0.0.1:6379, or to own for a file of \
                        this user on this host";

/// The place of elections.
#[expect(clippy::doc_markdown, reason = "the texts of --help have no markup")]
#[derive(Debug, Args)]
pub(crate) struct At {
    /// The store's URL, such as redis://10.0.0.7:6379; own is a file of this user on this host.
    ///
    /// Without it: the file of --store-file or TENURE_STORE_FILE, TENURE_STORE and the variables
    /// beside it, or else own, which a message says. Other users can read command lines: give a URL
    /// with a password by --store-file or TENURE_STORE.
    #[arg(long, value_name = "URL", conflicts_with = "store_file")]
    pub(crate) store: Option<String>,
    /// A file with the store's URL in it.
    #[arg(long, value_name = "FILE")]
    pub(crate) store_file: Option<PathBuf>,
}

/// A way to name the store.
enum Named {
    Url(String),
    /// By an option or a variable of that name.
    File(&'static str, PathBuf),
    /// The library reads them.
    Variables,
    Own,
    Nothing,
}

impl Named {
    fn of(at: &At) -> Result<Self, Failure> {
        if let Some(url) = &at.store {
            return Ok(if url == OWN { Self::Own } else { Self::Url(url.clone()) });
        }
        if let Some(path) = &at.store_file {
            return Ok(Self::File("--store-file", path.clone()));
        }
        let value = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let set = VARIABLES.into_iter().filter_map(|name| Some((name, value(name)?)));
        let set: Vec<(&str, OsString)> = set.collect();
        match &set[..] {
            [] => Self::nothing(),
            [(STORE, url)] if url == OWN => Ok(Self::Own),
            [(STORE_FILE, path)] => Ok(Self::File(STORE_FILE, path.into())),
            // Two of its own are the library's to refuse.
            [(one, url), (other, _), ..]
                if url == OWN || *one == STORE_FILE || *other == STORE_FILE =>
            {
                Err(Failure::usage(format!("{one} and {other} are both set: unset one of them")))
            }
            [..] => Ok(Self::Variables),
        }
    }

    /// No store is named. The file of this user is not what was meant where one should have been.
    fn nothing() -> Result<Self, Failure> {
        let is_set = |name: &&str| env::var_os(name).is_some();
        if let Some(name) = [STORE, STORE_FILE].into_iter().find(is_set) {
            return Err(Failure::usage(format!("{name} is set and empty: {NAME_ONE}")));
        }
        if env::var_os("TENURE_TOKEN").is_some() {
            return Err(Failure::usage(format!(
                "no store is named, and TENURE_TOKEN is set, as in a command of `tenure run`, whose store may be \
                 another one: {NAME_ONE}"
            )));
        }
        Ok(Self::Nothing)
    }

    fn open(&self) -> Result<AnyStore, Failure> {
        match self {
            Self::Url(url) => {
                AnyStore::from_url(url).map_err(|error| Failure::usage(format!("--store: {error}")))
            }
            Self::File(by, path) => {
                let file = path.display();
                let url = fs::read_to_string(path).map_err(|error| {
                    Failure::usage(format!(
                        "{by} {file} can't be read: {error}: name a file with the store's URL in it"
                    ))
                })?;
                AnyStore::from_url(url.trim())
                    .map_err(|error| Failure::usage(format!("{by} {file}: {error}")))
            }
            Self::Variables => Ok(AnyStore::from_env()?),
            Self::Own | Self::Nothing => own_file(),
        }
    }
}

/// The store of the command line, else of the variables, else of this user on this host.
pub(crate) fn store(at: &At) -> Result<AnyStore, Failure> {
    if at.store.as_deref().is_some_and(has_password) {
        output::say(
            "the URL of --store has a password in it, and other users can read command lines: put the URL into a file \
             and name it by --store-file, or into TENURE_STORE",
        );
    }
    let named = Named::of(at)?;
    let store = named.open()?;
    if matches!(named, Named::Nothing) {
        output::say(&format!(
            "no store is named, so only this user on this host takes part in the elections: {NAME_ONE}, without this line"
        ));
    }
    Ok(store)
}

/// The same without a message: for another connection to the store.
#[cfg(any(feature = "redis", feature = "postgres"))]
pub(crate) fn quiet(at: &At) -> Result<AnyStore, Failure> {
    Named::of(at)?.open()
}

/// The variables by which `tenure` in a command finds the store of the command, as they came. A URL
/// of `--store` is not among them: only its user knows whether the command may have it.
pub(crate) fn for_commands(at: &At) -> Result<Vec<(OsString, OsString)>, Failure> {
    Ok(match Named::of(at)? {
        // The command may have another working directory.
        Named::File(_, path) => {
            let path = std::path::absolute(path).map_err(Failure::usage)?;
            vec![(STORE_FILE.into(), path.into())]
        }
        Named::Variables => env::vars_os().filter(|(name, _)| names_store(name)).collect(),
        Named::Own if at.store.is_none() => vec![(STORE.into(), OWN.into())],
        Named::Url(_) | Named::Own | Named::Nothing => Vec::new(),
    })
}

/// With `redis` in `TENURE_STORE`, the others say which one.
fn names_store(name: &OsStr) -> bool {
    name == STORE || name.as_encoded_bytes().starts_with(b"TENURE_REDIS_")
}

/// The file of SQLite that was named and does not exist: a request would create it, also if its name
/// is mistyped.
#[cfg(feature = "sqlite")]
pub(crate) fn missing_file(at: &At, store: &AnyStore) -> Option<String> {
    let path = store.downcast_ref::<tenure::store::sqlite::Sqlite>()?.path();
    let is_missing =
        || fs::metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    let is_own = matches!(Named::of(at), Ok(Named::Own | Named::Nothing));
    (!is_own && is_missing()).then(|| {
        let path = path.display();
        format!("{path} does not exist: correct its name, or start a candidate, which creates it")
    })
}

#[cfg(not(feature = "sqlite"))]
pub(crate) fn missing_file(_: &At, _: &AnyStore) -> Option<String> {
    None
}

/// True if a URL has a password between its scheme and its host, or as a parameter.
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
        "no store is named that this program was built with: give --store or set TENURE_STORE, such as \
         redis://127.0.0.1:6379",
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
