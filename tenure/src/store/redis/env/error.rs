//! Why variables are refused.

use crate::store::redis::error::RedisConfigError;
use crate::store::{CredentialsError, TextError};
use crate::tls::TlsError;

/// Why environment variables were refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedisEnvError {
    /// A value can't be read.
    #[error("{variable} is {value:?}; it must be {must}")]
    Value {
        /// The variable.
        variable: String,
        /// Its value, cut after 100 bytes; hidden if it looks like a URL.
        value: String,
        /// The values that it may have.
        must: &'static str,
    },
    /// A value surely is a mistake.
    #[error("{variable} is {value:?}: {why}")]
    Text {
        /// The variable.
        variable: String,
        /// Its value, cut after 100 bytes; hidden if it is a password or looks like a URL.
        value: String,
        /// What in it.
        #[source]
        why: TextError,
    },
    /// A value is not text.
    #[error("{variable} is not UTF-8; it must be text: unset it, or set it to text")]
    NotUnicode {
        /// The variable.
        variable: String,
    },
    /// A value can't be used.
    #[error("{variable} can't be used: {source}")]
    Refused {
        /// The variable.
        variable: String,
        /// Why.
        source: RedisConfigError,
    },
    /// No server is named.
    #[error("no server is named: set {variables}, to 127.0.0.1, for example")]
    NoHost {
        /// The variables that could name it.
        variables: String,
    },
    /// A variable that another one needs.
    #[error("{needed_by} is set, and {variables} is not: set both, or neither")]
    Incomplete {
        /// The variables that are not set.
        variables: String,
        /// The variable that needs one of them.
        needed_by: String,
    },
    /// A password and a file with one.
    #[error("{one} and {other} are both set: unset one of them")]
    TwoPasswords {
        /// The variable of the password.
        one: String,
        /// The variable of the file.
        other: String,
    },
    /// The file of a password can't be used.
    #[error("{variable} can't be used: {source}")]
    PasswordFile {
        /// The variable.
        variable: String,
        /// Why.
        source: CredentialsError,
    },
    /// Two variables that contradict each other.
    #[error(
        "{one} and {other} are both set, and elections are kept at one of them: unset the other"
    )]
    Contradiction {
        /// One of them.
        one: String,
        /// The other.
        other: String,
    },
    /// TLS can't be set up.
    #[error(
        "{variable} is on, but TLS can't be set up: {source}; set {variable} to off, or SSL_CERT_FILE to a file with \
         certificate authorities, such as /etc/ssl/certs/ca-certificates.crt"
    )]
    Tls {
        /// The variable.
        variable: String,
        /// Why.
        #[source]
        source: TlsError,
    },
}
