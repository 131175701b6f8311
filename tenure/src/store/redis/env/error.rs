//! Why variables are refused.

use crate::store::redis::error::RedisConfigError;
use crate::tls::TlsError;

/// Why environment variables make no configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedisEnvError {
    /// A value can't be read.
    #[error("{variable} is {value:?}; it must be {must}")]
    Value {
        /// The variable.
        variable: String,
        /// What it says, cut after 100 bytes; nothing if it looks like a URL.
        value: String,
        /// What it may say.
        must: &'static str,
    },
    /// A value is not text.
    #[error("{variable} is not UTF-8")]
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
    /// Nothing says where to connect to.
    #[error("no server is named: set {variables}")]
    NoHost {
        /// What could say it.
        variables: String,
    },
    /// A variable that another one needs.
    #[error("{needed_by} is set, and {variables} is not")]
    Incomplete {
        /// What is not set.
        variables: String,
        /// What is.
        needed_by: String,
    },
    /// Two variables that say different things.
    #[error("{one} and {other} are both set: elections are kept at one of them")]
    Contradiction {
        /// One of them.
        one: String,
        /// The other.
        other: String,
    },
    /// TLS can't be set up.
    #[error("{variable} is on, but TLS can't be set up")]
    Tls {
        /// The variable.
        variable: String,
        /// Why.
        #[source]
        source: TlsError,
    },
}
