//! Certificates that clients refuse.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use tokio_rustls::rustls::{self, CertificateError};

use super::{StoreError, StoreErrorKind};
#[cfg(any(feature = "etcd", feature = "kubernetes"))]
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
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

impl StoreError {
    /// The error of a connection that could not be encrypted; `None` if TLS is not the cause.
    #[cfg(any(feature = "etcd", feature = "kubernetes"))]
    pub(super) fn about_tls(error: &(dyn Error + 'static)) -> Option<Self> {
        if let Some(error) = cause::<tls::Problem>(error) {
            return Some(Self::showing(StoreErrorKind::Tls, error));
        }
        let error = cause::<rustls::Error>(error)?;
        Some(match CertificateExpired::of(error) {
            Some(expired) => Self::expired(expired),
            None => Self::showing(StoreErrorKind::Tls, error).with_source(error.clone()),
        })
    }

    /// The error of a handshake that has failed.
    #[cfg(any(feature = "postgres", feature = "redis-without-tls"))]
    pub(super) fn of_handshake(error: io::Error) -> Self {
        match cause(&error).and_then(CertificateExpired::of) {
            Some(expired) => Self::expired(expired),
            None => Self::showing(StoreErrorKind::Tls, &error).with_source(error),
        }
    }

    fn expired(expired: CertificateExpired) -> Self {
        Self::showing(StoreErrorKind::Tls, expired).with_source(expired)
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
