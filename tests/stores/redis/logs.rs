//! Servers' errors in the log: in one line, without control characters, and cut short.

use std::time::Duration;

use futures_util::StreamExt;
use tenure::store::{Store, Watched};

use super::fake::{Fake, HELLO};
use super::support::{Client, Log, SOON};

/// A refusal with a line of its own, colours, and far too much text.
fn refusal() -> String {
    let said = format!("NOPERM no\n2026-01-01 INFO elected: me \u{1b}[31m{}", "x".repeat(100_000));
    format!("!{}\r\n{said}\r\n", said.len())
}

async fn refused_subscriptions(client: Client) {
    let log = Log::default();
    // Everything runs on this thread, and so logs from it.
    let _logs = tracing::subscriber::set_default(log.clone());
    let server = Fake::start(Duration::ZERO, |words| match &*words[0] {
        "HELLO" => HELLO.to_owned(),
        "INFO" => "$22\r\nredis_version:7.0.15\r\n\r\n".to_owned(),
        "EVALSHA" | "SUBSCRIBE" | "PING" => refusal(),
        _ => "+OK\r\n".to_owned(),
    })
    .await;
    let store = client.at(server.port);
    let mut hints = Box::pin(store.hints(Watched::only([crate::stores::support::job()])));
    let refused = async {
        while !log.text().contains("a subscription was refused") {
            let patience = Duration::from_millis(50);
            let _ = tokio::time::timeout(patience, hints.next()).await;
        }
    };
    tokio::time::timeout(SOON, refused).await.unwrap_or_else(|_| panic!("{}", log.text()));
    let text = log.text();
    let line = text.lines().find(|line| line.contains("a subscription was refused")).unwrap();
    assert!(line.contains("NOPERM no\\n2026"), "{line}");
    assert!(line.len() < 1000, "{} bytes", line.len());
    assert!(!text.contains('\u{1b}'));
}

#[tokio::test]
async fn redis_rs_logs_are_tame() {
    refused_subscriptions(Client::RedisRs).await;
}

#[tokio::test]
async fn fred_logs_are_tame() {
    refused_subscriptions(Client::Fred).await;
}
