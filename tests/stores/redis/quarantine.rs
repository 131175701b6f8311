//! A store that may have lost grants makes its next leaders wait. The conformance suite does not cover empty stores
//! that are trusted, and data that vanishes from a running server.

use std::time::Duration;

use tenure::store::{AnyStore, Reply};
use tenure_servers::{RedisServer, Reply as Raw};

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

/// What an operator may do to a running server, and whether the next grant waits. Between the change and the way back, a
/// lease is granted that the server knows no more afterwards. As `docs/stores/redis.md` lists them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_by_hand_are_noticed_or_listed() {
    let (aside, kept) = ("{tenure}:history-aside", "{tenure}:leader-aside");
    let copy = |from, to| vec!["COPY", from, to, "REPLACE"];
    let restore = "for place = 1, 3, 2 do redis.call('RESTORE', KEYS[place], 0, \
                   redis.call('DUMP', KEYS[place + 1]), 'REPLACE') end return 'OK'";
    let restore = vec!["EVAL", restore, "4", HISTORY, aside, RECORD, kept];
    let copies = || vec![copy(HISTORY, aside), copy(RECORD, kept)];
    let swap = || vec![vec!["SWAPDB", "0", "1"]];
    let cases = [
        ("FLUSHDB", true, vec![vec!["FLUSHDB"]], vec![]),
        ("SWAPDB", true, swap(), vec![]),
        ("RENAME", true, vec![vec!["RENAME", HISTORY, aside]], vec![]),
        ("MOVE", true, vec![vec!["MOVE", HISTORY, "1"]], vec![]),
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
            vec![vec!["RENAME", HISTORY, aside], vec!["RENAME", RECORD, kept]],
            vec![vec!["RENAME", aside, HISTORY], vec!["RENAME", kept, RECORD]],
        ),
        ("COPY of earlier keys", false, copies(), vec![copy(aside, HISTORY), copy(kept, RECORD)]),
        ("RESTORE of earlier keys", false, copies(), vec![restore]),
        ("DEBUG RELOAD NOSAVE", false, vec![vec!["SAVE"]], vec![vec!["DEBUG", "RELOAD", "NOSAVE"]]),
    ];
    for (name, is_noticed, change, back) in cases {
        let server = RedisServer::start_with(&["--enable-debug-command", "yes"]).unwrap();
        let store = Client::RedisRs.store(local(server.port()));
        let token = after_one_tenure(&store, &server).await;
        let carried_out = |commands: Vec<Vec<&str>>| {
            for command in commands {
                let answer = server.command(&command).unwrap();
                assert!(!matches!(answer, Raw::Error(_)), "{command:?}: {answer:?}");
            }
        };
        carried_out(change);
        // A replica refuses it.
        let lost = call(&store, acquire(2, Some(token))).await;
        if let Ok(Reply::Granted { token, .. }) = lost {
            assert_eq!(call(&store, release(2, token)).await.unwrap(), Reply::Released);
        }
        carried_out(back);
        // The server shows the last token to a candidate that does not know it.
        let seen = match call(&store, acquire(3, Some(token))).await.unwrap() {
            Reply::Stale { last } => last,
            Reply::Granted { wait, .. } => {
                assert_eq!(whole(wait), is_noticed, "{name}: {wait:?}");
                continue;
            }
            other => panic!("{name}: {other:?}"),
        };
        let (_, wait) = granted(&store, acquire(3, Some(seen))).await;
        assert_eq!(whole(wait), is_noticed, "{name}: {wait:?}");
    }
}
