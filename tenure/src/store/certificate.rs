//! Certificates that clients refuse.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio_rustls::rustls::{self, AlertDescription, CertificateError};

use super::{StoreError, StoreErrorKind};
use crate::tls;

/// The server has shown a certificate that has expired, so the client has ended the connection. It
/// is the source of a [`StoreError`] of the kind [`Tls`](StoreErrorKind::Tls).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CertificateExpired {
    /// For how long, by this machine's clock; `None` if that is not known.
    pub since: Option<Duration>,
}

impl fmt::Display for CertificateExpired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server's certificate has expired")?;
        if let Some(since) = self.since {
            write!(f, " {} s ago by this machine's clock", since.as_secs())?;
        }
        f.write_str("; renew it and have the server load it, or set this clock if it is wrong")
    }
}

impl Error for CertificateExpired {}

impl CertificateExpired {
    fn of(error: &rustls::Error) -> Option<Self> {
        match error {
            rustls::Error::InvalidCertificate(CertificateError::ExpiredContext {
                time,
                not_after,
            }) => {
                let since = time.as_secs().saturating_sub(not_after.as_secs());
                Some(Self { since: Some(Duration::from_secs(since)) })
            }
            rustls::Error::InvalidCertificate(CertificateError::Expired) => {
                Some(Self { since: None })
            }
            _ => None,
        }
    }
}

/// The error of that type that is among the causes of an error.
fn cause<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // The source of an error of a stream is that of the error in it, and not that error itself.
        // It is the same with one behind a pointer, where redis-rs keeps the cause.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let shared = error.downcast_ref::<Arc<dyn Error + Send + Sync>>().map(|shared| &**shared);
        next = match inner.or(shared) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

/// The meaning of a library's error, and the remedy; `None` if its text says that.
fn explained(error: &rustls::Error) -> Option<String> {
    use AlertDescription as Alert;

    let said = match error {
        rustls::Error::InvalidCertificate(why) => {
            let (wrong, remedy) = about(why);
            return Some(format!("the server's certificate {wrong}: {remedy}"));
        }
        rustls::Error::NoCertificatesPresented => {
            "the server shows no certificate: have it load one, with its chain"
        }
        rustls::Error::InvalidMessage(_) => {
            "the server does not speak TLS at that port: name the one that does, or have it encrypt"
        }
        rustls::Error::PeerIncompatible(_)
        | rustls::Error::AlertReceived(
            Alert::ProtocolVersion | Alert::HandshakeFailure | Alert::InsufficientSecurity,
        ) => {
            "the server has no version or cipher of TLS in common with this client: have it offer TLS 1.2 or 1.3"
        }
        rustls::Error::AlertReceived(Alert::CertificateRequired | Alert::NoCertificate) => {
            "the server asks for a client's certificate: give one, with its key"
        }
        rustls::Error::AlertReceived(
            Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied
            | Alert::DecryptError,
        ) => {
            "the server refuses this client's certificate: give one that is valid now, and signed by an authority that \
             the server trusts for clients"
        }
        _ => return None,
    };
    Some(said.to_owned())
}

/// The fault of a server's certificate, and the remedy.
fn about(error: &CertificateError) -> (String, &'static str) {
    use CertificateError as Error;

    let (wrong, remedy) = match error {
        Error::NotValidForName | Error::NotValidForNameContext { .. } => {
            let remedy = "connect by a name that it has (in subjectAltName: a CN does not count), have it issued for this \
                 one too, or set the server's name that is expected (TlsConfig::server_name)";
            return (format!("is for another name ({error})"), remedy);
        }
        Error::UnknownIssuer => (
            "is of no authority that this client trusts",
            "give this client the certificate of that authority as the one to trust, and have the server send those in \
             between",
        ),
        Error::NotValidYet | Error::NotValidYetContext { .. } => {
            ("is not valid yet by this machine's clock", "set this clock if it is wrong, or wait")
        }
        Error::BadEncoding => ("can't be read", "have it issued anew"),
        Error::BadSignature => (
            "is not signed by the authority of that name which this client trusts",
            "give this client the authority's present certificate",
        ),
        Error::UnhandledCriticalExtension => {
            ("has a critical extension that is not known", "have it issued without")
        }
        Error::UnsupportedSignatureAlgorithmContext { .. }
        | Error::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => (
            "is signed in a way that is not accepted, as with SHA-1 or a short key",
            "have it signed with SHA-256, by a key of RSA with 2048 bits or more or of ECDSA",
        ),
        Error::InvalidPurpose | Error::InvalidPurposeContext { .. } => (
            "is not for servers",
            "have it issued with serverAuth in extendedKeyUsage, or without that",
        ),
        Error::Other(why) => match &*why.to_string() {
            "CaUsedAsEndEntity" => (
                "is that of an authority (CA:TRUE), as `openssl req -x509` makes it",
                "have that authority sign another one for the server, or add -addext basicConstraints=critical,CA:FALSE \
                 -addext subjectAltName=DNS:HOST to that command",
            ),
            "UnsupportedCertVersion" => (
                "is of X.509 version 1, as `openssl x509 -req` makes it by default",
                "have it issued in version 3: add -extfile with a file of the line subjectAltName=DNS:HOST to that command",
            ),
            "EndEntityUsedAsCa" => (
                "is signed by one that is of no authority",
                "have that one issued with basicConstraints=critical,CA:TRUE, or sign by one that has it",
            ),
            "NameConstraintViolation" | "PathLenConstraintViolated" => (
                "is one that its authority may not issue",
                "have it issued by an authority without those constraints",
            ),
            _ => ("breaks the rules of X.509", "have it issued anew, by a tool of today"),
        },
        _ => ("is refused", "have it issued anew"),
    };
    (format!("{wrong} ({error})"), remedy)
}

impl StoreError {
    /// The error of a connection that could not be encrypted; `None` if TLS is not the cause.
    pub(super) fn about_tls(error: &(dyn Error + 'static)) -> Option<Self> {
        if let Some(error) = cause::<tls::Problem>(error) {
            return Some(Self::showing(StoreErrorKind::Tls, error));
        }
        let error = cause::<rustls::Error>(error)?;
        if let Some(expired) = CertificateExpired::of(error) {
            return Some(Self::showing(StoreErrorKind::Tls, expired).with_source(expired));
        }
        let shown = explained(error).unwrap_or_else(|| error.to_string());
        Some(Self::showing(StoreErrorKind::Tls, shown).with_source(error.clone()))
    }

    /// The error of a handshake that has failed.
    #[cfg(any(feature = "postgres", feature = "redis-without-tls"))]
    pub(super) fn of_handshake(error: io::Error) -> Self {
        Self::about_tls(&error)
            .unwrap_or_else(|| Self::showing(StoreErrorKind::Tls, &error).with_source(error))
    }
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::UnixTime;

    use super::*;

    fn refused(why: CertificateError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, rustls::Error::InvalidCertificate(why))
    }

    fn found(error: &io::Error) -> Option<CertificateExpired> {
        cause(error).and_then(CertificateExpired::of)
    }

    #[test]
    fn expired_certificates_are_told_from_others() {
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let (time, not_after) = (at(100), at(40));
        let expired = found(&refused(CertificateError::ExpiredContext { time, not_after }));
        assert_eq!(expired, Some(CertificateExpired { since: Some(Duration::from_secs(60)) }));
        let wrapped = io::Error::other(refused(CertificateError::Expired));
        assert_eq!(found(&wrapped), Some(CertificateExpired { since: None }));
        assert_eq!(found(&refused(CertificateError::UnknownIssuer)), None);
        assert_eq!(found(&io::Error::other("certificate expired")), None);
    }

    /// By the names that the library has for what it does not sort.
    #[test]
    fn each_refused_certificate_has_a_remedy() {
        let other = |name: &'static str| {
            CertificateError::Other(rustls::OtherError(Arc::new(io::Error::other(name))))
        };
        for (why, remedy) in [
            (other("CaUsedAsEndEntity"), "basicConstraints=critical,CA:FALSE"),
            (other("UnsupportedCertVersion"), "in version 3: add -extfile"),
            (other("EndEntityUsedAsCa"), "CA:TRUE, or sign by one that has it"),
            (other("InvalidSerialNumber"), "have it issued anew, by a tool of today"),
            (CertificateError::UnknownIssuer, "the certificate of that authority as the one"),
            (CertificateError::NotValidYet, "set this clock if it is wrong"),
            (CertificateError::NotValidForName, "a CN does not count"),
            (CertificateError::InvalidPurpose, "serverAuth in extendedKeyUsage"),
        ] {
            let error = StoreError::about_tls(&refused(why)).unwrap();
            assert_eq!(error.kind(), StoreErrorKind::Tls);
            assert!(error.to_string().contains(remedy), "{error}");
        }
    }

    #[test]
    fn the_text_says_what_to_do() {
        let since = Some(Duration::from_secs(60));
        assert_eq!(
            CertificateExpired { since }.to_string(),
            "the server's certificate has expired 60 s ago by this machine's clock; renew it and have the server \
             load it, or set this clock if it is wrong"
        );
    }
}
