//! The way to an etcd cluster, and the place of its elections.

use std::net::IpAddr;
use std::time::Duration;

use crate::SettingError;
use crate::settings::values::{hosts, of_bytes};
use crate::settings::{Fault, Setting};
use crate::store::credentials::Login;
use crate::store::slot::CONNECT_TIMEOUT;
use crate::store::{CredentialsProvider, Key};
use crate::tls::TlsConfig;

pub(super) const ENDPOINTS: Setting<Vec<(String, Option<u16>)>> =
    Setting::part("list of hosts", hosts)
        .must("hosts separated by commas, each with a port or none", "10.0.0.1,10.0.0.2:2379")
        .default("required")
        .about("the members of the cluster; their port is 2379 without one of their own");
pub(super) const PREFIX: Setting<String> = Setting::part("prefix", prefix)
    .must(
        "1 to 128 bytes, with no part between slashes that is empty, leader or record",
        "services/app",
    )
    .names_records()
    .default("`tenure`")
    .about("the beginning of the names of all keys");
pub(super) const ELECTION_TIMEOUT: Setting<Duration> = Setting::parameter("election_timeout_ms", |text| {
    text.parse().ok().map(Duration::from_millis).filter(is_election_timeout).ok_or(Fault::Must)
})
.must("a whole number of milliseconds from 10 to 50000: what the members have, which is 1000 unless it was changed", "1000")
.default("1000")
.about("the members' `--election-timeout` in milliseconds, or more");

/// An etcd cluster, and how to use it.
///
/// ```
/// use tenure::store::etcd::EtcdConfig;
///
/// let members = [("10.0.0.1", 2379), ("10.0.0.2", 2379), ("10.0.0.3", 2379)];
/// let config = EtcdConfig::cluster(members)?.prefix("billing")?;
/// # Ok::<(), tenure::SettingError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct EtcdConfig {
    /// Members as `host:port`.
    pub(super) endpoints: Vec<String>,
    pub(super) login: Login,
    pub(super) tls: Option<TlsConfig>,
    pub(super) prefix: String,
    pub(super) connect_timeout: Duration,
    pub(super) election_timeout: Duration,
    pub(super) trust_empty_store: bool,
}

impl EtcdConfig {
    /// A cluster of that member, without credentials and encryption, with the prefix `tenure`.
    pub fn new(host: impl AsRef<str>, port: u16) -> Self {
        Self::at([(host, port)])
    }

    /// A cluster with these members, hosts and ports. One of them is used at a time, and another
    /// one once that fails.
    ///
    /// # Errors
    /// If no member is listed.
    pub fn cluster<H: AsRef<str>>(
        members: impl IntoIterator<Item = (H, u16)>,
    ) -> Result<Self, SettingError> {
        let config = Self::at(members);
        if config.endpoints.is_empty() {
            return Err(ENDPOINTS.row.refuse("", Fault::Must));
        }
        Ok(config)
    }

    pub(super) fn at(endpoints: impl IntoIterator<Item = (impl AsRef<str>, u16)>) -> Self {
        let endpoints = endpoints.into_iter().map(|(host, port)| endpoint(host.as_ref(), port));
        Self {
            endpoints: endpoints.collect(),
            login: Login::default(),
            tls: None,
            prefix: "tenure".into(),
            connect_timeout: CONNECT_TIMEOUT,
            election_timeout: Duration::from_secs(1),
            trust_empty_store: false,
        }
    }

    /// Sets the user and the password of each connection.
    pub fn credentials(mut self, provider: impl CredentialsProvider) -> Self {
        self.login = Login::new(provider);
        self
    }

    /// Encrypts the connections.
    pub fn tls(mut self, tls: TlsConfig) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets the beginning of the names of all keys. Elections of one prefix share a past.
    ///
    /// # Errors
    /// If it is empty, longer than 128 bytes, begins or ends with a slash, or has a part between
    /// slashes that is `leader` or `record`: its keys could be those of another prefix.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Result<Self, SettingError> {
        self.prefix = PREFIX.check(&prefix.into())?;
        Ok(self)
    }

    /// Sets how long opening a connection may take, to any member that answers. Default: 5 s. The
    /// candidates' request timeout may be shorter: connecting continues when a request gives up.
    ///
    /// After an attempt that failed comes a pause of random length before the next one: at most 100
    /// ms at first, twice as much with each failure, at most half of this bound and at most 5 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the servers' `--election-timeout` (or more). Default: 1 s, which is also theirs. The
    /// servers do not report their setting, and a lower value here gives up promise G1 while etcd
    /// changes its leader.
    ///
    /// # Errors
    /// If it is below 10 ms or above 50 s, which no server accepts.
    pub fn election_timeout(mut self, timeout: Duration) -> Result<Self, SettingError> {
        if !is_election_timeout(&timeout) {
            return Err(ELECTION_TIMEOUT.row.refuse(&format!("{timeout:?}"), Fault::Must));
        }
        self.election_timeout = timeout;
        Ok(self)
    }

    /// Treats a cluster that has never seen the prefix as one that has lost nothing, so that the
    /// very first leader does not wait out the quarantine. For tests and throw-away servers: with
    /// it, a cluster that lost all of its data can lead to two leaders.
    pub fn trust_empty_store(mut self, trust: bool) -> Self {
        self.trust_empty_store = trust;
        self
    }

    /// The time that a lease may end early: two election timeouts, for which an etcd leader may not
    /// know that it was replaced, and the second in which etcd counts.
    pub(super) fn granularity(&self) -> Duration {
        Duration::from_secs(1) + self.election_timeout * 2
    }

    /// A server raises shorter ones to one and a half election timeouts, in whole seconds.
    pub(super) fn least_ttl(&self) -> Duration {
        let raised = self.election_timeout.mul_f64(1.5).as_secs_f64().ceil();
        Duration::from_secs_f64(raised).max(Duration::from_secs(2))
    }

    /// The first endpoint on another host to which a password would be sent unencrypted.
    pub(super) fn overheard(&self) -> Option<&str> {
        if !self.login.has_password() || self.tls.is_some() {
            return None;
        }
        self.endpoints.iter().map(String::as_str).find(|endpoint| !is_loopback(endpoint))
    }

    /// The key of the live lease of an election.
    pub(super) fn leader(&self, key: &Key) -> String {
        format!("{}{key}", self.leaders())
    }

    /// The beginning of the keys of all live leases under the prefix.
    pub(super) fn leaders(&self) -> String {
        format!("{}/leader/", self.prefix)
    }

    /// The key of an election's record.
    pub(super) fn record(&self, key: &Key) -> String {
        format!("{}{key}", self.records())
    }

    /// The beginning of the keys of all records under the prefix.
    pub(super) fn records(&self) -> String {
        format!("{}/record/", self.prefix)
    }

    /// The key of the prefix's past.
    pub(super) fn past(&self) -> String {
        format!("{}/past", self.prefix)
    }

    /// A key that each prefix has that an earlier version of tenure has used.
    pub(super) fn older(&self) -> String {
        format!("{}/history", self.prefix)
    }
}

/// IPv6 addresses are put in brackets.
fn endpoint(host: &str, port: u16) -> String {
    let host = host.trim_matches(['[', ']']);
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn is_loopback(endpoint: &str) -> bool {
    let host = endpoint.rsplit_once(':').map_or(endpoint, |(host, _)| host);
    let host = host.trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// A prefix whose keys are never those of another one.
fn prefix(text: &str) -> Result<String, Fault> {
    let prefix = of_bytes(text, 128)?;
    let taken = |part: &str| matches!(part, "" | "leader" | "record");
    match prefix.split('/').position(taken) {
        Some(before) => Err(Fault::because(format!(
            "its part {} between slashes is empty, leader or record, and must be none of these",
            before + 1
        ))),
        None => Ok(prefix.to_owned()),
    }
}

/// True if a server accepts it: these are the bounds of etcd's own `--election-timeout`.
fn is_election_timeout(timeout: &Duration) -> bool {
    (Duration::from_millis(10)..=Duration::from_secs(50)).contains(timeout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Credentials, Secret};

    #[test]
    fn the_election_timeout_bounds_ttl_and_granularity() {
        let with = |millis| {
            EtcdConfig::new("h", 1).election_timeout(Duration::from_millis(millis)).unwrap()
        };
        let seconds = Duration::from_secs_f64;
        assert_eq!(with(1000).granularity(), seconds(3.0));
        assert_eq!(with(1000).least_ttl(), seconds(2.0));
        assert_eq!(with(200).granularity(), seconds(1.4));
        assert_eq!(with(200).least_ttl(), seconds(2.0));
        assert_eq!(with(5000).least_ttl(), seconds(8.0));
        let refused = EtcdConfig::new("h", 1).election_timeout(seconds(51.0)).unwrap_err();
        let refused = refused.to_string();
        let expected = "election_timeout_ms is \"51s\": it must be a whole number of milliseconds from 10 to 50000";
        assert!(refused.starts_with(expected), "{refused}");
    }

    #[test]
    fn a_cluster_has_a_member() {
        let refused = EtcdConfig::cluster(<[(&str, u16); 0]>::default()).unwrap_err().to_string();
        assert!(refused.starts_with("list of hosts is \"\": it must be hosts"), "{refused}");
    }

    #[test]
    fn prefixes_never_overlap() {
        for prefix in ["", "/a", "a/", "a//b", "a/leader", "record/b", "leader", &"p".repeat(129)] {
            EtcdConfig::new("h", 1).prefix(prefix).unwrap_err();
        }
        let config = EtcdConfig::new("h", 1).prefix("services/billing").unwrap();
        let key = Key::new("a/b").unwrap();
        assert_eq!(config.leader(&key), "services/billing/leader/a/b");
        assert_eq!(config.record(&key), "services/billing/record/a/b");
    }

    #[test]
    fn unencrypted_passwords_to_other_hosts_are_found() {
        let at = |host| {
            EtcdConfig::cluster([("127.0.0.1", 1), (host, 2379)])
                .unwrap()
                .credentials(Credentials::new("worker", Secret::new("hush")))
        };
        for here in ["localhost", "LOCALHOST", "127.0.0.9", "::1", "[::1]", "::ffff:127.0.0.1"] {
            assert_eq!(at(here).overheard(), None, "{here}");
        }
        for elsewhere in ["etcd", "10.0.0.1", "fe80::1", "localhost.example", "127.0.0.1.example"] {
            assert!(at(elsewhere).overheard().is_some_and(|named| named.contains(elsewhere)));
            assert_eq!(at(elsewhere).tls(TlsConfig::system().unwrap()).overheard(), None);
            assert_eq!(EtcdConfig::new(elsewhere, 1).overheard(), None, "no password");
        }
    }
}
