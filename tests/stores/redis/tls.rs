//! Encrypted connections to a server whose certificate the test has made.

use std::fs;
use std::time::Duration;

use tempfile::TempDir;
use tenure::store::redis::{Redis, RedisConfig};
use tenure::store::{AnyStore, Request, StoreErrorKind};
use tenure::tls::TlsConfig;
use tenure_servers::{
    Authority, Certificate, RedisCluster, RedisSentinels, RedisServer, Reply as Raw,
};

use super::failover::hands_over_at_once;
use super::rows::{KEEPS, replace, slow};
use super::support::{
    Place, acquire, call, granted, granted_after_a_watch, held, is_expired, local, release, soon,
};

/// A certificate for a name, in a folder, and the arguments that make Redis use it.
struct Certified {
    folder: TempDir,
    certificate: Certificate,
    args: Vec<String>,
}

impl Certified {
    /// Asking clients for theirs (`yes`) or not (`no`).
    fn new(ca: &Authority, name: &str, asks_clients: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let certificate = ca.certificate(&[name]).unwrap();
        let mut args = vec!["--tls-auth-clients".to_owned(), asks_clients.to_owned()];
        let files =
            [("cert", &certificate.valid), ("key", &certificate.key), ("ca-cert", &ca.pem())];
        for (what, text) in files {
            let path = folder.path().join(what);
            fs::write(&path, text).unwrap();
            args.extend([format!("--tls-{what}-file"), path.to_str().unwrap().to_owned()]);
        }
        Self { folder, certificate, args }
    }

    fn args<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        self.args.iter().map(String::as_str).chain(more.iter().copied()).collect()
    }
}

/// A server that listens for encrypted connections on a port of their own.
pub(crate) struct Encrypted {
    server: RedisServer,
    port: u16,
    certified: Certified,
}

impl Encrypted {
    fn start(ca: &Authority, name: &str, asks_clients: &str, more: &[&str]) -> Self {
        let certified = Certified::new(ca, name, asks_clients);
        let server = RedisServer::start_with(&certified.args(more)).unwrap();
        Self { port: server.tls_port().unwrap(), server, certified }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Replaces its certificate. The server reads its files again when it is told their names.
    fn shows(&self, certificate: &str) {
        let path = self.certified.folder.path().join("cert");
        fs::write(&path, certificate).unwrap();
        let command = ["CONFIG", "SET", "tls-cert-file", path.to_str().unwrap()];
        assert_eq!(self.server.command(&command).unwrap(), Raw::SimpleString("OK".into()));
    }

    fn config(&self) -> RedisConfig {
        local(self.port).trust_empty_store(true)
    }
}

fn store(config: RedisConfig) -> AnyStore {
    AnyStore::new(Redis::new(config))
}

async fn refused(config: RedisConfig) -> (StoreErrorKind, String) {
    let error = call(&store(config), Request::Observe).await.unwrap_err();
    (error.kind(), error.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_needs_certificate_and_name() {
    let ca = Authority::new().unwrap();
    let server = Encrypted::start(&ca, "127.0.0.1", "no", &[]);
    let tls = TlsConfig::with_ca(ca.pem()).unwrap();
    granted(&store(server.config().tls(tls.clone())), acquire(1, None)).await;

    let folder = server.certified.folder.path().display();
    let url = format!("rediss://127.0.0.1:{}?ca={folder}/ca-cert", server.port);
    let by_url = RedisConfig::from_url(&url).unwrap();
    call(&store(by_url), Request::Observe).await.unwrap();

    let stranger = TlsConfig::with_ca(Authority::new().unwrap().pem()).unwrap();
    let (kind, shown) = refused(server.config().tls(stranger)).await;
    assert_eq!(kind, StoreErrorKind::Tls, "{shown}");
    let (kind, shown) =
        refused(server.config().tls(tls.server_name("redis.example.org").unwrap())).await;
    assert_eq!(kind, StoreErrorKind::Tls, "{shown}");
    let (kind, shown) = refused(server.config()).await;
    assert_eq!(kind, StoreErrorKind::Disconnected, "unencrypted: {shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_server_name_and_a_client_certificate() {
    let ca = Authority::new().unwrap();
    let server = Encrypted::start(&ca, "redis.example.org", "yes", &[]);
    let tls = TlsConfig::with_ca(ca.pem()).unwrap().server_name("redis.example.org").unwrap();
    let (kind, shown) = refused(server.config().tls(tls.clone())).await;
    assert_eq!(kind, StoreErrorKind::Tls, "{shown}");
    let own = ca.certificate(&["app"]).unwrap();
    let ours = tls.clone().client_certificate(own.valid, own.key).unwrap();
    granted(&store(server.config().tls(ours)), acquire(1, None)).await;
    let own = Authority::new().unwrap().certificate(&["app"]).unwrap();
    let forged = tls.client_certificate(own.valid, own.key).unwrap();
    let (kind, shown) = refused(server.config().tls(forged)).await;
    assert_eq!(kind, StoreErrorKind::Tls, "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_certificate_is_named() {
    let ca = Authority::new().unwrap();
    let server = Encrypted::start(&ca, "127.0.0.1", "no", &[]);
    let tls = TlsConfig::with_ca(ca.pem()).unwrap();
    let store = || store(server.config().tls(tls.clone()));
    granted(&store(), acquire(1, None)).await;
    let certificate = &server.certified.certificate;
    server.shows(&certificate.expired);
    is_expired(&call(&store(), Request::Observe).await.unwrap_err());
    server.shows(&certificate.valid);
    held(&store(), Request::Observe).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_sent_to_a_server_without_encryption() {
    let server = super::support::server();
    let tls = TlsConfig::with_ca(Authority::new().unwrap().pem()).unwrap();
    let config = local(server.port()).tls(tls).connect_timeout(Duration::from_secs(1));
    let (kind, shown) = refused(config).await;
    // The server may wait for the rest of the bytes, which it reads as a command.
    assert!(kind == StoreErrorKind::Tls || shown.contains("the TLS handshake"), "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaders_hand_over_at_once() {
    let ca = Authority::new().unwrap();
    let server = Encrypted::start(&ca, "127.0.0.1", "no", &[]);
    let tls = TlsConfig::with_ca(ca.pem()).unwrap();
    let store = || store(server.config().tls(tls.clone()));
    hands_over_at_once(store(), store()).await;
}

/// All connections are encrypted: to the sentinels, to the primary they name, and among those.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_and_the_primary_they_name() {
    let ca = Authority::new().unwrap();
    let certified = Certified::new(&ca, "127.0.0.1", "no");
    let mut watched = RedisSentinels::start(1, 3, &certified.args(&[])).unwrap();
    let by = |ports: Vec<u16>, tls| {
        let listed = ports.into_iter().map(|port| ("127.0.0.1", port));
        let config = RedisConfig::sentinel(RedisSentinels::NAME, listed).unwrap();
        config.tls(tls).trust_empty_store(true)
    };
    let tls = TlsConfig::with_ca(ca.pem()).unwrap();
    let ours = store(by(watched.tls_ports(), tls.clone()));
    let token = granted(&ours, acquire(1, None)).await;
    call(&ours, release(1, token)).await.unwrap();

    let stranger = TlsConfig::with_ca(Authority::new().unwrap().pem()).unwrap();
    let (kind, shown) = refused(by(watched.tls_ports(), stranger)).await;
    assert_eq!(kind, StoreErrorKind::Tls, "{shown}");

    watched.server_mut(0).kill().unwrap();
    watched.replaced(0).unwrap();
    soon(async {
        while call(&ours, Request::Observe).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert!(granted_after_a_watch(&ours, acquire(2, Some(token))).await > token);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_of_a_cluster() {
    let ca = Authority::new().unwrap();
    let certified = Certified::new(&ca, "127.0.0.1", "no");
    let cluster = RedisCluster::start_with(3, 0, &certified.args(&["--tls-cluster", "yes"]));
    let cluster = cluster.unwrap();
    let by = |prefix: &str, tls| {
        let listed = cluster.tls_ports().into_iter().map(|port| ("127.0.0.1", port));
        let config = RedisConfig::cluster(listed).unwrap().prefix(prefix).unwrap();
        config.tls(tls).trust_empty_store(true)
    };
    let tls = TlsConfig::with_ca(ca.pem()).unwrap();
    // Among so many prefixes, each node keeps some.
    for number in 0..12 {
        granted(&store(by(&format!("app-{number}"), tls.clone())), acquire(1, None)).await;
    }
    let stranger = TlsConfig::with_ca(Authority::new().unwrap().pem()).unwrap();
    let (kind, shown) = refused(by("app", stranger)).await;
    assert_eq!(kind, StoreErrorKind::Tls, "{shown}");
}

/// A server, and how its clients know it.
pub(crate) fn encrypted() -> (Encrypted, TlsConfig) {
    let ca = Authority::new().unwrap();
    let server = Encrypted::start(&ca, "127.0.0.1", "no", &KEEPS);
    (server, TlsConfig::with_ca(ca.pem()).unwrap())
}

/// A server whose certificate has expired, and how its clients know it.
pub(crate) fn expired() -> (Encrypted, TlsConfig) {
    let ca = Authority::new().unwrap();
    let server = Encrypted::start(&ca, "127.0.0.1", "no", &[]);
    server.shows(&server.certified.certificate.expired);
    (server, TlsConfig::with_ca(ca.pem()).unwrap())
}

pub(crate) fn place() -> Place {
    let (server, tls) = encrypted();
    let connect = move |at: &Encrypted| store(local(at.port).tls(tls.clone()));
    Place::of(server, connect)
        .replaced(|at, data| replace(&mut at.server, data))
        .slowed(|at, is_slow| slow(&at.server, is_slow))
        .place()
}

/// fred supports none of these.
#[tokio::test]
async fn fred_refuses_settings_that_it_lacks() {
    let server = super::support::server();
    let tls = TlsConfig::with_ca(Authority::new().unwrap().pem()).unwrap();
    let at = ("127.0.0.1", server.port());
    for config in [
        local(server.port()).tls(tls),
        local(server.port()).replica_acks(1),
        RedisConfig::sentinel("main", [at]).unwrap(),
        RedisConfig::cluster([at]).unwrap(),
    ] {
        let fred = AnyStore::new(tenure::store::redis::Fred::new(config));
        let error = call(&fred, acquire(1, None)).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Refused);
        assert!(error.to_string().contains("fred is for one server, unencrypted"), "{error}");
    }
}
