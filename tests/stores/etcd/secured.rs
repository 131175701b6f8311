//! Users, passwords and encryption.

use std::fs;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tenure::store::etcd::{Etcd, EtcdConfig, EtcdTls};
use tenure::store::{Reply, Request, Secret, StoreErrorKind};
use tenure_servers::EtcdServer;

use super::support::{FAST, acquire, call, granted, local, release, renew, server};

const PASSWORD: &str = "correct-horse";

/// A server with a user that may do everything below one prefix, and nothing else.
fn guarded() -> EtcdServer {
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
    Etcd::new(config.credentials(user, Secret::new(password)).trust_empty_store(true))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_of_one_prefix_takes_part() {
    let server = guarded();
    let store = by(local(&[server.port()]), "worker", PASSWORD);
    let (token, _) = granted(&store, acquire(1, None)).await;
    assert_eq!(call(&store, renew(1, token)).await.unwrap(), Reply::Renewed);
    assert!(matches!(call(&store, acquire(2, None)).await.unwrap(), Reply::Held(_)));
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_are_asked_for_and_checked() {
    let ca_of = |name: &str| {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    };
    let (ca, stranger) = (ca_of("ca"), ca_of("stranger"));
    let signed = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &ca).unwrap();
        (certificate.pem(), key.serialize_pem())
    };
    let (certificate, key) = signed(&["127.0.0.1", "etcd.test"]);
    let folder = std::env::temp_dir().join(format!("tenure-etcd-tls-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (cert_file, key_file) = (file("cert", &certificate), file("key", &key));
    let ca_file = file("ca", &ca.pem());
    let args = ["--cert-file", &cert_file, "--key-file", &key_file];
    let checks = ["--client-cert-auth", "--trusted-ca-file", &ca_file];
    let server = EtcdServer::start_with(&[&FAST[..], &args, &checks].concat()).unwrap();

    let at = |tls| Etcd::new(local(&[server.port()]).tls(tls).trust_empty_store(true));
    let (certificate, key) = signed(&["worker"]);
    let known = |ca: String| EtcdTls::new(ca).identity(&certificate, Secret::new(&key));
    let good = at(known(ca.pem()));
    let (token, _) = granted(&good, acquire(1, None)).await;
    assert_eq!(call(&good, renew(1, token)).await.unwrap(), Reply::Renewed);
    let named = at(known(ca.pem()).server_name("etcd.test"));
    assert!(matches!(call(&named, Request::Observe).await.unwrap(), Reply::Held(_)));
    for bad in [
        at(known(stranger.pem())),
        at(known(ca.pem()).server_name("another.test")),
        at(EtcdTls::new(ca.pem())),
        at(EtcdTls::new("no certificate")),
        Etcd::new(local(&[server.port()])),
    ] {
        let error = call(&bad, Request::Observe).await.unwrap_err();
        let shown = format!("{error} {error:?} {bad:?}");
        assert!(!shown.contains("PRIVATE KEY"), "{shown}");
    }
    // The server reads its files at each handshake.
    fs::remove_dir_all(&folder).unwrap();
}
