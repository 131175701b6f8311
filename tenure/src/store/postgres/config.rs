//! How to reach a PostgreSQL server, and where in it elections are kept.

use std::net::IpAddr;
use std::time::Duration;

use super::LeaseTable;
use crate::store::Secret;
use crate::store::slot::CONNECT_TIMEOUT;
use crate::tls::{TlsConfig, TlsError};

/// Where a PostgreSQL server is, and how to use it.
#[derive(Clone, Debug)]
#[must_use]
pub struct PostgresConfig {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) password: Option<Secret>,
    pub(super) database: String,
    pub(super) table: LeaseTable,
    pub(super) create_table: bool,
    pub(super) tls: Option<TlsConfig>,
    pub(super) connect_timeout: Duration,
    pub(super) lock_timeout: Duration,
    pub(super) application_name: String,
    pub(super) trust_empty_store: bool,
}

impl PostgresConfig {
    /// A server, a user without a password, and the database of the same name; unencrypted.
    pub fn new(host: impl Into<String>, port: u16, user: impl Into<String>) -> Self {
        let user = user.into();
        Self {
            host: host.into(),
            port,
            database: user.clone(),
            user,
            password: None,
            table: LeaseTable::default(),
            create_table: true,
            tls: None,
            connect_timeout: CONNECT_TIMEOUT,
            lock_timeout: Duration::from_millis(50),
            application_name: "tenure".into(),
            trust_empty_store: false,
        }
    }

    /// Reads `postgres://user[:password]@host[:port][/database][?parameters]`, where parameters are
    ///
    /// - `schema` and `table`, see [`LeaseTable`];
    /// - `sslmode`: `disable`, `require` or `verify-full`, of which the latter two verify the server's
    ///   certificate and its name. Default: `verify-full` with `sslrootcert`, else `disable`;
    /// - `sslrootcert`: a file with the certificate authorities to believe, instead of the system's;
    /// - `application_name`: what the server shows of the sessions, instead of `tenure`.
    ///
    /// # Errors
    /// If the text is anything else, gives a parameter twice, or the file can't be read. The error names the
    /// part at fault and never shows the text, which may hold a password.
    pub fn from_url(url: &str) -> Result<Self, PostgresConfigError> {
        super::url::parse(url)
    }

    /// Says once that a password goes where others may listen.
    pub(super) fn warns(&self) {
        if self.is_exposed() {
            tracing::warn!(
                host = ?self.host,
                "the connection to PostgreSQL is not encrypted, and its password can be read or misused \
                 on the way: sslmode=verify-full encrypts it"
            );
        }
    }

    /// Whether a password goes unencrypted to another machine.
    fn is_exposed(&self) -> bool {
        let address = self.host.parse::<IpAddr>();
        let is_here = self.host == "localhost" || address.is_ok_and(|it| it.is_loopback());
        self.password.is_some() && self.tls.is_none() && !is_here
    }

    /// Sets the user's password.
    pub fn password(mut self, password: Secret) -> Self {
        self.password = Some(password);
        self
    }

    /// Sets the database. Default: the one that is called as the user is.
    pub fn database(mut self, database: impl Into<String>) -> Self {
        self.database = database.into();
        self
    }

    /// Sets the table. Elections of one table share a history.
    pub fn table(mut self, table: LeaseTable) -> Self {
        self.table = table;
        self
    }

    /// Whether to make the table and its functions where there are none. Default: yes. Otherwise that is
    /// up to [`LeaseTable::schema_sql`], and the user needs no right to create anything.
    pub fn create_table(mut self, create: bool) -> Self {
        self.create_table = create;
        self
    }

    /// Encrypts the connections, and refuses a server that can't.
    pub fn tls(mut self, tls: TlsConfig) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets how long opening a connection may take. Default: 5 s, for up to eight round trips with TLS and a
    /// password. The candidates' request timeout may be shorter: connecting goes on when a request gives up.
    /// After a network or a server was away, this bound can pass once more before the next attempt begins.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long a request may wait for a lock that others hold on the election's row, or on the table.
    /// Default: 50 ms. Requests for all elections of a store come one after the other, so that a row which
    /// somebody keeps locked delays the others by that long, as often as its election tries. Waits that end
    /// with it fail as [`Locked`](crate::store::StoreErrorKind::Locked), and candidates try again.
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// Sets what the server shows of the sessions, in `pg_stat_activity` for one. Default: `tenure`.
    pub fn application_name(mut self, name: impl Into<String>) -> Self {
        self.application_name = name.into();
        self
    }

    /// Takes a table without any history for one that has lost nothing, so that the very first leader does
    /// not wait out the quarantine; and a server with `fsync = off` for good enough. For tests and
    /// throw-away servers: with it, a server that lost all of its data can lead to two leaders.
    pub fn trust_empty_store(mut self, trust: bool) -> Self {
        self.trust_empty_store = trust;
        self
    }
}

/// Why a PostgreSQL URL or a part of a configuration was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresConfigError {
    /// Not a URL.
    #[error("the PostgreSQL URL can't be read; it must be {}", FORM)]
    Syntax(#[source] url::ParseError),
    /// Another scheme.
    #[error("the PostgreSQL URL's scheme must be \"postgres\" or \"postgresql\", as in {}", FORM)]
    Scheme,
    /// No host.
    #[error("the PostgreSQL URL names no host; it must be {}", FORM)]
    NoHost,
    /// No user.
    #[error("the PostgreSQL URL names no user; it must be {}", FORM)]
    NoUser,
    /// A password, most likely, in which a character is not escaped.
    #[error(
        "the PostgreSQL URL has an \"@\" after its \"?\"; write these as %40 and %3F in a user's name, a \
         password or a value"
    )]
    At,
    /// Something that other programs know, and this store has not.
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
         \"sslrootcert\" and \"application_name\""
    )]
    Parameter,
    /// The same parameter more than once.
    #[error(
        "the PostgreSQL URL has the parameter {name:?} twice; which of them counts is not for us to say"
    )]
    Twice {
        /// Its name.
        name: &'static str,
    },
    /// Encryption that protects from nobody, or an unknown word.
    #[error("the sslmode must be \"disable\", \"require\" or \"verify-full\"")]
    SslMode,
    /// Authorities to believe, and no encryption.
    #[error(
        "the PostgreSQL URL has sslmode=disable and a \"sslrootcert\", which contradict each other; \
         sslmode=verify-full encrypts"
    )]
    Contradiction,
    /// A name that can't be used.
    #[error(
        "the {what} has {bytes} bytes; it must have 1 to {most}, and none of them may be ' \\ $ or zero"
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
    #[error("TLS can't be set up for the PostgreSQL URL")]
    Tls(#[from] TlsError),
    /// The authorities to believe can't be read. The path is not shown: it may be a part of a broken URL.
    #[error(
        "the file that \"sslrootcert\" names in the PostgreSQL URL can't be read: TLS can't be set up"
    )]
    Authorities(#[source] std::io::Error),
}

/// What a URL looks like.
const FORM: &str = "postgres://user:password@host:5432/database";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_the_clear_to_other_machines_are_seen() {
        for (url, is_exposed) in [
            ("postgres://u:p@db.example.org", true),
            ("postgres://u:p@10.0.0.7", true),
            ("postgres://u@db.example.org", false),
            ("postgres://u:p@127.0.0.2", false),
            ("postgres://u:p@[::1]", false),
            ("postgres://u:p@localhost", false),
            ("postgres://u:p@db.example.org?sslmode=verify-full", false),
        ] {
            assert_eq!(PostgresConfig::from_url(url).unwrap().is_exposed(), is_exposed, "{url}");
        }
    }
}
