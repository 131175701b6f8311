//! A candidate's report of a store that it can't use: the cause, for as long as that lasts.
//! Connecting is attempted with pauses, and may take longer than a request may, so most requests
//! are given up before they learn anything.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::store::redis::Redis;
use tenure::store::{AnyStore, Credentials, Secret, StoreErrorKind};
use tenure::{Config, StoreHealth};
use tenure_servers::{Flow, RedisServer};

use super::TestServer;
use crate::stores::redis::support::Client;
use crate::stores::support::{soon, start};
use crate::stores::{etcd, postgres, redis};

/// Many times the requests whose errors are their own.
const ERRORS: usize = 12;

/// All errors of a candidate are of that kind, and its health has the kind and the words. The first
/// attempt to connect may outlast some requests on a busy machine: before another cause than the
/// lack of a connection is known, errors say no more than that.
async fn reports(store: AnyStore, config: Config, kind: StoreErrorKind, words: &str) {
    let (candidate, _) = start(store, "hopeful", config);
    let errors = Arc::<Mutex<Vec<_>>>::default();
    let all = Arc::clone(&errors);
    candidate.on_store_error(move |error| {
        let mut all = all.lock().unwrap();
        let tells_nothing =
            matches!(error.kind(), StoreErrorKind::Unreachable | StoreErrorKind::Timeout);
        let is_early = all.is_empty() && tells_nothing && kind != StoreErrorKind::Unreachable;
        if !is_early {
            all.push(error.clone());
        }
    });
    soon(async {
        while errors.lock().unwrap().len() < ERRORS {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let StoreHealth::Unavailable { kind: known, cause, .. } = candidate.health().store else {
        panic!("{:?}", candidate.health());
    };
    assert!(cause.contains(words), "{cause}");
    let errors = errors.lock().unwrap();
    let all_are_so = errors.iter().all(|error| error.kind() == kind);
    assert!(known == kind && all_are_so, "{known:?} of {errors:#?}");
}

async fn a_closed_port_is_named(mut server: TestServer) {
    server.process().kill();
    let port = server.port();
    let words = port.to_string();
    reports(server.store(), server.quick, StoreErrorKind::Unreachable, &words).await;
}

/// It takes connections and answers nothing, as a firewall or a server that hangs does.
async fn a_black_hole_is_no_slow_answer(server: TestServer) {
    let proxy = server.proxy().await;
    proxy.set(Flow::BlackHole);
    let store = server.store_at(proxy.port());
    reports(store, server.quick, StoreErrorKind::Unreachable, "no connection").await;
}

stories!(the_cause_of_an_outage_is_reported: a_closed_port_is_named, a_black_hole_is_no_slow_answer);

fn quick() -> Config {
    Config::builder(Duration::from_secs(2)).build().unwrap()
}

mod a_wrong_password_is_named {
    use super::*;

    const KIND: StoreErrorKind = StoreErrorKind::Authentication;

    async fn redis(client: Client) {
        let server = RedisServer::start_with(&["--requirepass", "horse"]).unwrap();
        let config = redis::support::local(server.port())
            .credentials(Credentials::new("", Secret::new("mule")));
        reports(client.store(config), quick(), KIND, "WRONGPASS").await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn redis_rs() {
        redis(Client::RedisRs).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn fred() {
        redis(Client::Fred).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        let (server, store) = postgres::tls::with_password();
        server.sql("ALTER ROLE app PASSWORD 'another'").unwrap();
        let store = AnyStore::new(store(server.port()));
        reports(store, quick(), KIND, "password authentication failed").await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn etcd() {
        let (_server, store) = etcd::secured::with_another_password();
        let config = etcd::support::quick();
        reports(AnyStore::new(store), config, KIND, "invalid user ID or password").await;
    }
}

mod an_expired_certificate_is_named {
    use super::*;

    const KIND: StoreErrorKind = StoreErrorKind::Tls;
    const WORDS: &str = "certificate has expired";

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn redis_rs() {
        let (server, tls) = redis::tls::expired();
        let config = redis::support::local(server.port()).tls(tls);
        reports(AnyStore::new(Redis::new(config)), quick(), KIND, WORDS).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        let (_server, store) = postgres::tls::expired();
        reports(AnyStore::new(store), quick(), KIND, WORDS).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn etcd() {
        let (_server, _files, store) = etcd::secured::expired().await;
        reports(AnyStore::new(store), etcd::support::quick(), KIND, WORDS).await;
    }
}

/// OpenSSL's command makes them so by the manual of PostgreSQL, whose own clients take both.
mod a_certificate_of_another_kind_is_explained {
    use super::*;

    const KEY: &str = include_str!("certificates/key.pem");

    async fn explained(certificate: &str, words: &str) {
        let (_server, store) = postgres::tls::showing(certificate, KEY, certificate);
        reports(AnyStore::new(store), quick(), StoreErrorKind::Tls, words).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn of_an_authority() {
        let words = "basicConstraints=critical,CA:FALSE";
        explained(include_str!("certificates/authority.pem"), words).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn of_version_1() {
        let words = "is of X.509 version 1";
        explained(include_str!("certificates/version-1.pem"), words).await;
    }
}
