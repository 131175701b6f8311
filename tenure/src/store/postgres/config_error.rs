//! Why a configuration is refused.

use crate::store::TextError;
use crate::tls::TlsError;

/// The form of a URL.
const FORM: &str = "postgres://user:password@host:5432/database";

/// Why a PostgreSQL URL or a part of a configuration was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresConfigError {
    /// A part of the URL surely is a mistake.
    #[error("{what} can't be used: {why}")]
    Text {
        /// The part.
        what: &'static str,
        /// What in it.
        #[source]
        why: TextError,
    },
    /// Not a URL.
    #[error("the PostgreSQL URL can't be read; it must be {}", FORM)]
    Syntax(#[source] url::ParseError),
    /// Another scheme.
    #[error("the PostgreSQL URL's scheme must be \"postgres\" or \"postgresql\", as in {}", FORM)]
    Scheme,
    /// No host.
    #[error("the PostgreSQL URL names no host; it must be {}", FORM)]
    NoHost,
    /// A host is no host.
    #[error(
        "the PostgreSQL URL has a host that is neither a name nor an address; it is such as db-1, 10.0.0.7 or [::1], as \
         in {}",
        FORM
    )]
    Host,
    /// There is a fragment, which has no meaning here.
    #[error(
        "the PostgreSQL URL has a #, which in a name or a password is written %23; it must be {}",
        FORM
    )]
    Fragment,
    /// No user.
    #[error("the PostgreSQL URL names no user; it must be {}", FORM)]
    NoUser,
    /// A password, most likely, in which a character is not escaped.
    #[error(
        "the PostgreSQL URL has an \"@\" after its \"?\"; write these as %40 and %3F in a user's name, a \
         password or a value"
    )]
    At,
    /// A feature of other programs that this store does not support.
    #[error("the PostgreSQL URL has {what}, which is not supported; {instead}")]
    Unsupported {
        /// The part.
        what: &'static str,
        /// What to do.
        instead: &'static str,
    },
    /// An unknown parameter.
    #[error(
        "the PostgreSQL URL has an unknown parameter; known are \"schema\", \"table\", \"sslmode\", \
         \"sslrootcert\", \"sslcert\", \"sslkey\", \"password_file\" and \"application_name\": leave any other out"
    )]
    Parameter,
    /// The same parameter more than once.
    #[error("the PostgreSQL URL has the parameter {name:?} twice; leave one of them")]
    Twice {
        /// Its name.
        name: &'static str,
    },
    /// A mode that protects against no attacker, or an unknown word.
    #[error(
        "the PostgreSQL URL's sslmode must be \"disable\", \"require\" or \"verify-full\", such as sslmode=verify-full"
    )]
    SslMode,
    /// Certificates, and no encryption.
    #[error(
        "the PostgreSQL URL has sslmode=disable and a {name:?}, which contradict each other: write sslmode=verify-full to \
         encrypt, or leave {name:?} out"
    )]
    Contradiction {
        /// The parameter that names a certificate.
        name: &'static str,
    },
    /// A parameter that another one needs.
    #[error(
        "the PostgreSQL URL has no parameter {missing:?}, which {needed_by:?} needs: add it, or leave {needed_by:?} out"
    )]
    Missing {
        /// The missing parameter.
        missing: &'static str,
        /// The parameter that needs it.
        needed_by: &'static str,
    },
    /// A password, and a file with one.
    #[error(
        "the PostgreSQL URL has a password, and the parameter \"password_file\" too: leave one of them"
    )]
    TwoPasswords,
    /// The file of a password has something else in it. The path is not shown: it may be a part of a broken URL.
    #[error(
        "the file that the PostgreSQL URL's \"password_file\" names must have a password and nothing else, but one line \
         break at its end: name one, such as password_file=/run/secrets/postgres"
    )]
    PasswordFile,
    /// A name that can't be used.
    #[error(
        "the {what} has {bytes} bytes; it must have 1 to {most}, and none of them may be ' \\ $ or zero: \
         leave it out for the default, or write letters and _, such as app_leases"
    )]
    Name {
        /// Which name.
        what: &'static str,
        /// How many bytes it has. The name itself is not shown: it may be a part of a broken URL.
        bytes: usize,
        /// The most bytes.
        most: usize,
    },
    /// TLS can't be set up.
    #[error("TLS can't be set up for the PostgreSQL URL: {0}")]
    Tls(#[from] TlsError),
    /// A file can't be read. The path is not shown: it may be a part of a broken URL.
    #[error(
        "the file that {name:?} names in the PostgreSQL URL can't be read: {source}; name one that this process may read, \
         such as {name}=/etc/ssl/{name}"
    )]
    File {
        /// The parameter that names it.
        name: &'static str,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}
