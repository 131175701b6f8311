//! How to reach a PostgreSQL server, and where in it elections are kept.

use std::time::Duration;

use url::Url;

use super::LeaseTable;
use crate::store::Secret;
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
            connect_timeout: Duration::from_secs(1),
            trust_empty_store: false,
        }
    }

    /// Reads `postgres://user[:password]@host[:port][/database][?parameters]`, where parameters are
    ///
    /// - `schema` and `table`, see [`LeaseTable`];
    /// - `sslmode`: `disable` (the default), `require` or `verify-full`, which both verify the server's
    ///   certificate and its name;
    /// - `sslrootcert`: a file with the certificate authorities to believe, instead of the system's.
    ///
    /// # Errors
    /// If the text is anything else, or the file can't be read. The error names the part at fault and never
    /// shows the text, which may hold a password.
    pub fn from_url(url: &str) -> Result<Self, PostgresConfigError> {
        let url = Url::parse(url).map_err(PostgresConfigError::Syntax)?;
        match url.scheme() {
            "postgres" | "postgresql" => {}
            scheme => return Err(PostgresConfigError::Scheme { scheme: scheme.to_owned() }),
        }
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = decoded(host.ok_or(PostgresConfigError::NoHost)?);
        let user = decoded(url.username());
        if user.is_empty() {
            return Err(PostgresConfigError::NoUser);
        }
        let mut config = Self::new(host.trim_matches(['[', ']']), url.port().unwrap_or(5432), user);
        config.password = url.password().map(|password| Secret::new(decoded(password)));
        let database = url.path().trim_start_matches('/');
        if !database.is_empty() {
            config.database = decoded(database);
        }
        let (mut schema, mut table) = (None, None);
        let (mut encrypted, mut ca) = (false, None);
        for (name, value) in url.query_pairs() {
            match (&*name, &*value) {
                ("schema", _) => schema = Some(value.into_owned()),
                ("table", _) => table = Some(value.into_owned()),
                ("sslmode", "disable") => encrypted = false,
                ("sslmode", "require" | "verify-full") => encrypted = true,
                ("sslmode", _) => {
                    return Err(PostgresConfigError::SslMode { mode: value.into_owned() });
                }
                ("sslrootcert", _) => ca = Some(value.into_owned()),
                _ => return Err(PostgresConfigError::Parameter { name: name.into_owned() }),
            }
        }
        config.table = config.table.with(schema, table)?;
        config.tls = match ca {
            _ if !encrypted => None,
            Some(path) => Some(TlsConfig::with_ca_file(path)?),
            None => Some(TlsConfig::system()?),
        };
        Ok(config)
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

    /// Sets how long opening a connection may take. Default: 1 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
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

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Why a PostgreSQL URL or a part of a configuration was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresConfigError {
    /// Not a URL.
    #[error("the PostgreSQL URL can't be read")]
    Syntax(#[source] url::ParseError),
    /// Another scheme.
    #[error("the PostgreSQL URL's scheme is {scheme:?}; it must be \"postgres\" or \"postgresql\"")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// No host.
    #[error("the PostgreSQL URL names no host")]
    NoHost,
    /// No user.
    #[error("the PostgreSQL URL names no user")]
    NoUser,
    /// An unknown parameter.
    #[error(
        "the PostgreSQL URL has a parameter {name:?}; known are \"schema\", \"table\", \"sslmode\" and \
         \"sslrootcert\""
    )]
    Parameter {
        /// Its name.
        name: String,
    },
    /// Encryption that protects from nobody, or an unknown word.
    #[error("the sslmode is {mode:?}; it must be \"disable\", \"require\" or \"verify-full\"")]
    SslMode {
        /// What was given.
        mode: String,
    },
    /// A name that can't be used.
    #[error("the {what} is {name:?}; it must have 1 to {most} bytes, and none of ' \\ $ and zero")]
    Name {
        /// Which name.
        what: &'static str,
        /// What was given.
        name: String,
        /// The most bytes.
        most: usize,
    },
    /// TLS can't be set up.
    #[error("TLS can't be set up for the PostgreSQL URL")]
    Tls(#[from] TlsError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_part_of_a_url() {
        let url = "postgres://me:p%40ss@example.org:7000/my%20db?schema=ops&table=leads";
        let config = PostgresConfig::from_url(url).unwrap();
        assert_eq!((&*config.host, config.port), ("example.org", 7000));
        assert_eq!((&*config.user, &*config.database), ("me", "my db"));
        assert_eq!(config.password.as_ref().map(Secret::reveal), Some("p@ss"));
        assert_eq!(config.table, LeaseTable::new("ops", "leads").unwrap());
        assert!(!format!("{config:?}").contains("p@ss"));
        let config = PostgresConfig::from_url("postgresql://app@[::1]").unwrap();
        assert_eq!((&*config.host, config.port, &*config.database), ("::1", 5432, "app"));
        assert!(config.tls.is_none() && config.create_table);
    }

    #[test]
    fn errors_name_the_part_and_hide_the_rest() {
        for (url, expected) in [
            ("postgres//x", "the PostgreSQL URL can't be read"),
            (
                "mysql://u:hush@h",
                "the PostgreSQL URL's scheme is \"mysql\"; it must be \"postgres\" or \"postgresql\"",
            ),
            ("postgres://", "the PostgreSQL URL names no host"),
            ("postgres://h/db", "the PostgreSQL URL names no user"),
            (
                "postgres://u:hush@h?table=it's",
                "the table is \"it's\"; it must have 1 to 48 bytes, and none of ' \\ $ and zero",
            ),
            (
                "postgres://u:hush@h?sslmode=prefer",
                "the sslmode is \"prefer\"; it must be \"disable\", \"require\" or \"verify-full\"",
            ),
            (
                "postgres://u:hush@h?sslmode=require&sslrootcert=/no/such",
                "TLS can't be set up for the PostgreSQL URL",
            ),
        ] {
            let error = PostgresConfig::from_url(url).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert!(!format!("{error:?}").contains("hush"));
        }
        let error = PostgresConfig::from_url("postgres://u:hush@h?timeout=3").unwrap_err();
        assert!(error.to_string().contains("\"timeout\"; known are"), "{error}");
    }
}
