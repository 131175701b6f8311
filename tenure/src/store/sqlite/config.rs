//! The file's path and its settings.

use std::path::{self, Path, PathBuf};
use std::time::Duration;

use rustix::fs::Mode;

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
    /// The file at that path, which is created when it is first needed; its folder is not. A
    /// relative path counts from the present working directory, also if that changes later.
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

    /// Sets how long a request waits for the file's lock while another process writes; after that
    /// it is refused ([`SqliteError::Locked`](super::SqliteError::Locked)). It never waits for
    /// longer than its caller does. Default: 300 ms.
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Makes the files readable and writable for their group too (mode 0660), for candidates that
    /// run as several users. Otherwise only the user that creates them may use them (mode 0600): a
    /// user who may read them can lock them, and so stop the elections. Files that exist already
    /// keep their mode, and a wider mode causes a warning.
    ///
    /// The group is that of the process that creates the files, or that of a folder with the setgid
    /// bit.
    pub fn share_with_group(mut self, share: bool) -> Self {
        self.group = share;
        self
    }

    pub(super) fn mode(&self) -> Mode {
        let owner = Mode::RUSR | Mode::WUSR;
        if self.group { owner | Mode::RGRP | Mode::WGRP } else { owner }
    }

    /// Treats a file without a past as one that has lost nothing, so that the very first leader
    /// does not wait out the quarantine: that is a new file, if its first request is an acquire of
    /// a candidate that knows no token. For tests and throw-away files: with it, a file that was
    /// deleted under a leader can lead to two leaders.
    pub fn trust_empty_store(mut self, trust: bool) -> Self {
        self.trust_empty_store = trust;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_is_resolved_at_once() {
        let config = SqliteConfig::new(":memory:");
        assert_eq!(config.path, std::env::current_dir().unwrap().join(":memory:"));
    }
}
