//! How to reach an etcd cluster, and where in it elections are kept.

use std::time::Duration;

use crate::store::{Key, Secret};

/// Where an etcd cluster is, and how to use it.
///
/// ```
/// use tenure::store::etcd::EtcdConfig;
///
/// let config = EtcdConfig::new("10.0.0.1", 2379)
///     .endpoint("10.0.0.2", 2379)
///     .endpoint("10.0.0.3", 2379)
///     .prefix("billing")?;
/// # Ok::<(), tenure::store::etcd::EtcdConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct EtcdConfig {
    /// As `host:port`.
    pub(super) endpoints: Vec<String>,
    pub(super) user: Option<(String, Secret)>,
    pub(super) tls: Option<EtcdTls>,
    pub(super) prefix: String,
    pub(super) connect_timeout: Duration,
    pub(super) election_timeout: Duration,
    pub(super) trust_empty_store: bool,
}

/// By what a client and an etcd cluster know each other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct EtcdTls {
    pub(super) authority: String,
    pub(super) identity: Option<(String, Secret)>,
    pub(super) server_name: Option<String>,
}

impl EtcdTls {
    /// Trusts servers whose certificates that authority has signed, and no others. PEM.
    pub fn new(authority: impl Into<String>) -> Self {
        Self { authority: authority.into(), identity: None, server_name: None }
    }

    /// The client's own certificate and key, for servers with `--client-cert-auth`. PEM.
    pub fn identity(mut self, certificate: impl Into<String>, key: Secret) -> Self {
        self.identity = Some((certificate.into(), key));
        self
    }

    /// The name that the servers' certificates must have. Default: the endpoint's host.
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.server_name = Some(name.into());
        self
    }
}

impl EtcdConfig {
    /// The longest prefix, in bytes.
    const PREFIX_MOST: usize = 128;
    /// The bounds of etcd's own `--election-timeout`.
    const ELECTION_LEAST: Duration = Duration::from_millis(10);
    const ELECTION_MOST: Duration = Duration::from_secs(50);

    /// A cluster with that member, without credentials and encryption, with the prefix `tenure`.
    pub fn new(host: impl AsRef<str>, port: u16) -> Self {
        Self {
            endpoints: vec![endpoint(host.as_ref(), port)],
            user: None,
            tls: None,
            prefix: "tenure".into(),
            connect_timeout: Duration::from_secs(1),
            election_timeout: Duration::from_secs(1),
            trust_empty_store: false,
        }
    }

    /// Adds another member. One of them is used at a time; another one once that fails.
    pub fn endpoint(mut self, host: impl AsRef<str>, port: u16) -> Self {
        self.endpoints.push(endpoint(host.as_ref(), port));
        self
    }

    /// Sets the name and the password of a user.
    pub fn credentials(mut self, username: impl Into<String>, password: Secret) -> Self {
        self.user = Some((username.into(), password));
        self
    }

    /// Encrypts the connections.
    pub fn tls(mut self, tls: EtcdTls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets what the names of all keys begin with. Elections of one prefix share a history.
    ///
    /// # Errors
    /// If it is empty, longer than 128 bytes, begins or ends with a slash, or has a part between
    /// slashes that is `leader` or `last`: its keys could be those of another prefix.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Result<Self, EtcdConfigError> {
        let prefix = prefix.into();
        let taken = |part: &str| matches!(part, "" | "leader" | "last");
        if prefix.len() > Self::PREFIX_MOST || prefix.split('/').any(taken) {
            return Err(EtcdConfigError::Prefix { prefix });
        }
        self.prefix = prefix;
        Ok(self)
    }

    /// Sets how long opening a connection may take, to whichever member answers. Default: 1 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Says what the servers' `--election-timeout` is (or more). Default: 1 s, as theirs. What the
    /// servers have can't be asked for, and too little here gives up promise G1 while etcd changes its
    /// leader.
    ///
    /// # Errors
    /// If it is below 10 ms or above 50 s, which no server accepts.
    pub fn election_timeout(mut self, timeout: Duration) -> Result<Self, EtcdConfigError> {
        let (least, most) = (Self::ELECTION_LEAST, Self::ELECTION_MOST);
        if !(least..=most).contains(&timeout) {
            return Err(EtcdConfigError::ElectionTimeout { timeout, least, most });
        }
        self.election_timeout = timeout;
        Ok(self)
    }

    /// Takes a cluster that has never seen the prefix for one that has lost nothing, so that the very
    /// first leader does not wait out the quarantine. For tests and throw-away servers: with it, a
    /// cluster that lost all of its data can lead to two leaders.
    pub fn trust_empty_store(mut self, trust: bool) -> Self {
        self.trust_empty_store = trust;
        self
    }

    /// How early a lease may end: what an etcd leader can do that has been replaced and does not know
    /// it yet, which lasts two election timeouts at the most, and the second in which etcd counts.
    pub(super) fn granularity(&self) -> Duration {
        Duration::from_secs(1) + self.election_timeout * 2
    }

    /// A server raises shorter ones to one and a half election timeouts, in whole seconds.
    pub(super) fn least_ttl(&self) -> Duration {
        let raised = self.election_timeout.mul_f64(1.5).as_secs_f64().ceil();
        Duration::from_secs_f64(raised).max(Duration::from_secs(2))
    }

    /// The key of the live lease of an election.
    pub(super) fn leader(&self, key: &Key) -> String {
        format!("{}/leader/{key}", self.prefix)
    }

    /// The key that remembers the last tenure of an election.
    pub(super) fn last(&self, key: &Key) -> String {
        format!("{}/last/{key}", self.prefix)
    }

    /// The key of the prefix's history.
    pub(super) fn history(&self) -> String {
        format!("{}/history", self.prefix)
    }

    /// The key that is there for as long as a quarantine lasts.
    pub(super) fn quarantine(&self) -> String {
        format!("{}/quarantine", self.prefix)
    }
}

/// IPv6 addresses are put in brackets.
fn endpoint(host: &str, port: u16) -> String {
    let host = host.trim_matches(['[', ']']);
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Why a part of an etcd configuration or URL was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EtcdConfigError {
    /// Not a URL of the form that is documented.
    #[error(
        "the etcd URL can't be read; it is etcd[s]://[user:password@]host[:port][,host[:port]..][/prefix]"
    )]
    Syntax,
    /// Another scheme than `etcd` or `etcds`.
    #[error("the etcd URL's scheme is {scheme:?}; supported are \"etcd\" and, with TLS, \"etcds\"")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// An endpoint has no host.
    #[error("the etcd URL's endpoint {number} has no host")]
    NoHost {
        /// Which, from 1.
        number: usize,
    },
    /// An endpoint's port is no port.
    #[error("the etcd URL's endpoint {number} has the port {port:?}; it must be from 1 to 65535")]
    Port {
        /// Which, from 1.
        number: usize,
        /// What was given.
        port: String,
    },
    /// The prefix can't be used in the names of keys.
    #[error(
        "the prefix is {prefix:?}; it must have 1 to 128 bytes, and no part between slashes that is \
         empty, \"leader\" or \"last\""
    )]
    Prefix {
        /// What was given.
        prefix: String,
    },
    /// The election timeout is none that a server accepts.
    #[error("the election timeout is {timeout:?}; it must be from {least:?} to {most:?}")]
    ElectionTimeout {
        /// What was given.
        timeout: Duration,
        /// The least.
        least: Duration,
        /// The most.
        most: Duration,
    },
    /// A parameter is unknown, or has no place in a URL of that scheme.
    #[error(
        "the etcd URL has a parameter {name:?}; known are \"election_timeout_ms\" and, with etcds, \
         \"ca\", \"cert\", \"key\" and \"server_name\""
    )]
    Parameter {
        /// Its name.
        name: String,
    },
    /// A number is none.
    #[error("the etcd URL's election_timeout_ms is {value:?}; it must be a whole number")]
    Number {
        /// What was given.
        value: String,
    },
    /// With `etcds`, whom to trust must be said; and a certificate is of no use without its key.
    #[error("the etcd URL has no parameter {missing:?}, which {needed_by} needs")]
    Missing {
        /// What is missing.
        missing: &'static str,
        /// What needs it.
        needed_by: &'static str,
    },
    /// A file can't be read.
    #[error("the file {path:?} of the etcd URL's parameter {parameter:?} can't be read")]
    File {
        /// Which parameter names it.
        parameter: &'static str,
        /// Its path.
        path: String,
        /// What the operating system says.
        #[source]
        source: std::io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_the_election_timeout() {
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
        assert_eq!(refused.to_string(), "the election timeout is 51s; it must be from 10ms to 50s");
    }

    #[test]
    fn no_prefix_reaches_into_another() {
        for prefix in ["", "/a", "a/", "a//b", "a/leader", "last/b", &"p".repeat(129)] {
            EtcdConfig::new("h", 1).prefix(prefix).unwrap_err();
        }
        let config = EtcdConfig::new("h", 1).prefix("services/billing").unwrap();
        let key = Key::new("a/b").unwrap();
        assert_eq!(config.leader(&key), "services/billing/leader/a/b");
        assert_eq!(config.last(&key), "services/billing/last/a/b");
    }
}
