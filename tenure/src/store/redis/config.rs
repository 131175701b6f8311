//! The way to Redis servers, and the place of their elections.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use crate::SettingError;
use crate::settings::values::{hosts, parsed};
use crate::settings::{Fault, Row, Setting};
use crate::store::common::name_without;
use crate::store::credentials::Login;
use crate::store::slot::CONNECT_TIMEOUT;
use crate::store::{CredentialsProvider, Key};
use crate::tls::TlsConfig;

pub(super) type Listed = Vec<(String, Option<u16>)>;

pub(super) const SENTINELS: Setting<Listed> = Setting::part("list of sentinels", hosts)
    .variable("SENTINEL_HOST")
    .must("hosts separated by commas, each with a port or none", "10.0.0.1,10.0.0.2:26379")
    .about("in place of a server: all sentinels of its primary");
pub(super) const PRIMARY: Setting<String> = Setting::part("primary", parsed)
    .variable("SENTINEL_NAME")
    .must("the name of the primary that the sentinels watch", "mymaster")
    .about("the primary's name at the sentinels");
pub(super) const NODES: Setting<Listed> = Setting::part("list of nodes", hosts)
    .must("hosts separated by commas, each with a port or none", "10.0.0.1,10.0.0.2:6379")
    .about("in place of a server: the nodes of a cluster, at least all primaries; their port is 6379 without one of their own");
pub(super) const DATABASE: Setting<u8> = Setting::part("database", parsed)
    .must("a number from 0 to 255", "0")
    .default("0")
    .about("the database; a cluster has no other than 0");
pub(super) const PREFIX: Setting<String> =
    Setting::parameter("prefix", |text| name_without::<128>(text, &['{', '}']))
        .variable("PREFIX")
        .must("1 to 128 bytes without braces", "tenure")
        .names_records()
        .default("`tenure`")
        .about("the beginning of the names of all keys");

/// Redis, and how to use it: one server, the primary that sentinels watch, or a cluster.
#[derive(Clone, Debug)]
#[must_use]
pub struct RedisConfig {
    pub(super) servers: Servers,
    pub(super) login: Login,
    pub(super) sentinel_login: Login,
    pub(super) tls: Option<TlsConfig>,
    pub(super) database: u8,
    pub(super) prefix: String,
    pub(super) replicas: Replicas,
    pub(super) connect_timeout: Duration,
    pub(super) trust_empty_store: bool,
}

/// The way to the server that keeps the elections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Servers {
    /// This server keeps them.
    One(Address),
    /// These sentinels know the primary of that name.
    Sentinels { listed: Vec<Address>, primary: String },
    /// These are nodes of the cluster.
    Cluster { listed: Vec<Address> },
}

impl Servers {
    /// The sentinels or nodes.
    #[cfg(feature = "redis-without-tls")]
    pub(super) fn listed(&self) -> &[Address] {
        match self {
            Self::One(_) => &[],
            Self::Sentinels { listed, .. } | Self::Cluster { listed } => listed,
        }
    }
}

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
}

/// The replicas that must have acknowledged a grant, and how long they are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Replicas {
    pub(super) least: u16,
    pub(super) within: Duration,
}

impl RedisConfig {
    /// One server without credentials, unencrypted, with the prefix `tenure`.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self::at(Servers::One(Address::new(host, port)))
    }

    /// The primary of that name that these sentinels watch, hosts and ports. A grant counts only if
    /// more than half of the sentinels still name its server, so that a primary that was replaced
    /// without knowing it causes no second leader. All candidates must list the same sentinels, and
    /// all of them. Only the store `redis` supports that.
    ///
    /// ```
    /// # use tenure::{SettingError, store::redis::RedisConfig};
    /// # fn main() -> Result<(), SettingError> {
    /// let sentinels = [("sentinel-1", 26379), ("sentinel-2", 26379), ("sentinel-3", 26379)];
    /// let config = RedisConfig::sentinel("main", sentinels)?;
    /// # drop(config);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the name is empty, or no sentinel is listed, or one of them twice.
    pub fn sentinel<H: Into<String>>(
        primary: impl Into<String>,
        sentinels: impl IntoIterator<Item = (H, u16)>,
    ) -> Result<Self, SettingError> {
        let primary = primary.into();
        if primary.is_empty() {
            return Err(PRIMARY.row.refuse("", Fault::Must));
        }
        let listed = addresses(&SENTINELS.row, sentinels)?;
        Ok(Self::at(Servers::Sentinels { listed, primary }))
    }

    /// A cluster with these nodes, hosts and ports. All elections of a prefix are kept in one slot,
    /// and so by one node. A grant counts only if more than half of the listed nodes still name
    /// that node, so all candidates must list the same nodes, and all that are primaries. Only the
    /// store `redis` supports that.
    ///
    /// # Errors
    /// If no node is listed, or one of them twice.
    pub fn cluster<H: Into<String>>(
        nodes: impl IntoIterator<Item = (H, u16)>,
    ) -> Result<Self, SettingError> {
        Ok(Self::at(Servers::Cluster { listed: addresses(&NODES.row, nodes)? }))
    }

    pub(super) fn at(servers: Servers) -> Self {
        Self {
            servers,
            login: Login::default(),
            sentinel_login: Login::default(),
            tls: None,
            database: 0,
            prefix: "tenure".into(),
            replicas: Replicas { least: 0, within: Duration::from_millis(100) },
            connect_timeout: CONNECT_TIMEOUT,
            trust_empty_store: false,
        }
    }

    /// Sets the credentials of each connection: those of an ACL user, or without a name the default
    /// user's password.
    pub fn credentials(mut self, provider: impl CredentialsProvider) -> Self {
        self.login = Login::new(provider);
        self
    }

    /// Sets the credentials at the sentinels, which have users of their own. Without them sentinels
    /// are asked without credentials; those of [`credentials`](Self::credentials) are not sent to
    /// sentinels.
    pub fn sentinel_credentials(mut self, provider: impl CredentialsProvider) -> Self {
        self.sentinel_login = Login::new(provider);
        self
    }

    /// Encrypts all connections, also those to sentinels.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: TlsConfig) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets the beginning of the names of all keys. Elections of one prefix share a past, and a
    /// slot in a cluster.
    ///
    /// # Errors
    /// If it is empty, longer than 128 bytes, or has a brace in it.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Result<Self, SettingError> {
        self.prefix = PREFIX.check(&prefix.into())?;
        Ok(self)
    }

    /// Sets the number of the database. Default: 0.
    ///
    /// # Errors
    /// If it is another one and this is a cluster, which has no others.
    pub fn database(mut self, database: u8) -> Result<Self, SettingError> {
        let chosen = self.choose_database(database);
        let refused = |why| DATABASE.row.refuse(&database.to_string(), Fault::because(why));
        chosen.map_err(refused)?;
        Ok(self)
    }

    pub(super) fn choose_database(&mut self, database: u8) -> Result<(), &'static str> {
        if database > 0 && matches!(self.servers, Servers::Cluster { .. }) {
            return Err("a cluster has no database but 0");
        }
        self.database = database;
        Ok(())
    }

    /// True if each answer waits for replicas.
    #[cfg(feature = "fred")]
    pub(in crate::store) fn waits_for_replicas(&self) -> bool {
        self.replicas.least > 0
    }

    /// Counts a grant or a renewal only once that many replicas have acknowledged it. With fewer
    /// acknowledgements its outcome is unknown, and no candidate leads by it. Zero, the default,
    /// waits for none.
    ///
    /// A failover loses nothing only if that is *every* replica that may be promoted. The wait
    /// ([`replica_wait`](Self::replica_wait)) delays all requests of the store, which share a
    /// connection.
    pub fn replica_acks(mut self, least: u16) -> Self {
        self.replicas.least = least;
        self
    }

    /// Sets how long to wait for replicas, in whole milliseconds. Default: 100 ms. It must be less
    /// than the candidates' request timeout: a request that times out costs the connection.
    pub fn replica_wait(mut self, within: Duration) -> Self {
        self.replicas.within = within;
        self
    }

    /// Sets how long opening a connection may take, including the questions to sentinels or nodes.
    /// Default: 5 s. It takes four round trips (TCP, the greeting, a database other than 0, the
    /// scripts), one more before Redis 7, one or two more with TLS, and five more with sentinels or
    /// a cluster. The candidates' request timeout may be shorter: connecting continues when a
    /// request gives up. After an outage of the network or the server, this bound can pass once
    /// more before the next attempt begins.
    ///
    /// After an attempt that failed comes a pause of random length before the next one: at most 100
    /// ms at first, twice as much with each failure, at most half of this bound and at most 5 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Treats a server that has never seen the prefix as one that has lost nothing, so that the
    /// very first leader does not watch it for a quarantine. For tests and throw-away servers: with
    /// it, a server that lost all of its data can lead to two leaders.
    pub fn trust_empty_store(mut self, trust: bool) -> Self {
        self.trust_empty_store = trust;
        self
    }

    /// The user of the sentinels or nodes that are listed.
    #[cfg(feature = "redis-without-tls")]
    pub(super) fn members_login(&self) -> &Login {
        match &self.servers {
            Servers::One(_) | Servers::Cluster { .. } => &self.login,
            Servers::Sentinels { .. } => &self.sentinel_login,
        }
    }

    /// The name of an election's record, which is also the channel of its hints. The braces keep it
    /// in one cluster slot with the prefix's past.
    pub(super) fn record(&self, key: &Key) -> String {
        self.record_parts(key).concat()
    }

    /// The same in parts, to be written into a buffer.
    pub(super) fn record_parts<'a>(&'a self, key: &'a Key) -> [&'a str; 4] {
        ["{", &self.prefix, "}:leader:", key.as_str()]
    }

    /// The channel of the messages to an election's leader.
    pub(super) fn inbox(&self, key: &Key) -> String {
        format!("{{{}}}:inbox:{key}", self.prefix)
    }

    /// The name of the prefix's past.
    pub(super) fn past(&self) -> String {
        format!("{{{}}}:past", self.prefix)
    }
}

fn addresses<H: Into<String>>(
    row: &Row,
    listed: impl IntoIterator<Item = (H, u16)>,
) -> Result<Vec<Address>, SettingError> {
    let listed = listed.into_iter().map(|(host, port)| Address::new(host, port)).collect();
    distinct(listed).map_err(|fault| row.refuse_unseen(fault))
}

/// Checks that at least one is listed, and none twice: an address that is listed twice would have
/// two votes.
pub(super) fn distinct(listed: Vec<Address>) -> Result<Vec<Address>, Fault> {
    if listed.is_empty() {
        return Err(Fault::Must);
    }
    for (second, at) in listed.iter().enumerate() {
        let same = |other: &Address| other.normal() == at.normal();
        if let Some(first) = listed[..second].iter().position(same) {
            let (first, second) = (first + 1, second + 1);
            return Err(Fault::mend(
                format!(
                    "hosts {first} and {second} of the list are the same, and more than half of those listed decide"
                ),
                "list each of them once",
            ));
        }
    }
    Ok(listed)
}

impl Address {
    pub(super) fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }

    /// An address as a server names another one; `None` if the host can't be one.
    #[cfg(feature = "redis-without-tls")]
    pub(super) fn named(host: &[u8], port: u16) -> Option<Self> {
        const MOST: usize = 255;
        let host = std::str::from_utf8(host).ok().filter(|host| host.len() <= MOST)?;
        Some(Self::new(host, port))
    }

    /// The same for all spellings of a name or an address.
    fn normal(&self) -> (String, u16) {
        let host = match self.host.parse::<IpAddr>() {
            Ok(ip) => ip.to_canonical().to_string(),
            Err(_) => self.host.trim_end_matches('.').to_ascii_lowercase(),
        };
        (host, self.port)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}
