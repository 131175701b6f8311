//! The way to a server, and the place of its elections.

use std::net::IpAddr;
use std::time::Duration;

use super::sql::MysqlTables;
use crate::logging;
use crate::store::CredentialsProvider;
use crate::store::credentials::Login;
use crate::store::slot::CONNECT_TIMEOUT;
use crate::tls::TlsConfig;

/// A MariaDB or MySQL server, and how to use it.
#[derive(Clone, Debug)]
#[must_use]
pub struct MysqlConfig {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) login: Login,
    pub(super) database: String,
    pub(super) tables: MysqlTables,
    pub(super) create_tables: bool,
    pub(super) tls: Option<TlsConfig>,
    pub(super) connect_timeout: Duration,
    pub(super) trust_empty_store: bool,
}

impl MysqlConfig {
    /// A server, a user without a password, and a database; unencrypted.
    pub fn new(
        host: impl Into<String>,
        port: u16,
        user: impl Into<String>,
        database: impl Into<String>,
    ) -> Self {
        Self {
            host: host.into(),
            port,
            user: user.into(),
            login: Login::default(),
            database: database.into(),
            tables: MysqlTables::default(),
            create_tables: true,
            tls: None,
            connect_timeout: CONNECT_TIMEOUT,
            trust_empty_store: false,
        }
    }

    /// Warns that a password is sent where others may read it.
    pub(super) fn warns(&self) {
        if self.is_exposed() {
            logging::warn!(
                host = ?self.host,
                "the connection to MariaDB or MySQL is not encrypted, and its password can be misused on the way: \
                 ssl-mode=verify_identity encrypts it"
            );
        }
    }

    /// True if a password goes unencrypted to another machine.
    pub(super) fn is_exposed(&self) -> bool {
        let address = self.host.parse::<IpAddr>();
        let is_here = self.host == "localhost" || address.is_ok_and(|it| it.is_loopback());
        self.login.has_password() && self.tls.is_none() && !is_here
    }

    /// Sets the password of each connection, and the user if the credentials name one.
    pub fn credentials(mut self, provider: impl CredentialsProvider) -> Self {
        self.login = Login::new(provider);
        self
    }

    /// Sets the tables. Elections of the same tables share a past.
    pub fn tables(mut self, tables: MysqlTables) -> Self {
        self.tables = tables;
        self
    }

    /// Sets whether to create the tables if they do not exist. Default: yes. Otherwise create them
    /// by [`MysqlTables::schema_sql`]; the user then needs the rights to read, insert and update
    /// rows of the tables, and no others.
    pub fn create_tables(mut self, create: bool) -> Self {
        self.create_tables = create;
        self
    }

    /// Encrypts the connection, and refuses a server that can't. If the process has no default
    /// cryptography of rustls by then, ring becomes it, since the client takes the default.
    pub fn tls(mut self, tls: TlsConfig) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets how long opening a connection may take. Default: 5 s, for up to ten round trips. The
    /// candidates' request timeout may be shorter: connecting continues when a request gives up.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Treats tables without any history as ones that have lost nothing, so that the very first
    /// leader does not wait out the quarantine. For tests and throw-away servers: with it, a server
    /// that lost all of its data can lead to two leaders.
    pub fn trust_empty_store(mut self, trust: bool) -> Self {
        self.trust_empty_store = trust;
        self
    }
}
