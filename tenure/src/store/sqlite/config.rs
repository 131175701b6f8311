//! Which file, and how to use it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{self, Path, PathBuf};
use std::time::Duration;

use url::Url;

/// A file that elections are kept in, and how to use it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct SqliteConfig {
    pub(super) path: PathBuf,
    pub(super) busy_timeout: Duration,
    pub(super) trust_empty_store: bool,
}

impl SqliteConfig {
    /// The file at that path, which is created when it is first needed; its folder is not. A relative
    /// path counts from the present working directory, also if that changes later.
    pub fn new(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        Self {
            // What has no absolute form is refused with the first request.
            path: path::absolute(path).unwrap_or_else(|_| path.to_owned()),
            busy_timeout: Duration::from_millis(300),
            trust_empty_store: false,
        }
    }

    /// Reads `sqlite:///path/to/file.db`. Characters that mean something in a URL are percent-encoded:
    /// `%23` for `#`, `%3F` for `?`.
    ///
    /// # Errors
    /// If the text is anything else.
    pub fn from_url(url: &str) -> Result<Self, SqliteUrlError> {
        let url = Url::parse(url).map_err(SqliteUrlError::Syntax)?;
        match url.scheme() {
            "sqlite" => {}
            scheme => return Err(SqliteUrlError::Scheme { scheme: scheme.to_owned() }),
        }
        if url.has_host() && url.host_str().is_some_and(|host| !host.is_empty()) {
            return Err(SqliteUrlError::Host);
        }
        if let Some((name, _)) = url.query_pairs().next() {
            return Err(SqliteUrlError::Parameter { name: name.into_owned() });
        }
        if url.fragment().is_some() {
            return Err(SqliteUrlError::Fragment);
        }
        let path: Vec<u8> = percent_encoding::percent_decode_str(url.path()).collect();
        if !path.starts_with(b"/") || path.ends_with(b"/") {
            return Err(SqliteUrlError::Path);
        }
        Ok(Self::new(OsString::from_vec(path)))
    }

    /// Sets how long a request waits for the file's lock while another process writes; after that it is
    /// refused ([`SqliteError::Locked`](super::SqliteError::Locked)). It never waits for longer than its
    /// caller does. Default: 300 ms.
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Takes a file in which nothing was ever granted for one that has lost nothing, so that the very
    /// first leader does not wait out the quarantine. For tests and throw-away files: with it, a file
    /// that was deleted under a leader can lead to two leaders.
    pub fn trust_empty_store(mut self, trust: bool) -> Self {
        self.trust_empty_store = trust;
        self
    }
}

/// Why a SQLite URL was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteUrlError {
    /// Not a URL.
    #[error("the SQLite URL can't be read")]
    Syntax(#[source] url::ParseError),
    /// Another scheme than `sqlite`.
    #[error("the SQLite URL's scheme is {scheme:?}; only \"sqlite\" is supported")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
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
    #[error("the SQLite URL has a parameter {name:?}; none is known")]
    Parameter {
        /// Its name.
        name: String,
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
        let odd = SqliteConfig::from_url("sqlite:///a%FFb").unwrap();
        assert_eq!(odd.path.into_os_string().into_vec(), b"/a\xffb");
    }

    #[test]
    fn errors_name_the_part_at_fault() {
        for (url, expected) in [
            ("elections.db", "the SQLite URL can't be read"),
            ("file:///x", "the SQLite URL's scheme is \"file\"; only \"sqlite\" is supported"),
            (
                "sqlite://elections.db",
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
            ("sqlite:///a#b", "the SQLite URL has a fragment; a # in a file's name is written %23"),
            ("sqlite:///a?mode=ro", "the SQLite URL has a parameter \"mode\"; none is known"),
        ] {
            assert_eq!(SqliteConfig::from_url(url).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn a_relative_path_is_fixed_at_once() {
        let config = SqliteConfig::new(":memory:");
        assert_eq!(config.path, std::env::current_dir().unwrap().join(":memory:"));
    }
}
