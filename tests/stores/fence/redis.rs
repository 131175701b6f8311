//! At a Redis server, with redis-rs and as plain EVAL.

use redis::aio::MultiplexedConnection;
use tenure::fence::FenceError;
use tenure::fence::redis::{Fence, PRELUDE, TAKE_OVER, TakenOver};
use tenure::store::Key;
use tenure_servers::{RedisServer, Reply};

use super::{NEW, OLD, token};
use crate::stores::redis::support::server;
use crate::stores::support::{job, soon};

const NEXT: &str = "{job}:next";

fn fence() -> Fence {
    Fence::new(&job())
}

async fn connected(server: &RedisServer) -> MultiplexedConnection {
    let client = redis::Client::open(server.url()).unwrap();
    client.get_multiplexed_async_connection().await.unwrap()
}

async fn takes_over(connection: &mut MultiplexedConnection, number: u64) -> TakenOver {
    soon(fence().take_over(connection, token(number))).await.unwrap()
}

#[tokio::test]
async fn only_the_stored_token_may_write() {
    let server = server();
    let mut connection = connected(&server).await;
    let old = takes_over(&mut connection, OLD).await;
    assert_eq!(old.get(&mut connection, NEXT).await.unwrap(), None);
    old.set(&mut connection, NEXT, b"1").await.unwrap();
    // The old leader is paused here, and another one leads.
    let new = takes_over(&mut connection, NEW).await;
    let late = old.set(&mut connection, NEXT, b"2").await.unwrap_err();
    assert!(matches!(late, FenceError::Superseded { stored, .. } if stored == token(NEW)));
    let late = old.delete(&mut connection, NEXT).await.unwrap_err();
    assert!(matches!(late, FenceError::Superseded { .. }), "{late:?}");
    let late = old.get(&mut connection, NEXT).await.unwrap_err();
    assert!(matches!(late, FenceError::Superseded { .. }), "{late:?}");
    assert_eq!(new.get(&mut connection, NEXT).await.unwrap(), Some(b"1".to_vec()));
    assert!(new.delete(&mut connection, NEXT).await.unwrap());
    assert!(!new.delete(&mut connection, NEXT).await.unwrap());
    let error = fence().take_over(&mut connection, token(OLD)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the fence \"tenure:fence:{job}\" holds token 8, which is above this tenure's token 7: a newer tenure \
         has taken the resource over"
    );
}

#[tokio::test]
async fn a_replica_is_not_taken_over() {
    let server = server();
    let mut connection = connected(&server).await;
    let taken = takes_over(&mut connection, OLD).await;
    let mut follow = redis::cmd("REPLICAOF");
    follow.arg("127.0.0.1").arg(1);
    let () = follow.query_async(&mut connection).await.unwrap();
    let refused = fence().take_over(&mut connection, token(OLD)).await.unwrap_err();
    assert!(refused.to_string().contains("primary"), "{refused}");
    let refused = taken.set(&mut connection, NEXT, b"1").await.unwrap_err();
    assert!(refused.to_string().contains("primary"), "{refused}");
}

/// A refused script undoes nothing else of its transaction.
#[tokio::test]
async fn a_transaction_guards_only_its_fenced_scripts() {
    let server = server();
    let mut connection = connected(&server).await;
    let _ = takes_over(&mut connection, NEW).await;
    let script = format!("{PRELUDE}return redis.call('SET', KEYS[1], ARGV[1])");
    let mut transaction = redis::pipe();
    transaction.atomic();
    transaction.cmd("EVAL").arg(script).arg(2).arg(fence().key()).arg(NEXT).arg(OLD).arg("1");
    transaction.set("{job}:unfenced", 1);
    let refused = transaction.query_async::<()>(&mut connection).await.unwrap_err();
    assert!(refused.to_string().contains("FENCED"), "{refused}");
    let exists = |key| redis::cmd("EXISTS").arg(key).to_owned();
    let fenced: i64 = exists(NEXT).query_async(&mut connection).await.unwrap();
    let unfenced: i64 = exists("{job}:unfenced").query_async(&mut connection).await.unwrap();
    assert_eq!((fenced, unfenced), (0, 1));
}

#[tokio::test]
async fn a_script_finds_its_own_keys_and_arguments() {
    let server = server();
    let mut connection = connected(&server).await;
    let taken = takes_over(&mut connection, OLD).await;
    let script = "return {#KEYS, KEYS[1], KEYS[2], #ARGV, ARGV[1]}";
    let seen: (i64, String, String, i64, String) =
        taken.eval(&mut connection, script, &["{job}:a", "{job}:b"], &[b"x"]).await.unwrap();
    assert_eq!(seen, (2, "{job}:a".into(), "{job}:b".into(), 1, "x".into()));
    let fails = "\nreturn redis.error_reply('OOPS 9')";
    let error = taken.eval::<()>(&mut connection, fails, &[], &[]).await.unwrap_err();
    assert!(matches!(error, FenceError::Unknown { .. }), "{error:?}");
    // An error names the line of the script.
    let typo = "local a = 1\nlocal b = nothing.at_all";
    let error = taken.eval::<()>(&mut connection, typo, &[], &[]).await.unwrap_err();
    let FenceError::Unknown { source, .. } = error else { panic!("{error:?}") };
    assert!(source.to_string().contains(":2:"), "{source}");
}

#[tokio::test]
async fn tokens_are_compared_exactly() {
    let server = server();
    let mut connection = connected(&server).await;
    // Doubles, which Lua counts in, can't tell these apart.
    let pairs = [(9, 10), ((1 << 53) + 1, (1 << 53) + 2), (u64::MAX - 1, u64::MAX)];
    for (lower, higher) in pairs {
        let _ = takes_over(&mut connection, lower).await;
        let _ = takes_over(&mut connection, higher).await;
        let _ = takes_over(&mut connection, higher).await;
        let refused = fence().take_over(&mut connection, token(lower)).await.unwrap_err();
        assert!(matches!(refused, FenceError::Superseded { .. }), "{refused:?}");
    }
}

#[tokio::test]
async fn a_lost_fence_refuses_writes_until_takeover() {
    let server = server();
    let mut connection = connected(&server).await;
    let taken = takes_over(&mut connection, NEW).await;
    for (command, holds) in [
        (vec!["DEL", "tenure:fence:{job}"], "no token"),
        (vec!["SET", "tenure:fence:{job}", "5"], "token 5"),
    ] {
        server.command(&command).unwrap();
        let error = taken.set(&mut connection, NEXT, b"1").await.unwrap_err();
        assert!(matches!(error, FenceError::Lost { .. }), "{error:?}");
        assert!(error.to_string().contains(&format!("holds {holds}, not")), "{error}");
    }
    let taken = takes_over(&mut connection, NEW).await;
    taken.set(&mut connection, NEXT, b"1").await.unwrap();
    // A value that is no token is not overwritten.
    for value in ["", "0", "08", "-1", "seven"] {
        server.command(&["SET", "tenure:fence:{job}", value]).unwrap();
        let error = fence().take_over(&mut connection, token(NEW)).await.unwrap_err();
        assert!(matches!(error, FenceError::Unknown { .. }), "{value:?}: {error:?}");
        let error = taken.set(&mut connection, NEXT, b"2").await.unwrap_err();
        assert!(matches!(error, FenceError::Lost { .. }), "{value:?}: {error:?}");
    }
}

#[tokio::test]
async fn any_client_can_send_the_texts() {
    let server = server();
    let key = fence().key().to_owned();
    let takes_over = |token| server.command(&["EVAL", TAKE_OVER, "1", &key, token]).unwrap();
    let script = format!("{PRELUDE}return redis.call('INCR', KEYS[1])");
    let writes = |token| server.command(&["EVAL", &script, "2", &key, NEXT, token]).unwrap();
    let text = |text: &str| Reply::BulkString(text.as_bytes().to_vec());
    assert_eq!(takes_over("7"), text("7"));
    assert_eq!(writes("7"), Reply::Integer(1));
    assert_eq!(takes_over("8"), text("8"));
    assert_eq!(takes_over("7"), text("8"));
    let refused = writes("7");
    assert!(
        matches!(&refused, Reply::Error(error) if error.starts_with("FENCED 8")),
        "{refused:?}"
    );
    // Not even a newer tenure writes before it has taken over.
    let refused = writes("9");
    assert!(
        matches!(&refused, Reply::Error(error) if error.starts_with("FENCED 8")),
        "{refused:?}"
    );
    assert_eq!(writes("8"), Reply::Integer(2));
}

#[tokio::test]
async fn a_user_needs_few_rights() {
    let server = server();
    let rights = ["~tenure:fence:*", "~{job}:*", "+eval", "+get", "+set", "+del"];
    let user = ["ACL", "SETUSER", "worker", "reset", "on", ">correct-horse"];
    server.command(&[&user[..], &rights].concat()).unwrap();
    let url = format!("redis://worker:correct-horse@127.0.0.1:{}", server.port());
    let client = redis::Client::open(url).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let taken = takes_over(&mut connection, OLD).await;
    taken.set(&mut connection, NEXT, b"1").await.unwrap();
    assert!(taken.delete(&mut connection, NEXT).await.unwrap());
    taken.set(&mut connection, "elsewhere", b"1").await.unwrap_err();
}

#[tokio::test]
async fn the_fence_shares_a_slot_with_its_keys() {
    let server = RedisServer::start_with(&["--cluster-enabled", "yes"]).unwrap();
    let slot = |key: &str| server.command(&["CLUSTER", "KEYSLOT", key]).unwrap();
    assert_eq!(slot(fence().key()), slot(NEXT));
    assert_ne!(slot(fence().key()), slot("next"));
}

/// Otherwise its outcome would be unknown for ever.
#[tokio::test]
async fn a_key_in_another_slot_is_refused() {
    let server = RedisServer::start_with(&["--cluster-enabled", "yes"]).unwrap();
    server.command(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]).unwrap();
    let mut connection = connected(&server).await;
    // The first braces of the second name are empty, so that the whole key counts.
    for name in ["job", "}job"] {
        let fence = Fence::new(&Key::new(name).unwrap());
        let taken = soon(async {
            loop {
                // The cluster needs some time.
                if let Ok(taken) = fence.take_over(&mut connection, token(OLD)).await {
                    return taken;
                }
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        })
        .await;
        let next = if name == "job" { "next" } else { "{}job}:next" };
        let error = taken.set(&mut connection, next, b"1").await.unwrap_err();
        assert!(matches!(error, FenceError::Misused { .. }), "{error:?}");
        assert!(error.to_string().contains("Fence::at"), "{error}");
    }
}
