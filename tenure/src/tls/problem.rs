//! The faults of the parts of a TLS configuration.

use std::io;
use std::path::Path;

use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::pem::Error as PemError;

/// A failure to set TLS up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error(
        "the system has no certificate authorities: install the package ca-certificates, or name a file with your own"
    )]
    NoSystemRoots,
    #[error("the {what} PEM has no certificate: one begins with -----BEGIN CERTIFICATE-----")]
    NoCertificate { what: &'static str },
    #[error(
        "the {what} PEM can't be read: give text of one or more parts such as -----BEGIN CERTIFICATE----- or \
         -----BEGIN PRIVATE KEY-----"
    )]
    Pem { what: &'static str, source: PemError },
    #[error("the file {path:?} can't be read ({source}): name one that this process may read")]
    File { path: String, source: io::Error },
    #[error("the file {path:?} can't be used: {why}")]
    InFile {
        path: String,
        #[source]
        why: Box<Problem>,
    },
    #[error(
        "the server name {name:?} is neither a DNS name nor an address: give one, such as db.example.org"
    )]
    ServerName { name: String },
    #[error(
        "a certificate or key is refused ({0}): give a valid certificate, and the key that belongs to it"
    )]
    Refused(#[from] rustls::Error),
}

impl Problem {
    pub(super) fn within(path: &Path, why: Self) -> Self {
        Self::InFile { path: path.display().to_string(), why: Box::new(why) }
    }

    /// The same without the name of a file, which in a broken URL may be a part of a password. The
    /// error of the system if a file can't be read.
    #[cfg(any(
        feature = "redis-without-tls",
        feature = "fred",
        feature = "postgres",
        feature = "etcd",
        feature = "mysql"
    ))]
    pub(crate) fn without_path(self) -> Result<Self, io::Error> {
        match self {
            Self::File { source, .. } => Err(source),
            Self::InFile { why, .. } => Ok(*why),
            other => Ok(other),
        }
    }
}
