//! The file's path and its settings.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{self, Path, PathBuf};
use std::time::Duration;

use rustix::fs::Mode;
use url::Url;

use crate::store::TextError;

/// A file that elections are kept in, and how to use it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct SqliteConfig {
    pub(super) path: PathBuf,
    pub(super) busy_timeout: Duration,
    pub(super) trust_empty_store: bool,
    pub(super) group: bool,
}

impl SqliteConfig {
    /// The file at that path, which is created when it is first needed; its folder is not. A relative
    /// path counts from the present working directory, also if that changes later.
    pub fn new(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        Self {
            // A path without an absolute form is refused with the first request.
            path: path::absolute(path).unwrap_or_else(|_| path.to_owned()),
            busy_timeout: Duration::from_millis(300),
            trust_empty_store: false,
            group: false,
        }
    }

    /// Reads `sqlite:///path/to/file.db`, or with `?share_with_group=true` as
    /// [`share_with_group`](Self::share_with_group). Special characters are percent-encoded: `%23` for `#`,
    /// `%3F` for `?`.
    ///
    /// # Errors
    /// If the text has another form. The error names the part at fault and shows nothing of the text.
    pub fn from_url(url: &str) -> Result<Self, SqliteUrlError> {
        TextError::check(url)?;
        let url = Url::parse(url).map_err(SqliteUrlError::Syntax)?;
        match url.scheme() {
            "sqlite" => {}
            _ => return Err(SqliteUrlError::Scheme),
        }
        if url.has_host() && url.host_str().is_some_and(|host| !host.is_empty()) {
            return Err(SqliteUrlError::Host);
        }
        let share = shared(&url)?;
        if url.fragment().is_some() {
            return Err(SqliteUrlError::Fragment);
        }
        let path: Vec<u8> = percent_encoding::percent_decode_str(url.path()).collect();
        if !path.starts_with(b"/") || path.ends_with(b"/") {
            return Err(SqliteUrlError::Path);
        }
        Ok(Self::new(OsString::from_vec(path)).share_with_group(share.unwrap_or(false)))
    }

    /// Sets how long a request waits for the file's lock while another process writes; after that it is
    /// refused ([`SqliteError::Locked`](super::SqliteError::Locked)). It never waits for longer than its
    /// caller does. Default: 300 ms.
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Makes the files readable and writable for their group too (mode 0660), for candidates that run as
    /// several users. Otherwise only the user that creates them may use them (mode 0600): a user who may read
    /// them can lock them, and so stop the elections. Files that exist already keep their mode, and a wider mode
    /// causes a warning.
    ///
    /// The group is that of the process that creates the files, or that of a folder with the setgid bit.
    pub fn share_with_group(mut self, share: bool) -> Self {
        self.group = share;
        self
    }

    pub(super) fn mode(&self) -> Mode {
        let owner = Mode::RUSR | Mode::WUSR;
        if self.group { owner | Mode::RGRP | Mode::WGRP } else { owner }
    }

    /// Treats a file without a past as one that has lost nothing, so that the very first leader does not wait out the
    /// quarantine: that is a new file, if its first request is an acquire of a candidate that knows no token. For tests
    /// and throw-away files: with it, a file that was deleted under a leader can lead to two leaders.
    pub fn trust_empty_store(mut self, trust: bool) -> Self {
        self.trust_empty_store = trust;
        self
    }
}

/// Whether the URL sets `share_with_group`.
fn shared(url: &Url) -> Result<Option<bool>, SqliteUrlError> {
    let mut share = None;
    for (number, (name, value)) in (1..).zip(url.query_pairs()) {
        if name != SHARE {
            return Err(SqliteUrlError::Parameter { number });
        }
        let value = value.parse().map_err(|_| SqliteUrlError::Value { name: SHARE })?;
        if share.replace(value).is_some() {
            return Err(SqliteUrlError::Doubled { name: SHARE });
        }
    }
    Ok(share)
}

const SHARE: &str = "share_with_group";

/// Why a SQLite URL was refused. No text of a URL is ever a part of it: one of another store, given by
/// mistake, may have a password in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteUrlError {
    /// What surely is a mistake, in the whole URL.
    #[error("the SQLite URL can't be used: {0}")]
    Text(#[from] TextError),
    /// Not a URL.
    #[error("the SQLite URL can't be read; it is sqlite:///path/file.db")]
    Syntax(#[source] url::ParseError),
    /// Another scheme than `sqlite`.
    #[error("the SQLite URL's scheme must be \"sqlite\"; it is sqlite:///path/file.db")]
    Scheme,
    /// Two slashes instead of three, most likely.
    #[error(
        "the SQLite URL names a host; a file is named with three slashes: sqlite:///path/file.db"
    )]
    Host,
    /// No absolute path of a file.
    #[error("the SQLite URL must name a file by its absolute path: sqlite:///path/file.db")]
    Path,
    /// An unencoded `#`, most likely.
    #[error("the SQLite URL has a fragment; a # in a file's name is written %23")]
    Fragment,
    /// An unknown parameter.
    #[error(
        "parameter {number} of the SQLite URL is unknown; known is \"share_with_group\": leave any other out"
    )]
    Parameter {
        /// Which, from 1.
        number: usize,
    },
    /// A parameter has a value that it can't have.
    #[error("the SQLite URL's parameter {name:?} must be true or false, as in {name}=true")]
    Value {
        /// Its name.
        name: &'static str,
    },
    /// A parameter is there twice, and may contradict itself.
    #[error("the SQLite URL has the parameter {name:?} twice; leave one of them")]
    Doubled {
        /// Its name.
        name: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_path_from_a_url() {
        for (url, path) in [
            ("sqlite:///var/lib/app/elections.db", "/var/lib/app/elections.db"),
            ("sqlite:/var/lib/elections.db", "/var/lib/elections.db"),
            ("sqlite:///a%20b/%23c%3Fd", "/a b/#c?d"),
        ] {
            assert_eq!(SqliteConfig::from_url(url).unwrap(), SqliteConfig::new(path));
        }
        let shared = SqliteConfig::from_url("sqlite:///a?share_with_group=true").unwrap();
        assert_eq!(shared, SqliteConfig::new("/a").share_with_group(true));
        let odd = SqliteConfig::from_url("sqlite:///a%FFb").unwrap();
        assert_eq!(odd.path.into_os_string().into_vec(), b"/a\xffb");
    }

    #[test]
    fn errors_name_the_part_at_fault() {
        for (url, expected) in [
            ("hush.db", "the SQLite URL can't be read; it is sqlite:///path/file.db"),
            (
                "hush:///x",
                "the SQLite URL's scheme must be \"sqlite\"; it is sqlite:///path/file.db",
            ),
            (
                "postgres://hush:hush@hush/hush?hush",
                "the SQLite URL's scheme must be \"sqlite\"; it is sqlite:///path/file.db",
            ),
            (
                "sqlite://hush.db",
                "the SQLite URL names a host; a file is named with three slashes: \
                 sqlite:///path/file.db",
            ),
            (
                "sqlite::memory:",
                "the SQLite URL must name a file by its absolute path: sqlite:///path/file.db",
            ),
            (
                "sqlite:///folder/",
                "the SQLite URL must name a file by its absolute path: sqlite:///path/file.db",
            ),
            (
                "sqlite:///hush\n",
                "the SQLite URL can't be used: a control character, such as a line break, would be a part of it: leave \
                 that out",
            ),
            ("sqlite:///a#b", "the SQLite URL has a fragment; a # in a file's name is written %23"),
            (
                "sqlite:///a?hush=hush",
                "parameter 1 of the SQLite URL is unknown; known is \"share_with_group\": leave any other out",
            ),
            (
                "sqlite:///a?share_with_group=hush",
                "the SQLite URL's parameter \"share_with_group\" must be true or false, as in share_with_group=true",
            ),
            (
                "sqlite:///a?share_with_group=true&share_with_group=true",
                "the SQLite URL has the parameter \"share_with_group\" twice; leave one of them",
            ),
        ] {
            let error = SqliteConfig::from_url(url).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert!(!format!("{error:?}").contains("hush"), "{error:?}");
        }
    }

    #[test]
    fn a_relative_path_is_resolved_at_once() {
        let config = SqliteConfig::new(":memory:");
        assert_eq!(config.path, std::env::current_dir().unwrap().join(":memory:"));
    }
}
