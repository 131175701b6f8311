//! `tenure notify`.

use std::time::Duration;

use futures_util::StreamExt as _;
use tenure::Candidate;
use tenure::store::redis::{Redis, RedisConfig};
use tenure_servers::RedisServer;

use super::hosts::Place;

#[tokio::test]
async fn a_message_reaches_the_leader() {
    let (place, server) = (Place::new(), RedisServer::start().unwrap());
    let notify = |store: &str, channel| {
        let arguments = ["notify", "job", channel, "three new", "--store", store];
        place.status(&arguments)
    };
    let url = server.url();
    assert_eq!(notify(&url, "orders"), 1, "no candidate leads");
    let config = RedisConfig::from_url(&url).unwrap().trust_empty_store(true);
    let candidate = Candidate::builder(Redis::new(config), "job").start().unwrap();
    let mut inbox = candidate.elected().await.unwrap().inbox();
    // An inbox is known to the store a moment after it was opened.
    let mut arrived = None;
    for _ in 0..300 {
        // A pause of the machine may outlast the request.
        let status = notify(&url, "orders");
        assert!(matches!(status, 0 | 69), "{status}");
        let next = tokio::time::timeout(Duration::from_millis(200), inbox.next());
        if let Ok(message) = next.await {
            arrived = message;
            break;
        }
    }
    let message = arrived.expect("a message");
    assert_eq!((message.channel(), &message.payload()[..]), ("orders", &b"three new"[..]));

    assert_eq!(notify(&url, ""), 64, "no channel");
    assert_eq!(notify("own", "orders"), 64, "a store without messages");
    assert_eq!(notify("redis://127.0.0.1:1", "orders"), 69, "no store");
}
