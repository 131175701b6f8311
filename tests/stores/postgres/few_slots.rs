//! Roles with fewer connections than a process needs: one for requests, and one for wake-ups.

use std::time::Duration;

use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure_servers::PostgresServer;

use super::support::{Log, TTL, proxy, soon, start};

const WARNING: &str = "no second connection could be opened";
const BACK: &str = "wake-ups and messages arrive again";
/// Long enough for many attempts, if their pauses did not grow.
const WITHOUT: Duration = Duration::from_secs(20);
/// Pauses that double from 100 ms, of which half is taken on average, leave room for ten.
const ATTEMPTS: u64 = 14;

fn limited(connections: u32) -> PostgresServer {
    let server = super::support::server();
    server.sql(&format!("CREATE ROLE app LOGIN CONNECTION LIMIT {connections}")).unwrap();
    server.sql("CREATE DATABASE app OWNER app").unwrap();
    server
}

/// On one thread, which logs all of it.
#[tokio::test]
async fn a_process_without_wakeups_says_so_once() {
    let (server, log) = (limited(1), Log::default());
    let _logs = tracing::subscriber::set_default(log.clone());
    let proxy = proxy(&server).await;
    let config = PostgresConfig::new("127.0.0.1", proxy.port(), "app").trust_empty_store(true);
    let ttl = tenure::Config::builder(TTL).build().unwrap();
    let (candidate, _) = start(Postgres::new(config), "alone", ttl);
    let tenure = soon(candidate.elected()).await.unwrap();
    let before = proxy.connections();
    tokio::time::sleep(WITHOUT).await;
    let attempts = proxy.connections() - before;
    let text = log.text();
    assert_eq!(text.matches(WARNING).count(), 1, "{text}");
    let line = text.lines().find(|line| line.contains(WARNING)).unwrap();
    assert!(line.starts_with("WARN ") && line.contains("CONNECTION LIMIT"), "{line}");
    assert!((1..=ATTEMPTS).contains(&attempts), "{attempts} attempts in {WITHOUT:?}");
    assert!(tenure.is_current());

    server.sql("ALTER ROLE app CONNECTION LIMIT 2").unwrap();
    soon(async {
        while !log.text().contains(BACK) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    soon(candidate.stop()).await.unwrap();
}
