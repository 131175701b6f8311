//! Servers' errors in the log: in one line, without control characters, and cut short.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use tenure::store::{Store, Watched};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::fake::{Fake, HELLO};
use super::support::{Client, SOON};

/// Keeps every event of this crate, as a log would show it.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Log {
    fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("tenure")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        writeln!(self.0.lock().unwrap(), "{}", line.0).unwrap();
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

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
    let mut hints = Box::pin(store.hints(Watched::only([crate::support::job()])));
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
