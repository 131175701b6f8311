//! The certificate of the store's server, in plans in which it expires.
//!
//! Candidates reach the server encrypted, and verify its certificate. The engine itself reaches it
//! unencrypted.

use std::fs;
use std::io;
use std::path::PathBuf;

use tempfile::TempDir;
use tenure_servers::{Authority, Certificate, ServerError};

/// The names of the server for candidates.
const NAMES: [&str; 2] = ["127.0.0.1", "localhost"];

#[derive(Debug)]
pub(super) struct Certificates {
    authority: String,
    certificate: Certificate,
    folder: TempDir,
}

/// The server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Valid,
    Expired,
}

impl Certificates {
    /// A certificate in a file, which is valid.
    pub(super) fn make() -> Result<Self, ServerError> {
        let authority = Authority::new()?;
        let certificate = authority.certificate(&NAMES)?;
        let folder = tempfile::tempdir().map_err(io("making a folder"))?;
        let made = Self { authority: authority.pem(), certificate, folder };
        fs::write(made.key_file(), made.key()).map_err(io("writing the key of a certificate"))?;
        made.writes(Shown::Valid)?;
        Ok(made)
    }

    /// The authority that has signed it.
    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    pub(super) fn certificate(&self, shown: Shown) -> &str {
        match shown {
            Shown::Valid => &self.certificate.valid,
            Shown::Expired => &self.certificate.expired,
        }
    }

    /// The key of both.
    pub(super) fn key(&self) -> &str {
        &self.certificate.key
    }

    /// The file has that certificate from now on. A reader gets the whole of the old one or of the
    /// new one.
    pub(super) fn writes(&self, shown: Shown) -> Result<(), ServerError> {
        let new = self.folder.path().join("new");
        let written = fs::write(&new, self.certificate(shown));
        written.and_then(|()| fs::rename(new, self.file())).map_err(io("writing a certificate"))
    }

    pub(super) fn file(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    pub(super) fn key_file(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }
}

fn io(doing: &'static str) -> impl Fn(io::Error) -> ServerError {
    move |source| ServerError::Io { doing, source }
}
