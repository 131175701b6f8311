//! Passwords, from a file and from the application.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use tenure::store::etcd::{Etcd, EtcdConfig};
use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure::store::redis::RedisConfig;
use tenure::store::{AnyStore, Credentials, CredentialsProvider, Provided, Secret, StoreErrorKind};
use tenure_servers::{EtcdServer, PostgresServer, RedisServer};

use super::{Files, Leader, proxy_before};
use crate::stores::redis::support::Client;
use crate::stores::{etcd, postgres, redis};

const FIRST: &str = "correct-horse";
const SECOND: &str = "battery-horse";

/// A store's source of the user `app` and its password.
enum Source<'a> {
    File(&'a Files),
    Provider(Answer),
}

/// A server whose user `app` has a password that can be changed.
trait Guarded {
    fn port(&self) -> u16;

    fn change(&self, password: &str);

    /// A store at that port of this machine.
    fn store(&self, port: u16, source: Source<'_>) -> AnyStore;
}

struct Redis(RedisServer, Client);

impl Redis {
    fn start(client: Client) -> Self {
        let server = redis::support::server();
        redis::access::let_in(&server, &redis::access::RIGHTS);
        Self(server, client)
    }
}

impl Guarded for Redis {
    fn port(&self) -> u16 {
        self.0.port()
    }

    fn change(&self, password: &str) {
        let password = format!(">{password}");
        self.0.command(&["ACL", "SETUSER", "app", "resetpass", &password]).unwrap();
    }

    fn store(&self, port: u16, source: Source<'_>) -> AnyStore {
        let config = match source {
            Source::File(files) => {
                let file = files.path("password");
                let url = format!("redis://app@127.0.0.1:{port}?password_file={}", file.display());
                RedisConfig::from_url(&url).unwrap()
            }
            Source::Provider(answer) => redis::support::local(port).credentials(answer),
        };
        self.1.store(config.trust_empty_store(true).connect_timeout(CONNECT))
    }
}

impl Guarded for PostgresServer {
    fn port(&self) -> u16 {
        self.port()
    }

    fn change(&self, password: &str) {
        self.sql(&format!("ALTER ROLE app PASSWORD '{password}'")).unwrap();
    }

    fn store(&self, port: u16, source: Source<'_>) -> AnyStore {
        let config = match source {
            Source::File(files) => {
                let file = files.path("password");
                let url =
                    format!("postgres://app@127.0.0.1:{port}/app?password_file={}", file.display());
                PostgresConfig::from_url(&url).unwrap()
            }
            Source::Provider(answer) => {
                PostgresConfig::new("127.0.0.1", port, "app").credentials(answer)
            }
        };
        let config = config.trust_empty_store(true).connect_timeout(CONNECT);
        AnyStore::new(Postgres::new(config))
    }
}

impl Guarded for EtcdServer {
    fn port(&self) -> u16 {
        self.port()
    }

    fn change(&self, password: &str) {
        let root = etcd::secured::PASSWORD;
        let request = format!(r#"{{"name":"worker","password":"{password}"}}"#);
        self.api_as(("root", root), "auth/user/changepw", &request).unwrap();
    }

    fn store(&self, port: u16, source: Source<'_>) -> AnyStore {
        let config = match source {
            Source::File(files) => {
                let file = files.path("password");
                let url = format!(
                    "etcd://worker@127.0.0.1:{port}?election_timeout_ms=200&password_file={}",
                    file.display()
                );
                EtcdConfig::from_url(&url).unwrap()
            }
            Source::Provider(answer) => etcd::support::local(&[port]).credentials(answer),
        };
        AnyStore::new(Etcd::new(config.trust_empty_store(true).connect_timeout(CONNECT)))
    }
}

/// A provider that hangs costs an attempt half of that.
const CONNECT: Duration = Duration::from_secs(3);

fn postgres_server() -> PostgresServer {
    let server = postgres::support::server();
    server.sql("CREATE ROLE app LOGIN").unwrap();
    server.sql("CREATE DATABASE app OWNER app").unwrap();
    server.authenticate("host all all 127.0.0.1/32 scram-sha-256").unwrap();
    server
}

async fn a_changed_file_is_read_again(server: impl Guarded) {
    let files = Files::new();
    server.change(FIRST);
    files.put("password", FIRST);
    let proxy = proxy_before(server.port()).await;
    let store = server.store(proxy.port(), Source::File(&files));
    let leader = Leader::elected(store, proxy).await;
    server.change(SECOND);
    leader.fails(StoreErrorKind::Authentication).await;
    files.put("password", &format!("{SECOND}\n"));
    leader.recovers().await;
    files.remove("password");
    let error = leader.fails(StoreErrorKind::NoCredentials).await;
    let path = files.path("password");
    assert!(error.contains(path.to_str().unwrap()) && error.contains("can't be read"), "{error}");
    files.put("password", SECOND);
    leader.recovers().await;
    leader.proxy.cut();
    leader.recovers().await;
    leader.stop().await;
}

/// The application's answer to the next question.
#[derive(Clone)]
struct Answer(Arc<Mutex<Kind>>);

#[derive(Clone)]
enum Kind {
    Gives(Credentials),
    Fails,
    Panics,
    Hangs,
}

impl Answer {
    fn set(&self, kind: Kind) {
        *self.0.lock().unwrap() = kind;
    }
}

impl CredentialsProvider for Answer {
    fn credentials(&self) -> futures_util::future::BoxFuture<'static, Provided> {
        let kind = self.0.lock().unwrap().clone();
        async move {
            match kind {
                Kind::Gives(credentials) => Ok(credentials),
                Kind::Fails => Err("the vault is sealed".into()),
                Kind::Panics => panic!("as a bad provider does"),
                Kind::Hangs => pending().await,
            }
        }
        .boxed()
    }
}

async fn a_provider_is_asked_for_each_connection(server: impl Guarded, user: &str) {
    let gives = |password| Kind::Gives(Credentials::new(user, Secret::new(password)));
    server.change(FIRST);
    let answer = Answer(Arc::new(Mutex::new(gives(FIRST))));
    let proxy = proxy_before(server.port()).await;
    let store = server.store(proxy.port(), Source::Provider(answer.clone()));
    let leader = Leader::elected(store, proxy).await;
    server.change(SECOND);
    answer.set(gives(SECOND));
    leader.proxy.cut();
    leader.recovers().await;
    for (kind, says) in [
        (Kind::Fails, "the provider of credentials has failed: the vault is sealed"),
        (Kind::Panics, "the provider of credentials has panicked"),
        (Kind::Hangs, "has not answered within 1.5s, half of the connect timeout"),
    ] {
        answer.set(kind);
        let error = leader.fails(StoreErrorKind::NoCredentials).await;
        assert!(error.contains(says), "{error}");
        answer.set(gives(SECOND));
        leader.recovers().await;
    }
    leader.stop().await;
}

macro_rules! at_every_server {
    ($($name:ident: $server:expr, $user:literal;)*) => {
        $(mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_changed_file_is_read_again() {
                super::a_changed_file_is_read_again($server).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_provider_is_asked_for_each_connection() {
                super::a_provider_is_asked_for_each_connection($server, $user).await;
            }
        })*
    };
}

at_every_server! {
    redis_rs: Redis::start(Client::RedisRs), "app";
    fred: Redis::start(Client::Fred), "app";
    postgresql: postgres_server(), "app";
    etcd_server: etcd::secured::guarded(), "worker";
}
