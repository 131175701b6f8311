//! Warnings about configurations that are allowed and risky.

use std::fmt;
use std::net::IpAddr;

use super::config::{Address, RedisConfig, Servers};
use crate::logging;
use crate::store::error::sanitized;

/// True if this build has a store that can encrypt: fred can't.
const ENCRYPTS: bool = cfg!(all(feature = "redis-without-tls", feature = "tls"));
/// The most bytes that are shown of a host.
const HOST_MOST: usize = 256;

/// An allowed risk, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caution {
    /// So few sentinels or nodes are listed that none of them may fail.
    FewMembers(String),
    /// A password is sent where others may read it.
    ReadablePassword(String),
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewMembers(text) | Self::ReadablePassword(text) => f.write_str(text),
        }
    }
}

impl RedisConfig {
    /// Logs what is allowed and risky.
    pub(super) fn warn(&self) {
        for caution in self.cautions() {
            logging::warn!("{caution}");
        }
    }

    /// Logs what a server that knows no flags of scripts leaves out, by its `INFO replication`.
    pub(super) fn warn_of_replicas(&self, info: &str) {
        if self.relies_on_min_replicas(info) {
            logging::warn!(
                "before Redis 7, min-replicas-to-write does not hold for scripts: a primary that was cut off keeps its \
                 leader; set replica_acks in the URL (or RedisConfig::replica_acks, with the store `Redis`)"
            );
        }
    }

    /// True if nothing but that setting, which the server says it has, ends the lead at a primary
    /// that was cut off.
    fn relies_on_min_replicas(&self, info: &str) -> bool {
        let is_one = matches!(self.servers, Servers::One(_));
        is_one && self.replicas.least == 0 && info.contains("min_slaves_good_slaves:")
    }

    pub(super) fn cautions(&self) -> Vec<Caution> {
        let few = self.too_few().map(Caution::FewMembers);
        let readable = self.readable_credentials().map(Caution::ReadablePassword);
        few.into_iter().chain(readable).collect()
    }

    /// A majority of one or two servers is all of them.
    fn too_few(&self) -> Option<String> {
        let (listed, what) = match &self.servers {
            Servers::One(_) => return None,
            Servers::Sentinels { listed, .. } => (listed, "sentinels"),
            Servers::Cluster { listed } => (listed, "cluster nodes"),
        };
        let count = listed.len();
        (count < 3).then(|| {
            format!(
                "the list of {what} has {count}, of which more than half must answer: when one of them \
                 fails, no candidate leads; list all of them, and at least 3"
            )
        })
    }

    fn readable_credentials(&self) -> Option<String> {
        if self.tls.is_some() {
            return None;
        }
        let (own, sentinels) = (self.login.has_password(), self.sentinel_login.has_password());
        let (at, is_sent) = match &self.servers {
            Servers::One(server) => (std::slice::from_ref(server), own),
            // The servers that sentinels name are rarely on this host if the sentinels are not.
            Servers::Sentinels { listed, .. } => (&listed[..], own || sentinels),
            Servers::Cluster { listed } => (&listed[..], own),
        };
        let far = at.iter().find(|at| !is_this_host(at)).filter(|_| is_sent)?;
        let far = sanitized(far, HOST_MOST);
        let remedy = if ENCRYPTS {
            "encrypt with rediss:// in the place of redis:// (or RedisConfig::tls)"
        } else {
            "this program was built without encryption; build it with the feature `redis` of the crate `tenure`"
        };
        Some(format!("the password is sent unencrypted to {far}: {remedy}"))
    }
}

fn is_this_host(at: &Address) -> bool {
    let host = at.host.trim_end_matches('.').to_ascii_lowercase();
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cautions(url: &str) -> Vec<String> {
        let cautions = RedisConfig::from_url(url).unwrap().cautions();
        cautions.iter().map(ToString::to_string).collect()
    }

    #[cfg(feature = "tls")]
    #[test]
    fn a_password_in_plain_text_is_warned_of() {
        for url in [
            "redis://far",
            "redis://:hush@127.0.0.2",
            "redis://:hush@[::1]",
            "redis://:hush@[::ffff:127.0.0.1]",
            "redis://:hush@LocalHost.",
            "rediss://:hush@far",
            "redis+cluster://a,b,c",
        ] {
            assert_eq!(cautions(url), [""; 0], "{url}");
        }
        for url in [
            "redis://:hush@far",
            "redis://:hush@10.0.0.1",
            "redis://:hush@localhost.far",
            "redis+sentinel://:hush@127.0.0.1,a,b/main",
            "redis+sentinel://a,b,c/main?sentinel_password=hush",
            "redis+cluster://:hush@a,b,c",
        ] {
            let cautions = cautions(url);
            assert_eq!(cautions.len(), 1, "{url}");
            assert!(
                cautions[0].starts_with("the password is sent unencrypted to "),
                "{cautions:?}"
            );
            assert!(!cautions[0].contains("hush"), "{cautions:?}");
        }
    }

    #[test]
    fn encryption_is_advised_where_there_is_some() {
        let cautions = cautions("redis://:hush@far");
        let is_there = cfg!(all(feature = "redis-without-tls", feature = "tls"));
        assert_eq!(cautions[0].contains("rediss://"), is_there, "{cautions:?}");
        assert_eq!(cautions[0].contains("the feature `redis`"), !is_there, "{cautions:?}");
    }

    #[test]
    fn lists_without_a_spare_are_warned_of() {
        for (url, expected) in [
            ("redis+sentinel://a/main", "the list of sentinels has 1, of which"),
            ("redis+cluster://a,b", "the list of cluster nodes has 2, of which"),
        ] {
            let cautions = cautions(url);
            assert!(cautions.len() == 1 && cautions[0].starts_with(expected), "{cautions:?}");
        }
        assert_eq!(cautions("redis+cluster://a,b,c"), [""; 0]);
        assert_eq!(cautions("redis+sentinel://a,b,c/main"), [""; 0]);
    }

    #[test]
    fn replicas_that_scripts_do_not_need_are_warned_of() {
        let set = "# Replication\r\nrole:master\r\nmin_slaves_good_slaves:1\r\n";
        let relies = |url, info| RedisConfig::from_url(url).unwrap().relies_on_min_replicas(info);
        assert!(relies("redis://a", set));
        assert!(!relies("redis://a", "# Replication\r\nrole:master\r\n"));
        assert!(!relies("redis://a?replica_acks=1", set));
        assert!(!relies("redis+sentinel://a,b,c/main", set));
        assert!(!relies("redis+cluster://a,b,c", set));
    }
}
