//! Members, stores, and settings.

use std::time::Duration;

use tenure::Config;
use tenure::store::etcd::{Etcd, EtcdConfig};
use tenure_servers::EtcdServer;

pub(crate) use crate::stores::support::*;

/// Members that change their leader quickly, so that leases may be short.
pub(crate) const FAST: [&str; 4] = ["--heartbeat-interval", "20", "--election-timeout", "200"];

pub(crate) fn server() -> EtcdServer {
    EtcdServer::start_with(&FAST).expect("an etcd server")
}

/// Members at those ports of this machine that are started as [`FAST`].
pub(crate) fn local(ports: &[u16]) -> EtcdConfig {
    let all = EtcdConfig::cluster(ports.iter().map(|&port| ("127.0.0.1", port))).unwrap();
    all.election_timeout(Duration::from_millis(200)).unwrap()
}

/// A store there, which trusts an empty cluster.
pub(crate) fn at(ports: &[u16]) -> Etcd {
    Etcd::new(local(ports).trust_empty_store(true))
}

/// Leases of 5 s, in clusters that are [`FAST`].
pub(crate) fn quick() -> Config {
    Config::builder(Duration::from_secs(5))
        .request_timeout(Duration::from_millis(400))
        .least_retry(Duration::from_millis(50))
        .largest_retry(Duration::from_millis(100))
        .renew_interval(Duration::from_secs(1))
        .build()
        .unwrap()
}

/// Leases of a minute: a takeover within seconds has not waited for the end of one.
pub(crate) fn patient() -> Config {
    Config::builder(Duration::from_secs(60)).build().unwrap()
}
