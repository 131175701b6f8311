//! Certificates: the authority that clients trust, and their own.

use tenure::store::etcd::{Etcd, EtcdConfig};
use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure::store::redis::{Redis, RedisConfig};
use tenure::store::{AnyStore, StoreErrorKind};
use tenure_servers::{Authority, Certificate, EtcdServer, PostgresServer, RedisServer};

use super::{Files, Leader, proxy_before};
use crate::stores::etcd::support::FAST;

/// A server that asks its clients for a certificate.
trait Certified {
    fn port(&self) -> u16;

    /// It shows that certificate from now on.
    fn shows(&self, certificate: &Certificate);

    /// A store at that port of this machine, with the client's files `ca`, `cert` and `key`.
    fn store(&self, port: u16, files: &Files) -> AnyStore;
}

fn put(files: &Files, certificate: &Certificate) {
    files.put("cert", &certificate.valid);
    files.put("key", &certificate.key);
}

/// The authority that signs servers' certificates is replaced, and the client's certificate.
async fn replaced_certificates_are_read_again<S: Certified>(start: impl Fn(&Files) -> S) {
    let (of_server, ours) = (Files::new(), Files::new());
    let [old, new, clients] = [(); 3].map(|()| Authority::new().unwrap());
    put(&of_server, &old.certificate(&["127.0.0.1"]).unwrap());
    of_server.put("ca", &clients.pem());
    ours.put("ca", &old.pem());
    put(&ours, &clients.certificate(&["app"]).unwrap());
    let server = start(&of_server);
    let proxy = proxy_before(server.port()).await;
    let store = server.store(proxy.port(), &ours);
    let leader = Leader::elected(store, proxy).await;

    server.shows(&new.certificate(&["127.0.0.1"]).unwrap());
    leader.fails(StoreErrorKind::Tls).await;
    ours.put("ca", &new.pem());
    leader.recovers().await;

    // Half of a replacement: a key that belongs to another certificate.
    let next = clients.certificate(&["app"]).unwrap();
    ours.put("key", &next.key);
    let error = leader.fails(StoreErrorKind::Tls).await;
    assert!(error.contains(ours.path("key").to_str().unwrap()), "{error}");
    ours.put("cert", &next.valid);
    leader.recovers().await;

    ours.remove("ca");
    let error = leader.fails(StoreErrorKind::Tls).await;
    assert!(error.contains(ours.path("ca").to_str().unwrap()), "{error}");
    ours.put("ca", &new.pem());
    leader.recovers().await;
    leader.stop().await;
}

/// Parameters of a URL for these files.
fn parameters(files: &Files, names: [&str; 3]) -> String {
    let of = names.into_iter().zip(["ca", "cert", "key"]);
    let all = of.map(|(name, file)| format!("{name}={}", files.path(file).display()));
    all.collect::<Vec<_>>().join("&")
}

struct EncryptedRedis {
    server: RedisServer,
    cert: String,
    key: String,
}

impl EncryptedRedis {
    fn start(files: &Files) -> Self {
        let [cert, key, ca] =
            ["cert", "key", "ca"].map(|name| files.path(name).to_str().unwrap().to_owned());
        let args = ["--tls-cert-file", &cert, "--tls-key-file", &key, "--tls-ca-cert-file", &ca];
        let server = RedisServer::start_with(&args).unwrap();
        Self { server, cert, key }
    }
}

impl Certified for EncryptedRedis {
    fn port(&self) -> u16 {
        self.server.tls_port().unwrap()
    }

    fn shows(&self, certificate: &Certificate) {
        std::fs::write(&self.cert, &certificate.valid).unwrap();
        std::fs::write(&self.key, &certificate.key).unwrap();
        let command = ["CONFIG", "SET", "tls-cert-file", &self.cert, "tls-key-file", &self.key];
        self.server.command(&command).unwrap();
    }

    fn store(&self, port: u16, files: &Files) -> AnyStore {
        let files = parameters(files, ["ca", "cert", "key"]);
        let config = RedisConfig::from_url(&format!("rediss://127.0.0.1:{port}?{files}")).unwrap();
        AnyStore::new(Redis::new(config.trust_empty_store(true)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_replaced_certificates_are_read_again() {
    replaced_certificates_are_read_again(EncryptedRedis::start).await;
}

fn encrypted_postgres(files: &Files) -> PostgresServer {
    let read = |name| std::fs::read_to_string(files.path(name)).unwrap();
    let server = crate::stores::postgres::support::server();
    server.put("ca.crt", &read("ca")).unwrap();
    server.sql("ALTER SYSTEM SET ssl_ca_file = 'ca.crt'").unwrap();
    server.certify(&read("cert"), &read("key")).unwrap();
    server.sql("CREATE ROLE app LOGIN").unwrap();
    server.sql("CREATE DATABASE app OWNER app").unwrap();
    server.authenticate("hostssl all all 127.0.0.1/32 cert").unwrap();
    server
}

impl Certified for PostgresServer {
    fn port(&self) -> u16 {
        self.port()
    }

    fn shows(&self, certificate: &Certificate) {
        self.certify(&certificate.valid, &certificate.key).unwrap();
    }

    fn store(&self, port: u16, files: &Files) -> AnyStore {
        let files = parameters(files, ["sslrootcert", "sslcert", "sslkey"]);
        let url = format!("postgres://app@127.0.0.1:{port}?{files}");
        let config = PostgresConfig::from_url(&url).unwrap();
        AnyStore::new(Postgres::new(config.trust_empty_store(true)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_replaced_certificates_are_read_again() {
    replaced_certificates_are_read_again(encrypted_postgres).await;
}

struct EncryptedEtcd {
    server: EtcdServer,
    cert: String,
    key: String,
}

impl EncryptedEtcd {
    fn start(files: &Files) -> Self {
        let [cert, key, ca] =
            ["cert", "key", "ca"].map(|name| files.path(name).to_str().unwrap().to_owned());
        let args = ["--cert-file", &cert, "--key-file", &key, "--trusted-ca-file", &ca];
        let args = [&FAST[..], &args, &["--client-cert-auth"]].concat();
        Self { server: EtcdServer::start_with(&args).unwrap(), cert, key }
    }
}

impl Certified for EncryptedEtcd {
    fn port(&self) -> u16 {
        self.server.tls_port().unwrap()
    }

    /// The server reads its files at each handshake.
    fn shows(&self, certificate: &Certificate) {
        std::fs::write(&self.cert, &certificate.valid).unwrap();
        std::fs::write(&self.key, &certificate.key).unwrap();
    }

    fn store(&self, port: u16, files: &Files) -> AnyStore {
        let files = parameters(files, ["ca", "cert", "key"]);
        let url = format!("etcds://127.0.0.1:{port}?election_timeout_ms=200&{files}");
        let config = EtcdConfig::from_url(&url).unwrap();
        AnyStore::new(Etcd::new(config.trust_empty_store(true)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn etcd_replaced_certificates_are_read_again() {
    replaced_certificates_are_read_again(EncryptedEtcd::start).await;
}
