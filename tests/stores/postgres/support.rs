//! Servers, sessions, and stores.

use std::time::Duration;

use tenure::runtime::{self, Runtime, TokioRuntime};
use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure::{Candidate, Config};
use tenure_servers::{PostgresServer, Proxy};
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::{Client, Connection, NoTls};

pub(crate) use crate::stores::support::*;

pub(crate) fn server() -> PostgresServer {
    PostgresServer::start().expect("a PostgreSQL server")
}

pub(crate) async fn proxy(server: &PostgresServer) -> Proxy {
    Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap()
}

/// The superuser at that port of this machine.
pub(crate) fn local(port: u16) -> PostgresConfig {
    PostgresConfig::new("127.0.0.1", port, "postgres")
}

/// A store at that port, which trusts an empty server.
pub(crate) fn at(port: u16) -> Postgres {
    Postgres::new(local(port).trust_empty_store(true))
}

/// A candidate in the election of all tests.
pub(crate) fn candidate(port: u16, name: &str, config: Config) -> Candidate {
    start(at(port), name, config).0
}

/// A connection of the test's own, as the superuser, for several statements in one session.
pub(crate) async fn client(port: u16) -> Client {
    client_of(port, "postgres").await
}

/// The same in another database.
pub(crate) async fn client_of(port: u16, database: &str) -> Client {
    let (client, connection) = session_of(port, database).await;
    tokio::spawn(async move { drop(connection.await) });
    client
}

/// The same, whose caller has to carry the connection.
pub(crate) async fn session(port: u16) -> (Client, Connection<runtime::Connection, NoTlsStream>) {
    session_of(port, "postgres").await
}

async fn session_of(
    port: u16,
    database: &str,
) -> (Client, Connection<runtime::Connection, NoTlsStream>) {
    let stream = TokioRuntime.connect("127.0.0.1", port).await.unwrap();
    let mut settings = tokio_postgres::Config::new();
    settings.user("postgres").dbname(database).application_name("test");
    settings.connect_raw(stream, NoTls).await.unwrap()
}

/// Ends all sessions of stores, as an administrator does.
pub(crate) fn terminate_all(server: &PostgresServer) {
    let sql =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tenure'";
    server.sql(sql).unwrap();
}

/// Waits until that many sessions of the store are in such a state, as `pg_stat_activity` has it.
pub(crate) async fn sessions(server: &PostgresServer, state: &str, wanted: usize) {
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tenure' AND {state}"
    );
    soon(async {
        while server.sql(&sql).unwrap() != wanted.to_string() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}
