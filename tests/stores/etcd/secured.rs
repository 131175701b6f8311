//! Users, passwords and encryption.

use std::fs;

use tempfile::TempDir;
use tenure::store::etcd::{Etcd, EtcdConfig};
use tenure::store::{Credentials, Reply, Request, Secret, StoreErrorKind};
use tenure::tls::TlsConfig;
use tenure_servers::{Authority, Certificate, EtcdServer};

use super::support::{
    FAST, RENEWED, acquire, call, granted, held, is_expired, local, release, renew, server,
};

pub(crate) const PASSWORD: &str = "correct-horse";

/// A server with a user that may do everything below one prefix, and nothing else.
pub(crate) fn guarded() -> EtcdServer {
    let server = server();
    let user = |name: &str| format!(r#"{{"name":"{name}","password":"{PASSWORD}"}}"#);
    let grant = |name: &str, role: &str| format!(r#"{{"user":"{name}","role":"{role}"}}"#);
    // tenure/ up to tenure0, the slash's successor
    let below = r#"{"name":"elections","perm":{"permType":"READWRITE","key":"dGVudXJlLw==","range_end":"dGVudXJlMA=="}}"#;
    for (method, request) in [
        ("auth/user/add", &*user("root")),
        ("auth/role/add", r#"{"name":"root"}"#),
        ("auth/user/grant", &grant("root", "root")),
        ("auth/user/add", &user("worker")),
        ("auth/role/add", r#"{"name":"elections"}"#),
        ("auth/role/grant", below),
        ("auth/user/grant", &grant("worker", "elections")),
        ("auth/enable", "{}"),
    ] {
        server.api(method, request).unwrap();
    }
    server
}

fn by(config: EtcdConfig, user: &str, password: &str) -> Etcd {
    Etcd::new(
        config.credentials(Credentials::new(user, Secret::new(password))).trust_empty_store(true),
    )
}

/// A server, and a store that has another password than the server.
pub(crate) fn with_another_password() -> (EtcdServer, Etcd) {
    let server = guarded();
    let store = by(local(&[server.port()]), "worker", "mule");
    (server, store)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_of_one_prefix_takes_part() {
    let server = guarded();
    let store = by(local(&[server.port()]), "worker", PASSWORD);
    let token = granted(&store, acquire(1, None)).await;
    assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
    held(&store, acquire(2, None)).await;
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
    // Another prefix is not allowed.
    let elsewhere = by(local(&[server.port()]).prefix("other").unwrap(), "worker", PASSWORD);
    let error = call(&elsewhere, acquire(1, None)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Authentication);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_wrong_and_needless_passwords_are_refused() {
    let server = guarded();
    let wrong = by(local(&[server.port()]), "worker", "wrong-horse");
    let nobody = by(local(&[server.port()]), "nobody", PASSWORD);
    let open = super::support::server();
    let needless = by(local(&[open.port()]), "worker", PASSWORD);
    for store in [wrong, nobody, Etcd::new(local(&[server.port()])), needless] {
        for request in [acquire(1, None), Request::Observe] {
            let error = call(&store, request).await.unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Authentication, "{error}");
            let shown = format!("{error} {error:?} {store:?}");
            assert!(!shown.contains("horse"), "{shown}");
        }
    }
}

/// A folder with a server's certificate, its key, and the authority's certificate.
pub(crate) struct Files {
    folder: TempDir,
    authority: Authority,
    certificate: Certificate,
}

impl Files {
    fn new(names: &[&str]) -> Self {
        let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new().unwrap());
        let certificate = authority.certificate(names).unwrap();
        let new = Self { folder, authority, certificate };
        for (name, text) in [
            ("cert", &new.certificate.valid),
            ("key", &new.certificate.key),
            ("ca", &new.authority.pem()),
        ] {
            new.put(name, text);
        }
        new
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// At once: a server that reads the file finds the former text or this one.
    fn put(&self, name: &str, text: &str) {
        let new = self.path("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.path(name)).unwrap();
    }

    fn start(&self, more: &[&str]) -> EtcdServer {
        let (certificate, key) = (self.path("cert"), self.path("key"));
        let args = ["--cert-file", &certificate, "--key-file", &key];
        EtcdServer::start_with(&[&FAST[..], &args, more].concat()).unwrap()
    }

    fn trusted(&self) -> TlsConfig {
        TlsConfig::with_ca(self.authority.pem()).unwrap()
    }
}

/// A server whose certificate has expired, its files, and a store there.
pub(crate) async fn expired() -> (EtcdServer, Files, Etcd) {
    let files = Files::new(&["127.0.0.1"]);
    let server = files.start(&[]);
    // A member that answers has started to serve encrypted connections a moment later: it would
    // exit if it met another certificate in between.
    granted(&encrypted(&server, files.trusted()), acquire(1, None)).await;
    // The server reads its files at each handshake.
    files.put("cert", &files.certificate.expired);
    let store = encrypted(&server, files.trusted());
    (server, files, store)
}

fn encrypted(server: &EtcdServer, tls: TlsConfig) -> Etcd {
    Etcd::new(local(&[server.tls_port().unwrap()]).tls(tls).trust_empty_store(true))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_are_asked_for_and_checked() {
    let files = Files::new(&["127.0.0.1", "etcd.test"]);
    let server = files.start(&["--client-cert-auth", "--trusted-ca-file", &files.path("ca")]);
    let at = |tls| encrypted(&server, tls);
    let Certificate { valid, key, .. } = files.authority.certificate(&["worker"]).unwrap();
    let known = |tls: TlsConfig| tls.client_certificate(&valid, &key).unwrap();
    let good = at(known(files.trusted()));
    let token = granted(&good, acquire(1, None)).await;
    assert_eq!(call(&good, renew(1, token)).await.unwrap(), RENEWED);
    let named = at(known(files.trusted()).server_name("etcd.test").unwrap());
    held(&named, Request::Observe).await;
    let stranger = TlsConfig::with_ca(Authority::new().unwrap().pem()).unwrap();
    for bad in [known(stranger), known(files.trusted()).server_name("another.test").unwrap()] {
        let bad = at(bad);
        let error = call(&bad, Request::Observe).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Tls, "{error}");
        let shown = format!("{error} {error:?} {bad:?}");
        assert!(!shown.contains("PRIVATE KEY"), "{shown}");
    }
    for bad in [at(files.trusted()), Etcd::new(local(&[server.tls_port().unwrap()]))] {
        let error = call(&bad, Request::Observe).await.unwrap_err();
        let shown = format!("{error} {error:?} {bad:?}");
        assert!(!shown.contains("PRIVATE KEY"), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_certificate_is_named() {
    let (server, files, refuses) = expired().await;
    is_expired(&call(&refuses, Request::Observe).await.unwrap_err());
    files.put("cert", &files.certificate.valid);
    let store = encrypted(&server, files.trusted());
    held(&store, Request::Observe).await;
}
