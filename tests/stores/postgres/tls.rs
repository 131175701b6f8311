//! Encrypted connections to a server whose certificate the test has made.

use std::time::Duration;

use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure::store::{Credentials, Request, Secret, StoreErrorKind};
use tenure::tls::TlsConfig;
use tenure_servers::{Authority, Certificate, PostgresServer};

use super::support::{acquire, call, granted, is_expired, local};

/// A server with a certificate for that name, which refuses unencrypted clients.
fn encrypted(ca: &Authority, name: &str, rules: &str) -> PostgresServer {
    let server = super::support::server();
    let Certificate { valid, key, .. } = ca.certificate(&[name]).unwrap();
    server.put("ca.crt", &ca.pem()).unwrap();
    server.sql("ALTER SYSTEM SET ssl_ca_file = 'ca.crt'").unwrap();
    server.certify(&valid, &key).unwrap();
    server.sql("CREATE ROLE app LOGIN").unwrap();
    server.sql("CREATE DATABASE app OWNER app").unwrap();
    server.authenticate(rules).unwrap();
    server
}

fn app(server: &PostgresServer) -> PostgresConfig {
    app_at(server.port())
}

fn app_at(port: u16) -> PostgresConfig {
    PostgresConfig::new("127.0.0.1", port, "app")
        .trust_empty_store(true)
        .connect_timeout(Duration::from_secs(5))
}

/// A server that asks for a password, and stores at a port by which it can be reached. No other way
/// of connecting takes more round trips.
pub(crate) fn with_password() -> (PostgresServer, impl Fn(u16) -> Postgres) {
    let ca = Authority::new().unwrap();
    let server = encrypted(&ca, "127.0.0.1", "hostssl all all 127.0.0.1/32 scram-sha-256");
    server.sql("ALTER ROLE app PASSWORD 'horse'").unwrap();
    let tls = TlsConfig::with_ca(ca.pem()).unwrap();
    let store = move |port| {
        Postgres::new(
            app_at(port).tls(tls.clone()).credentials(Credentials::new("", Secret::new("horse"))),
        )
    };
    (server, store)
}

/// A server whose certificate has expired, and a store there.
pub(crate) fn expired() -> (PostgresServer, Postgres) {
    let ca = Authority::new().unwrap();
    let Certificate { expired, key, .. } = ca.certificate(&["127.0.0.1"]).unwrap();
    showing(&expired, &key, &ca.pem())
}

/// A server with that certificate, and a store that trusts that authority.
pub(crate) fn showing(certificate: &str, key: &str, trusted: &str) -> (PostgresServer, Postgres) {
    let others = Authority::new().unwrap();
    let server = encrypted(&others, "127.0.0.1", "hostssl all all 127.0.0.1/32 trust");
    server.certify(certificate, key).unwrap();
    let tls = TlsConfig::with_ca(trusted).unwrap();
    let store = Postgres::new(app(&server).tls(tls));
    (server, store)
}

async fn refused(config: PostgresConfig) -> (StoreErrorKind, String) {
    let error = call(&Postgres::new(config), Request::Observe).await.unwrap_err();
    (error.kind(), error.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_needs_certificate_and_name() {
    let ca = Authority::new().unwrap();
    let server = encrypted(&ca, "127.0.0.1", "hostssl all all 127.0.0.1/32 trust");
    let tls = TlsConfig::with_ca(ca.pem()).unwrap();
    let store = Postgres::new(app(&server).tls(tls.clone()));
    granted(&store, acquire(1, None)).await;
    let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
         WHERE application_name = 'tenure'";
    assert_eq!(server.sql(encrypted).unwrap(), "t");

    let folder = server.sql("SHOW data_directory").unwrap();
    let url = format!(
        "postgres://app@127.0.0.1:{}/app?sslmode=verify-full&sslrootcert={folder}/ca.crt",
        server.port()
    );
    let by_url = PostgresConfig::from_url(&url).unwrap().connect_timeout(Duration::from_secs(5));
    call(&Postgres::new(by_url), Request::Observe).await.unwrap();

    let (kind, _) = refused(app(&server)).await;
    assert_eq!(kind, StoreErrorKind::Authentication, "unencrypted");
    let stranger = TlsConfig::with_ca(Authority::new().unwrap().pem()).unwrap();
    let (kind, shown) = refused(app(&server).tls(stranger)).await;
    assert_eq!(kind, StoreErrorKind::Tls, "{shown}");
    let (kind, shown) = refused(app(&server).tls(tls.server_name("db.example.org").unwrap())).await;
    assert_eq!(kind, StoreErrorKind::Tls, "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_server_name_and_a_client_certificate() {
    let ca = Authority::new().unwrap();
    let rules = "hostssl all all 127.0.0.1/32 cert";
    let server = encrypted(&ca, "db.example.org", rules);
    let tls = TlsConfig::with_ca(ca.pem()).unwrap().server_name("db.example.org").unwrap();
    let (kind, shown) = refused(app(&server).tls(tls.clone())).await;
    assert_eq!(kind, StoreErrorKind::Authentication, "{shown}");
    let own = ca.certificate(&["app"]).unwrap();
    let ours = tls.clone().client_certificate(own.valid, own.key).unwrap();
    granted(&Postgres::new(app(&server).tls(ours)), acquire(1, None)).await;
    let own = Authority::new().unwrap().certificate(&["app"]).unwrap();
    let forged = tls.client_certificate(own.valid, own.key).unwrap();
    let (kind, shown) = refused(app(&server).tls(forged)).await;
    assert_eq!(kind, StoreErrorKind::Tls, "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_certificate_is_named() {
    let ca = Authority::new().unwrap();
    let server = encrypted(&ca, "127.0.0.1", "hostssl all all 127.0.0.1/32 trust");
    let tls = TlsConfig::with_ca(ca.pem()).unwrap();
    let Certificate { valid, expired, key } = ca.certificate(&["127.0.0.1"]).unwrap();
    let store = Postgres::new(app(&server).tls(tls));
    server.certify(&expired, &key).unwrap();
    is_expired(&call(&store, Request::Observe).await.unwrap_err());
    server.certify(&valid, &key).unwrap();
    granted(&store, acquire(1, None)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_encryption_is_refused() {
    let server = super::support::server();
    let tls = TlsConfig::with_ca(Authority::new().unwrap().pem()).unwrap();
    let (kind, shown) = refused(local(server.port()).tls(tls)).await;
    assert_eq!(kind, StoreErrorKind::Tls);
    assert!(shown.contains("does not offer it"), "{shown}");
}
