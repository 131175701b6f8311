//! Encrypted connections: TLS by rustls, over any byte stream.
//!
//! The server's certificate is always verified, by the system's certificate authorities or by those
//! that are configured. This can't be turned off: a connection to an unknown server protects
//! nothing.

pub(crate) mod files;
mod problem;

use std::fmt;
use std::io;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::WantsClientCert;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ConfigBuilder, RootCertStore};

pub(crate) use problem::Problem;

use crate::runtime::Connection;

/// A failure to set TLS up: its text names the file or the part, what is wrong with it, and what to
/// give instead.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct TlsError(#[from] pub(crate) Problem);

/// The servers to trust, and the certificate to show them.
///
/// Files are read again for each connection, so that certificates can be replaced while the program
/// runs: an attempt that meets half of a replacement fails, and the next one follows. What is given
/// as text stays.
#[derive(Clone)]
#[must_use]
pub struct TlsConfig {
    authorities: Authorities,
    own: Option<Own>,
    server_name: Option<ServerName<'static>>,
}

/// The certificate authorities to trust.
#[derive(Clone)]
enum Authorities {
    /// Those of the system, which are files too.
    System,
    /// PEM.
    Fixed(Arc<[u8]>),
    File(PathBuf),
}

/// The client's own certificate, with its chain, and its key.
#[derive(Clone)]
enum Own {
    /// PEM.
    Fixed(Arc<[u8]>, Arc<[u8]>),
    Files {
        certificate: PathBuf,
        key: PathBuf,
    },
}

impl TlsConfig {
    /// Trusts the certificate authorities that the system trusts.
    ///
    /// # Errors
    /// If the system has none that can be read.
    pub fn system() -> Result<Self, TlsError> {
        Ok(Self::of(Authorities::System)?)
    }

    /// Trusts only these certificate authorities: one or more certificates in PEM.
    ///
    /// # Errors
    /// If the text has no certificate, or one that can't be read.
    pub fn with_ca(pem: impl AsRef<[u8]>) -> Result<Self, TlsError> {
        Ok(Self::of(Authorities::Fixed(pem.as_ref().into()))?)
    }

    /// The same from a file, which is read again for each connection.
    ///
    /// # Errors
    /// If the file can't be read, or as for [`with_ca`](Self::with_ca).
    pub fn with_ca_file(path: impl AsRef<Path>) -> Result<Self, TlsError> {
        Ok(Self::of(Authorities::File(absolute(path.as_ref())))?)
    }

    /// Shows this certificate (with its chain) to a server that asks for one; the key is its
    /// private key. Both in PEM.
    ///
    /// # Errors
    /// If one of them can't be read, or the key is of no known kind.
    pub fn client_certificate(
        mut self,
        certificate: impl AsRef<[u8]>,
        key: impl AsRef<[u8]>,
    ) -> Result<Self, TlsError> {
        self.own = Some(Own::Fixed(certificate.as_ref().into(), key.as_ref().into()));
        Ok(self.checked()?)
    }

    /// The same from files, which are read again for each connection.
    ///
    /// # Errors
    /// If a file can't be read, or as for [`client_certificate`](Self::client_certificate).
    pub fn client_certificate_files(
        mut self,
        certificate: impl AsRef<Path>,
        key: impl AsRef<Path>,
    ) -> Result<Self, TlsError> {
        let (certificate, key) = (absolute(certificate.as_ref()), absolute(key.as_ref()));
        self.own = Some(Own::Files { certificate, key });
        Ok(self.checked()?)
    }

    /// Expects the server's certificate to be for that name, instead of for the host that is
    /// connected to.
    ///
    /// # Errors
    /// If it is neither a DNS name nor an address.
    pub fn server_name(mut self, name: impl Into<String>) -> Result<Self, TlsError> {
        self.server_name = Some(server_name(name.into())?);
        Ok(self)
    }

    fn of(authorities: Authorities) -> Result<Self, Problem> {
        Self { authorities, own: None, server_name: None }.checked()
    }

    fn checked(self) -> Result<Self, Problem> {
        self.client()?;
        Ok(self)
    }

    /// The settings of the next connection.
    fn client(&self) -> Result<ClientConfig, Problem> {
        let roots = match &self.authorities {
            Authorities::System => Arc::new(trusted_by_system()?),
            Authorities::Fixed(pem) => Arc::new(trusted(pem)?),
            Authorities::File(path) => Arc::new(in_file(path, trusted)?),
        };
        let builder = builder(&roots)?;
        Ok(match &self.own {
            None => builder.with_no_client_auth(),
            Some(Own::Fixed(certificate, key)) => {
                let chain = certificates("client", certificate)?;
                builder.with_client_auth_cert(chain, private_key(key)?)?
            }
            Some(Own::Files { certificate, key }) => {
                let chain = in_file(certificate, |pem| certificates("client", pem))?;
                let private = in_file(key, private_key)?;
                let built = builder.with_client_auth_cert(chain, private);
                built.map_err(|error| Problem::within(key, error.into()))?
            }
        })
    }

    /// The content of the next connection for a client that encrypts it itself.
    #[cfg(feature = "mysql")]
    pub(crate) fn texts(&self) -> Result<Texts, Problem> {
        // What is wrong with it is said here, and not by the client.
        self.client()?;
        let read = |path: &Path| in_file(path, |pem| Ok(pem.to_vec()));
        let authorities = match &self.authorities {
            Authorities::System => {
                let found = rustls_native_certs::load_native_certs().certs;
                let is_readable =
                    |one: &CertificateDer<'static>| RootCertStore::empty().add(one.clone()).is_ok();
                found.into_iter().filter(is_readable).map(|one| one.to_vec()).collect()
            }
            Authorities::Fixed(pem) => vec![pem.to_vec()],
            Authorities::File(path) => vec![read(path)?],
        };
        let own = match &self.own {
            None => None,
            Some(Own::Fixed(certificate, key)) => Some((certificate.to_vec(), key.to_vec())),
            Some(Own::Files { certificate, key }) => Some((read(certificate)?, read(key)?)),
        };
        let server_name = self.server_name.as_ref().map(|name| name.to_str().into_owned());
        Ok(Texts { authorities, own, server_name })
    }

    /// Shakes hands over a stream to `host`, for one of these application protocols if there are
    /// any. An error of the kind `InvalidData` says that the handshake failed, any other that the
    /// stream did.
    #[cfg_attr(
        not(any(feature = "postgres", feature = "redis-without-tls", feature = "etcd")),
        allow(dead_code, reason = "for the stores that use it")
    )]
    pub(crate) async fn connect(
        &self,
        host: &str,
        stream: Connection,
        protocols: &[&[u8]],
    ) -> io::Result<Connection> {
        let refused = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let name = match &self.server_name {
            Some(name) => name.clone(),
            None => server_name(host.to_owned()).map_err(refused)?,
        };
        let mut client = self.client().map_err(refused)?;
        client.alpn_protocols = protocols.iter().map(|&protocol| protocol.to_vec()).collect();
        let connector = TlsConnector::from(Arc::new(client));
        Ok(Box::new(connector.connect(name, stream).await?))
    }
}

/// Certificates and keys, in PEM; of the system's authorities, each certificate in DER.
#[cfg(feature = "mysql")]
pub(crate) struct Texts {
    pub(crate) authorities: Vec<Vec<u8>>,
    pub(crate) own: Option<(Vec<u8>, Vec<u8>)>,
    /// Instead of the host's.
    pub(crate) server_name: Option<String>,
}

impl fmt::Debug for TlsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The rest is certificates and keys.
        f.debug_struct("TlsConfig").field("server_name", &self.server_name).finish_non_exhaustive()
    }
}

/// A relative path counts from the present folder, also if that changes later.
fn absolute(path: &Path) -> PathBuf {
    path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Reads a file's content.
fn in_file<T>(path: &Path, read: impl Fn(&[u8]) -> Result<T, Problem>) -> Result<T, Problem> {
    let pem = files::read(path);
    let pem = pem.map_err(|source| Problem::File { path: path.display().to_string(), source })?;
    read(&pem).map_err(|error| Problem::within(path, error))
}

fn trusted_by_system() -> Result<RootCertStore, Problem> {
    let mut roots = RootCertStore::empty();
    // Some of a system's certificates may be broken; the others are enough.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() { Err(Problem::NoSystemRoots) } else { Ok(roots) }
}

fn trusted(pem: &[u8]) -> Result<RootCertStore, Problem> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("CA", pem)? {
        roots.add(certificate)?;
    }
    Ok(roots)
}

fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, Problem> {
    PrivateKeyDer::from_pem_slice(pem).map_err(|source| Problem::Pem { what: "client key", source })
}

fn builder(
    roots: &Arc<RootCertStore>,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, Problem> {
    Ok(ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(Arc::clone(roots)))
}

/// Chosen explicitly, because an application may have installed another provider, or none.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn server_name(name: String) -> Result<ServerName<'static>, Problem> {
    ServerName::try_from(name.clone()).map_err(|_| Problem::ServerName { name })
}

fn certificates(what: &'static str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Problem> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|source| Problem::Pem { what, source })?;
    if found.is_empty() { Err(Problem::NoCertificate { what }) } else { Ok(found) }
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
