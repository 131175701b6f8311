//! Encrypted connections: TLS by rustls, over any byte stream.
//!
//! The server's certificate is always verified, by the system's certificate authorities or by those that are
//! configured. This can't be turned off: a connection to an unknown server protects nothing.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::WantsClientCert;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::{Error as PemError, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, ConfigBuilder, RootCertStore};

use crate::runtime::Connection;

/// Which servers to trust, and the certificate to show them.
#[derive(Clone)]
#[must_use]
pub struct TlsConfig {
    roots: Arc<RootCertStore>,
    client: Arc<ClientConfig>,
    server_name: Option<ServerName<'static>>,
}

impl TlsConfig {
    /// Trusts the certificate authorities that the system trusts.
    ///
    /// # Errors
    /// If the system has none that can be read.
    pub fn system() -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        // Some of a system's certificates may be broken; the others are enough.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(TlsError::NoSystemRoots);
        }
        Self::of(roots)
    }

    /// Trusts only these certificate authorities: one or more certificates in PEM.
    ///
    /// # Errors
    /// If the text has no certificate, or one that can't be read.
    pub fn with_ca(pem: impl AsRef<[u8]>) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates("CA", pem.as_ref())? {
            roots.add(certificate)?;
        }
        Self::of(roots)
    }

    /// The same, from a file.
    ///
    /// # Errors
    /// If the file can't be read, or as for [`with_ca`](Self::with_ca).
    pub fn with_ca_file(path: impl AsRef<Path>) -> Result<Self, TlsError> {
        let path = path.as_ref();
        let pem = std::fs::read(path)
            .map_err(|source| TlsError::File { path: path.display().to_string(), source })?;
        Self::with_ca(pem)
    }

    /// Shows this certificate (with its chain) to a server that asks for one; the key is its private key. Both
    /// in PEM.
    ///
    /// # Errors
    /// If one of them can't be read, or the key is of no known kind.
    pub fn client_certificate(
        mut self,
        certificate: impl AsRef<[u8]>,
        key: impl AsRef<[u8]>,
    ) -> Result<Self, TlsError> {
        let chain = certificates("client", certificate.as_ref())?;
        let key = PrivateKeyDer::from_pem_slice(key.as_ref())
            .map_err(|source| TlsError::Pem { what: "client key", source })?;
        let client = builder(&self.roots)?.with_client_auth_cert(chain, key)?;
        self.client = Arc::new(client);
        Ok(self)
    }

    /// Expects the server's certificate to be for that name, instead of for the host that is connected
    /// to.
    ///
    /// # Errors
    /// If it is neither a DNS name nor an address.
    pub fn server_name(mut self, name: impl Into<String>) -> Result<Self, TlsError> {
        self.server_name = Some(server_name(name.into())?);
        Ok(self)
    }

    fn of(roots: RootCertStore) -> Result<Self, TlsError> {
        let roots = Arc::new(roots);
        let client = Arc::new(builder(&roots)?.with_no_client_auth());
        Ok(Self { roots, client, server_name: None })
    }

    /// Shakes hands over a stream to `host`. An error of the kind `InvalidData` says that the handshake
    /// failed, any other that the stream did.
    #[cfg_attr(
        not(any(feature = "postgres", feature = "redis")),
        allow(dead_code, reason = "for the stores that use it")
    )]
    pub(crate) async fn connect(&self, host: &str, stream: Connection) -> io::Result<Connection> {
        let name = match &self.server_name {
            Some(name) => name.clone(),
            None => server_name(host.to_owned())
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?,
        };
        let connector = TlsConnector::from(Arc::clone(&self.client));
        Ok(Box::new(connector.connect(name, stream).await?))
    }
}

impl fmt::Debug for TlsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The rest is certificates and keys.
        f.debug_struct("TlsConfig").field("server_name", &self.server_name).finish_non_exhaustive()
    }
}

fn builder(
    roots: &Arc<RootCertStore>,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, TlsError> {
    Ok(ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(Arc::clone(roots)))
}

/// Chosen explicitly, because an application may have installed another provider, or none.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn server_name(name: String) -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(name.clone()).map_err(|_| TlsError::ServerName { name })
}

fn certificates(what: &'static str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|source| TlsError::Pem { what, source })?;
    if found.is_empty() { Err(TlsError::NoCertificate { what }) } else { Ok(found) }
}

/// Why TLS can't be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The system has no certificate authorities.
    #[error(
        "the system has no certificate authorities: install the package ca-certificates, or name a file with your own"
    )]
    NoSystemRoots,
    /// No certificate in a text that should have one.
    #[error("the {what} PEM has no certificate: one begins with -----BEGIN CERTIFICATE-----")]
    NoCertificate {
        /// Whose.
        what: &'static str,
    },
    /// Not PEM.
    #[error(
        "the {what} PEM can't be read: give text of one or more parts such as -----BEGIN CERTIFICATE----- or \
         -----BEGIN PRIVATE KEY-----"
    )]
    Pem {
        /// Whose.
        what: &'static str,
        /// Why.
        #[source]
        source: PemError,
    },
    /// A file can't be read.
    #[error("the file {path:?} can't be read ({source}): name one that this process may read")]
    File {
        /// Which.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Neither a DNS name nor an address.
    #[error(
        "the server name {name:?} is neither a DNS name nor an address: give one, such as db.example.org"
    )]
    ServerName {
        /// What was given.
        name: String,
    },
    /// rustls refuses a certificate or a key.
    #[error(
        "a certificate or key is refused ({0}): give a valid certificate, and the key that belongs to it"
    )]
    Refused(#[from] rustls::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_what_is_wrong() {
        for (error, expected) in [
            (
                TlsConfig::with_ca("").unwrap_err(),
                "the CA PEM has no certificate: one begins with -----BEGIN CERTIFICATE-----",
            ),
            (
                TlsConfig::with_ca("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n")
                    .unwrap_err(),
                "the CA PEM can't be read: give text of one or more parts such as -----BEGIN CERTIFICATE----- or \
                 -----BEGIN PRIVATE KEY-----",
            ),
            (
                TlsConfig::with_ca_file("/no/such/file").unwrap_err(),
                "the file \"/no/such/file\" can't be read (No such file or directory (os error 2)): name one that \
                 this process may read",
            ),
        ] {
            assert_eq!(error.to_string(), expected);
        }
    }
}
