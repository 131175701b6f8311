//! A store that may have lost grants makes its next leaders wait. The conformance suite does not cover empty stores
//! that are trusted, and data that vanishes from a running server.

use std::time::Duration;

use tenure::store::{AnyStore, Reply};
use tenure_servers::RedisServer;

use super::support::{
    Client, HISTORY, RECORD, TTL, acquire, call, granted, local, release, server,
};

/// The longest that the requests of a test may take: a wait that is shorter by more is no whole quarantine.
const A_WHILE: Duration = Duration::from_secs(10);

fn whole(wait: Duration) -> bool {
    wait <= TTL && wait + A_WHILE > TTL
}

/// Lets the server have known the prefix for longer than the quarantine.
fn known_for_long(server: &RedisServer) {
    server.command(&["HSET", HISTORY, "known_since", "1"]).unwrap();
}

/// A lease granted and given back, at a server that has known the prefix for long.
async fn after_one_tenure(store: &AnyStore, server: &RedisServer) -> tenure::Token {
    let (token, _) = granted(store, acquire(1, None)).await;
    assert_eq!(call(store, release(1, token)).await.unwrap(), Reply::Released);
    known_for_long(server);
    token
}

over_both_clients! {
    async fn first_leaders_wait_unless_empty_stores_are_trusted(client: Client) {
        let server = server();
        let store = client.store(local(server.port()));
        let (token, wait) = granted(&store, acquire(1, None)).await;
        assert!(whole(wait), "{wait:?}");
        // The same prefix is not new any more, but has been known for too short a time.
        call(&store, release(1, token)).await.unwrap();
        let (_, wait) = granted(&client.at(server.port()), acquire(2, Some(token))).await;
        assert!(whole(wait), "{wait:?}");

        let other = local(server.port()).prefix("other").unwrap().trust_empty_store(true);
        let (_, wait) = granted(&client.store(other), acquire(1, None)).await;
        assert_eq!(wait, Duration::ZERO);
    }

    async fn trusting_empty_stores_still_notices_restarts(client: Client) {
        let mut server =
            RedisServer::start_with(&["--appendonly", "yes", "--appendfsync", "always"]).unwrap();
        let store = client.at(server.port());
        let last = after_one_tenure(&store, &server).await;
        let (token, wait) = granted(&store, acquire(2, Some(last))).await;
        assert_eq!(wait, Duration::ZERO);
        server.restart().unwrap();
        // The lease has survived; its holder waits all the same.
        let store = client.at(server.port());
        let (same, wait) = granted(&store, acquire(2, None)).await;
        assert_eq!(same, token);
        assert!(whole(wait), "{wait:?}");
    }

    async fn a_flush_is_noticed(client: Client) {
        let server = server();
        let distrustful = client.store(local(server.port()));
        let last = after_one_tenure(&distrustful, &server).await;
        server.command(&["FLUSHALL"]).unwrap();
        let (token, wait) = granted(&distrustful, acquire(2, None)).await;
        assert!(token > last && whole(wait), "{token} {wait:?}");
    }

    async fn a_higher_seen_token_proves_the_loss(client: Client) {
        let server = server();
        let trustful = client.at(server.port());
        let last = after_one_tenure(&trustful, &server).await;
        // One key alone is gone, so the history looks whole.
        server.command(&["DEL", RECORD]).unwrap();
        let known = tenure::Token::new(last.get() + 1_000_000_000).unwrap();
        let (token, wait) = granted(&trustful, acquire(2, Some(known))).await;
        assert!(token > known, "above what was known, though the wall clock is not there yet");
        assert!(whole(wait), "{wait:?}");
    }
}
