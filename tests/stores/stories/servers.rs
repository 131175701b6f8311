//! The list of servers and stores that the stories run on. SQLite has no server and no network to
//! cut; its stories are in `sqlite`.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::Config;
use tenure::store::AnyStore;
use tenure::store::etcd::Etcd;
use tenure::store::kubernetes::{Kubernetes, KubernetesConfig};
use tenure::store::mysql::Mysql;
use tenure::store::postgres::Postgres;
use tenure_servers::{
    EtcdServer, KubeApiServer, MariadbServer, PostgresServer, RedisServer, Reply as Raw,
};
use tenure_sim::conformance::Data;

use super::server::{EmptyStore, Server, TestServer};
use crate::stores::redis::support::Client;
use crate::stores::{etcd, kubernetes, mysql, postgres, redis};

/// Data survives the end of the process, whatever the disk does meanwhile.
const KEEPS_DATA: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "no"];

pub(super) fn redis_rs() -> TestServer {
    let server = RedisServer::start_with(&KEEPS_DATA).unwrap();
    TestServer::new(server, |port, empty| redis(Client::RedisRs, port, empty), 1)
}

/// With a connection of its own for hints.
pub(super) fn fred() -> TestServer {
    let server = RedisServer::start_with(&KEEPS_DATA).unwrap();
    TestServer::new(server, |port, empty| redis(Client::Fred, port, empty), 2)
}

/// With a connection of its own for hints.
pub(super) fn postgres() -> TestServer {
    let connect = |port, empty: EmptyStore| {
        let config = postgres::support::local(port);
        AnyStore::new(Postgres::new(config.trust_empty_store(empty.is_trusted())))
    };
    TestServer::new(postgres::support::server(), connect, 2)
}

/// Its clock and its round trips take more of each lease than those of other stores.
pub(super) fn etcd() -> TestServer {
    let connect = |port, empty: EmptyStore| {
        let config = etcd::support::local(&[port]);
        AnyStore::new(Etcd::new(config.trust_empty_store(empty.is_trusted())))
    };
    let config = |ttl, request_timeout, renew_interval| {
        Config::builder(Duration::from_secs(ttl))
            .request_timeout(Duration::from_millis(request_timeout))
            .least_retry(Duration::from_millis(50))
            .largest_retry(Duration::from_millis(100))
            .renew_interval(Duration::from_millis(renew_interval))
            .build()
            .unwrap()
    };
    let mut server = TestServer::new(etcd::support::server(), connect, 1);
    (server.quick, server.steady) = (config(6, 250, 800), config(10, 1_000, 1_000));
    server
}

/// Requests and streams of events share a connection.
pub(super) fn kubernetes() -> TestServer {
    let server = KubeApiServer::start().unwrap();
    let known = std::fs::read_to_string(server.kubeconfig(server.admin_token()).unwrap()).unwrap();
    let (own, folder) = (server.port().to_string(), tempfile::tempdir().unwrap());
    let connect = move |port: u16, empty: EmptyStore| {
        let path = folder.path().join(port.to_string());
        std::fs::write(&path, known.replace(&own, &port.to_string())).unwrap();
        // Leases of 2 s: no candidate of another kind shares them.
        let config = KubernetesConfig::new("default").unwrap().kubeconfig(path).unshared(true);
        AnyStore::new(Kubernetes::new(config.trust_empty_store(empty.is_trusted())))
    };
    let outlasting = Config::builder(Duration::from_secs(30));
    let mut server = TestServer::new(server, connect, 1);
    server.outlasting = outlasting.renew_interval(Duration::from_secs(4)).build().unwrap();
    server
}

/// Hints are polled for over the connection for requests.
pub(super) fn mysql() -> TestServer {
    let connect = |port, empty: EmptyStore| {
        let config = mysql::support::local(port);
        AnyStore::new(Mysql::new(config.trust_empty_store(empty.is_trusted())))
    };
    let outlasting = Config::builder(Duration::from_secs(30));
    let mut server = TestServer::new(mysql::support::with_tables(), connect, 1);
    server.outlasting = outlasting.renew_interval(Duration::from_secs(1)).build().unwrap();
    server
}

impl EmptyStore {
    fn is_trusted(self) -> bool {
        self == Self::Trusted
    }
}

fn redis(client: Client, port: u16, empty: EmptyStore) -> AnyStore {
    client.store(redis::support::local(port).trust_empty_store(empty.is_trusted()))
}

/// Implements [`Server`] by methods of these names, and by what is different on each server.
macro_rules! server {
    ($server:ty, $kill:ident, $restart_empty:expr, $damage:expr, $subscriptions:expr) => {
        impl Server for $server {
            fn port(&self) -> u16 {
                self.port()
            }

            fn pause(&self) {
                self.pause().unwrap();
            }

            fn resume(&self) {
                self.resume().unwrap();
            }

            fn kill(&mut self) {
                self.$kill().unwrap();
            }

            fn restart(&mut self) {
                self.restart().unwrap();
            }

            fn restart_empty(&mut self) {
                let restart_empty: fn(&mut Self) = $restart_empty;
                restart_empty(self);
            }

            fn subscriptions(&self) -> usize {
                let subscriptions: fn(&Self) -> usize = $subscriptions;
                subscriptions(self)
            }

            fn damage(&mut self) {
                let damage: fn(&Self) = $damage;
                damage(self);
            }
        }
    };
}

server!(
    RedisServer,
    kill,
    |server| redis::rows::replace(server, Data::Lost),
    |server| {
        let record = "{tenure}:leader:damaged";
        server.command(&["HSET", record, "holder", &"x".repeat(32)]).unwrap();
    },
    |server| match server.command(&["PUBSUB", "CHANNELS"]).unwrap() {
        Raw::Array(channels) => channels.len(),
        other => panic!("{other:?}"),
    }
);
server!(
    PostgresServer,
    stop,
    |server| server.replace().unwrap(),
    |server| {
        server.sql("ALTER TABLE tenure.leases DROP CONSTRAINT leases_token_check").unwrap();
        server.sql("UPDATE tenure.leases SET token = 0 WHERE key = 'damaged'").unwrap();
    },
    |server| {
        // Only a session itself sees its channels, so the connections are counted, but for the one
        // for requests.
        let connections = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tenure'";
        server.sql(connections).unwrap().parse::<usize>().unwrap().saturating_sub(1)
    }
);
server!(
    MariadbServer,
    kill,
    |server| server.replace().unwrap(),
    |server| {
        let damaged = "SET value = 'not ours', version = UNHEX(MD5(version)) WHERE k = 'damaged'";
        server.sql(&format!("UPDATE tenure_leases {damaged}")).unwrap();
    },
    // Rows are polled for as long as candidates wait, and no session is there for that alone.
    |_| 0
);
server!(
    EtcdServer,
    kill,
    |server| server.restart_empty().unwrap(),
    |server| etcd::refusals::put(server, "tenure/record/damaged", "not ours"),
    |server| server.metric("etcd_debugging_mvcc_watcher_total").unwrap()
);
server!(
    KubeApiServer,
    kill,
    |server| {
        server.kill().unwrap();
        server.etcd_mut().restart_empty().unwrap();
        server.restart().unwrap();
    },
    |server| {
        let election = json!({ "tenure.dev/election": "not ours" });
        let lease = json!({ "metadata": { "name": "damaged", "annotations": election } });
        let path = format!("{}/damaged", kubernetes::support::leases("default"));
        if server.call(server.admin_token(), "PATCH", &path, &lease).unwrap().0 == 404 {
            server.admin("POST", &kubernetes::support::leases("default"), &lease).unwrap();
        }
    },
    |server| {
        let (_, metrics) =
            server.call(server.admin_token(), "GET", "/metrics", &Value::Null).unwrap();
        let is_of_leases = |line: &&str| {
            line.starts_with("apiserver_longrunning_gauge{")
                && line.contains("resource=\"leases\"")
                && line.contains("verb=\"WATCH\"")
        };
        let gauges = metrics.as_str().unwrap().lines().filter(is_of_leases);
        gauges.map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()).sum()
    }
);
