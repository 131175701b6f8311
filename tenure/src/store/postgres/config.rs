//! The way to a PostgreSQL server, and the place of its elections.

use std::net::IpAddr;
use std::time::Duration;

use super::table::LeaseTable;
use crate::logging;
use crate::store::CredentialsProvider;
use crate::store::credentials::Login;
use crate::store::slot::CONNECT_TIMEOUT;
use crate::tls::TlsConfig;

/// A PostgreSQL server, and how to use it.
#[derive(Clone, Debug)]
#[must_use]
pub struct PostgresConfig {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) login: Login,
    pub(super) database: String,
    pub(super) table: LeaseTable,
    pub(super) create_table: bool,
    pub(super) tls: Option<TlsConfig>,
    pub(super) connect_timeout: Duration,
    pub(super) lock_timeout: Duration,
    pub(super) application_name: String,
    pub(super) trust_empty_store: bool,
    pub(super) accepts_fsync_off: bool,
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
            login: Login::default(),
            table: LeaseTable::default(),
            create_table: true,
            tls: None,
            connect_timeout: CONNECT_TIMEOUT,
            lock_timeout: Duration::from_millis(50),
            application_name: "tenure".into(),
            trust_empty_store: false,
            accepts_fsync_off: false,
        }
    }

    /// Warns that a password is sent where others may read it.
    pub(super) fn warns(&self) {
        if self.is_exposed() {
            logging::warn!(
                host = ?self.host,
                "the connection to PostgreSQL is not encrypted, and its password can be read or misused \
                 on the way: sslmode=verify-full encrypts it"
            );
        }
    }

    /// True if a password goes unencrypted to another machine.
    pub(super) fn is_exposed(&self) -> bool {
        let address = self.host.parse::<IpAddr>();
        let is_here = self.host == "localhost" || address.is_ok_and(|it| it.is_loopback());
        self.login.has_password() && self.tls.is_none() && !is_here
    }

    /// Sets the password of each connection, and the user if the credentials name one. The requests
    /// and the wake-ups have a connection each.
    pub fn credentials(mut self, provider: impl CredentialsProvider) -> Self {
        self.login = Login::new(provider);
        self
    }

    /// Sets the database. Default: the one with the user's name.
    pub fn database(mut self, database: impl Into<String>) -> Self {
        self.database = database.into();
        self
    }

    /// Sets the table. Elections of one table share a past.
    pub fn table(mut self, table: LeaseTable) -> Self {
        self.table = table;
        self
    }

    /// Sets whether to create the table and its functions if they do not exist. Default: yes.
    /// Otherwise create them by [`LeaseTable::schema_sql`]; the user then needs no right to create
    /// anything.
    pub fn create_table(mut self, create: bool) -> Self {
        self.create_table = create;
        self
    }

    /// Encrypts the connections, and refuses a server that can't.
    pub fn tls(mut self, tls: TlsConfig) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets how long opening a connection may take. Default: 5 s, for up to eight round trips with
    /// TLS and a password. The candidates' request timeout may be shorter: connecting continues
    /// when a request gives up. After an outage of the network or the server, this bound can pass
    /// once more before the next attempt begins.
    ///
    /// After an attempt that failed comes a pause of random length before the next one: at most 100
    /// ms at first, twice as much with each failure, at most half of this bound and at most 5 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long a request may wait for a lock that others hold on the election's row, or on
    /// the table. Default: 50 ms. Requests for all elections of a store are carried out one after
    /// the other, so a locked row delays the others by that long at each attempt of its election.
    /// Waits that reach the bound fail as [`Locked`](crate::store::StoreErrorKind::Locked), and
    /// candidates retry.
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// Sets the name of the sessions, as `pg_stat_activity` shows it. Default: `tenure`.
    pub fn application_name(mut self, name: impl Into<String>) -> Self {
        self.application_name = name.into();
        self
    }

    /// Treats a table without any history as one that has lost nothing, so that the very first
    /// leader does not wait out the quarantine; and accepts a server with `fsync = off`. For tests
    /// and throw-away servers: with it, a server that lost all of its data can lead to two leaders.
    pub fn trust_empty_store(mut self, trust: bool) -> Self {
        self.trust_empty_store = trust;
        self
    }

    /// Grants leases at a server that reports `fsync = off`, and keeps the quarantine. Default:
    /// refused as [`NotDurable`](crate::store::StoreErrorKind::NotDurable). For hosters whose
    /// storage keeps by other means what was acknowledged, and whose servers therefore report that
    /// setting. At any other server with `fsync = off`, a crash may lose a grant without a trace,
    /// and two may lead.
    ///
    /// A table that an earlier version has made needs the statements of [`LeaseTable::schema_sql`]
    /// again.
    pub fn accept_fsync_off(mut self, accept: bool) -> Self {
        self.accepts_fsync_off = accept;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unencrypted_passwords_to_other_machines_are_detected() {
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
