//! A store that may have lost grants grants nothing before its past was watched. The conformance
//! suite does not cover empty stores that are trusted, and data that vanishes from a running
//! server.

use tenure::Token;
use tenure::store::contract::Loss;
use tenure::store::{AnyStore, Reply, Request};
use tenure_servers::{RedisServer, Reply as Raw};

use super::support::{
    Client, PAST, RECORD, RENEWED, acquire, call, granted, granted_after_a_watch,
    granted_in_the_end, is_unwatched, local, look, release, renew, server, shown,
};

/// A lease granted and given back, at a server whose past was watched.
async fn after_one_tenure(store: &AnyStore) -> Token {
    let token = granted_in_the_end(store, acquire(1, None)).await;
    assert_eq!(call(store, release(1, token)).await.unwrap(), Reply::Released);
    token
}

over_both_clients! {
    async fn first_leaders_wait_unless_empty_stores_are_trusted(client: Client) {
        let server = server();
        let store = client.store(local(server.port()));
        assert!(is_unwatched(&store, acquire(1, None)).await);
        // The prefix is not new any more, and not watched either.
        let token = granted_after_a_watch(&client.at(server.port()), acquire(1, None)).await;
        // One candidate has watched it for all.
        call(&store, release(1, token)).await.unwrap();
        granted(&store, acquire(2, Some(token))).await;

        let other = local(server.port()).prefix("other").unwrap().trust_empty_store(true);
        granted(&client.store(other), acquire(1, None)).await;
    }

    async fn trusting_empty_stores_still_notices_restarts(client: Client) {
        let mut server =
            RedisServer::start_with(&["--appendonly", "yes", "--appendfsync", "always"]).unwrap();
        let token = granted(&client.at(server.port()), acquire(2, None)).await;
        server.restart().unwrap();
        // The lease has survived; its holder is granted it again after a watch alone.
        let same = granted_after_a_watch(&client.at(server.port()), acquire(2, None)).await;
        assert_eq!(same, token);
    }

    async fn a_flush_is_noticed(client: Client) {
        let server = server();
        let distrustful = client.store(local(server.port()));
        let last = after_one_tenure(&distrustful).await;
        server.command(&["FLUSHALL"]).unwrap();
        assert!(granted_after_a_watch(&distrustful, acquire(2, None)).await > last);
    }

    async fn a_higher_seen_token_proves_the_loss(client: Client) {
        let server = server();
        let trustful = client.at(server.port());
        let last = after_one_tenure(&trustful).await;
        // One key alone is gone, so the past looks whole.
        server.command(&["DEL", RECORD]).unwrap();
        let known = Token::new(last.get() + 1_000_000_000).unwrap();
        let token = granted_after_a_watch(&trustful, acquire(2, Some(known))).await;
        assert!(token > known, "above what was known, though the wall clock is not there yet");
    }

    /// Not even by one that has watched an earlier loss.
    async fn an_empty_server_is_not_trusted_where_a_grant_is_known(client: Client) {
        let server = server();
        let token = granted(&client.at(server.port()), acquire(1, None)).await;
        server.command(&["FLUSHALL"]).unwrap();
        let Request::Acquire { mut asks, profile } = acquire(2, Some(token)) else { panic!() };
        asks.lost = Some(Loss { last: None });
        let request = Request::Acquire { asks, profile };
        assert!(is_unwatched(&client.at(server.port()), request).await);
    }

    /// A leader leads on beside it, for its renewals need no past; the next one begins another.
    async fn a_past_is_deleted_beside_a_connection(client: Client) {
        let server = server();
        let store = client.store(local(server.port()));
        let token = granted_in_the_end(&store, acquire(1, None)).await;
        server.command(&["DEL", PAST]).unwrap();
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
        assert_eq!(shown(&store, look(None)).await.sight.past, None);
        assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
        assert!(granted_after_a_watch(&store, acquire(2, Some(token))).await > token);
    }

    /// Also not by who trusts a server that has none.
    async fn half_a_past_is_not_trusted(client: Client) {
        for missing in ["stamp", "identity"] {
            for is_cold in [false, true] {
                let server = server();
                let warm = client.at(server.port());
                let token = after_one_tenure(&warm).await;
                server.command(&["HDEL", PAST, missing]).unwrap();
                let store = if is_cold { client.at(server.port()) } else { warm };
                assert!(is_unwatched(&store, acquire(2, Some(token))).await, "{missing}, {is_cold}");
            }
        }
    }
}

/// An operator's changes to a running server, and whether the next candidate must watch. Between
/// the change and the way back, a lease is granted that the server knows no more afterwards. As
/// `docs/stores/redis.md` lists them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_by_hand_are_noticed_or_listed() {
    let (aside, kept) = ("{tenure}:past-aside", "{tenure}:leader-aside");
    let copy = |from, to| vec!["COPY", from, to, "REPLACE"];
    let restore = "for place = 1, 3, 2 do redis.call('RESTORE', KEYS[place], 0, \
                   redis.call('DUMP', KEYS[place + 1]), 'REPLACE') end return 'OK'";
    let restore = vec!["EVAL", restore, "4", PAST, aside, RECORD, kept];
    let copies = || vec![copy(PAST, aside), copy(RECORD, kept)];
    let swap = || vec![vec!["SWAPDB", "0", "1"]];
    let cases = [
        ("FLUSHDB", true, vec![vec!["FLUSHDB"]], vec![]),
        ("SWAPDB", true, swap(), vec![]),
        ("RENAME", true, vec![vec!["RENAME", PAST, aside]], vec![]),
        ("MOVE", true, vec![vec!["MOVE", PAST, "1"]], vec![]),
        (
            "REPLICAOF",
            true,
            vec![vec!["REPLICAOF", "127.0.0.1", "1"]],
            vec![vec!["REPLICAOF", "NO", "ONE"]],
        ),
        ("SWAPDB and back", false, swap(), swap()),
        (
            "RENAME and back",
            false,
            vec![vec!["RENAME", PAST, aside], vec!["RENAME", RECORD, kept]],
            vec![vec!["RENAME", aside, PAST], vec!["RENAME", kept, RECORD]],
        ),
        ("COPY of earlier keys", false, copies(), vec![copy(aside, PAST), copy(kept, RECORD)]),
        ("RESTORE of earlier keys", false, copies(), vec![restore]),
        ("DEBUG RELOAD NOSAVE", false, vec![vec!["SAVE"]], vec![vec!["DEBUG", "RELOAD", "NOSAVE"]]),
    ];
    for (name, is_noticed, change, back) in cases {
        let server = RedisServer::start_with(&["--enable-debug-command", "yes"]).unwrap();
        let store = Client::RedisRs.store(local(server.port()));
        let token = after_one_tenure(&store).await;
        let carried_out = |commands: Vec<Vec<&str>>| {
            for command in commands {
                let answer = server.command(&command).unwrap();
                assert!(!matches!(answer, Raw::Error(_)), "{command:?}: {answer:?}");
            }
        };
        carried_out(change);
        if !back.is_empty() {
            // A replica refuses it.
            let request = acquire(2, Some(token));
            if call(&store, request.clone()).await.is_ok() {
                let lost = granted_in_the_end(&store, request).await;
                assert_eq!(call(&store, release(2, lost)).await.unwrap(), Reply::Released);
            }
            carried_out(back);
        }
        assert_eq!(is_unwatched(&store, acquire(3, Some(token))).await, is_noticed, "{name}");
    }
}
