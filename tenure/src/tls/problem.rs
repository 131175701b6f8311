//! What can be wrong with the parts of a TLS configuration.

use std::io;
use std::path::Path;

use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::pem::Error as PemError;

#[cfg(any(
    feature = "redis-without-tls",
    feature = "fred",
    feature = "postgres",
    feature = "etcd"
))]
use {super::TlsError, crate::settings::Fault, crate::store::unreadable};

/// Why TLS can't be set up.
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
}

#[cfg(any(
    feature = "redis-without-tls",
    feature = "fred",
    feature = "postgres",
    feature = "etcd"
))]
impl From<TlsError> for Fault {
    /// Without the names of files and servers, which are the setting's value, and in a broken URL
    /// may be a part of a password.
    fn from(TlsError(problem): TlsError) -> Self {
        let problem = match problem {
            Problem::ServerName { .. } => return Self::Must,
            Problem::File { source, .. } => return unreadable(&source),
            Problem::InFile { why, .. } => *why,
            other => other,
        };
        Self::because(format!("TLS can't be set up: {problem}"))
    }
}
