//! Real servers that are not what they should be: each says so by a typed error, grants nothing,
//! and a candidate still campaigns.

use std::time::Duration;

use tenure::store::redis::RedisConfig;
use tenure::store::{AnyStore, Credentials, Reply, Request, Secret, StoreErrorKind};
use tenure::{Config, Token};
use tenure_servers::{RedisServer, Reply as Raw};

use super::support::{
    Client, PAST, RECORD, RENEWED, TTL, acquire, all_requests, call, field, granted,
    granted_after_a_watch, held, local, release, renew, server, soon, start, store_error,
};

const PASSWORD: &str = "correct-horse";

/// Every request fails like that, and does not show the password.
async fn refuses(store: &AnyStore, requests: &[Request], kind: StoreErrorKind) {
    for request in requests {
        let error = call(store, request.clone()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{request:?}: {error}");
        let shown = format!("{error} {error:?} {store:?}");
        assert!(!shown.contains("horse"), "{shown}");
    }
}

/// The number of bytes that the server has sent to its clients.
fn sent(server: &RedisServer) -> usize {
    let Raw::BulkString(stats) = server.command(&["INFO", "stats"]).unwrap() else { panic!() };
    let stats = String::from_utf8(stats).unwrap();
    let sent = stats.lines().find_map(|line| line.strip_prefix("total_net_output_bytes:"));
    sent.unwrap().parse().unwrap()
}

/// A candidate at that store reports why it does not lead, and tries again.
async fn campaigns_on(store: AnyStore, kind: StoreErrorKind) {
    // With the quarantine of the requests that tests send by themselves: another contradicts their
    // record.
    let config = Config::builder(TTL).quarantine(TTL).build().unwrap();
    let (candidate, mut events) = start(store, "hopeful", config);
    let errors = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = std::sync::Arc::clone(&errors);
    candidate.on_store_error(move |_| {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    });
    let error = store_error(&mut events).await;
    assert_eq!(error.kind(), kind, "{error}");
    soon(async {
        while errors.load(std::sync::atomic::Ordering::SeqCst) < 4 {
            assert!(!candidate.is_leader());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    soon(candidate.stop()).await.unwrap();
}

fn with_password(port: u16, password: &str) -> RedisConfig {
    local(port).credentials(Credentials::new("", Secret::new(password)))
}

over_both_clients! {
    async fn something_else_at_the_record(client: Client) {
        let server = server();
        let store = client.at(server.port());
        server.command(&["SET", RECORD, "not ours"]).unwrap();
        refuses(&store, &all_requests(), StoreErrorKind::BadRecord).await;
        campaigns_on(store, StoreErrorKind::BadRecord).await;
        let Raw::BulkString(left) = server.command(&["GET", RECORD]).unwrap() else {
            panic!("GET answers with a string");
        };
        assert_eq!(left, b"not ours", "it was left alone");
    }

    async fn something_else_at_the_past(client: Client) {
        let server = server();
        let store = client.at(server.port());
        server.command(&["SET", PAST, "not ours"]).unwrap();
        refuses(&store, &all_requests()[..1], StoreErrorKind::BadRecord).await;
        campaigns_on(store, StoreErrorKind::BadRecord).await;
    }

    async fn damaged_records(client: Client) {
        let server = server();
        let store = client.at(server.port());
        for (damaged, value) in [
            ("token", "seven"),
            ("number", ""),
            ("ttl", "x"),
            ("token", ""),
            ("number", "-"),
            ("quarantine", "nan"),
            ("released", "2"),
            ("token", "-7"),
            // More than a number of Lua's holds, and more digits than any candidate writes.
            ("number", "9007199254740992"),
            ("ttl", "00000000000000001"),
        ] {
            server.command(&["DEL", RECORD]).unwrap();
            granted(&store, acquire(1, None)).await;
            server.command(&["HSET", RECORD, damaged, value]).unwrap();
            for request in [acquire(1, None), acquire(2, None), Request::Observe] {
                refuses(&store, &[request], StoreErrorKind::BadRecord).await;
            }
            let error = call(&store, Request::Observe).await.unwrap_err().to_string();
            assert!(error.contains(&format!("its field {damaged} ")), "{error}");
            assert!(error.ends_with(&format!("stop all candidates, and DEL {RECORD}")), "{error}");
        }
        // Half a record is no vacancy.
        for missing in ["token", "holder", "number", "released"] {
            server.command(&["DEL", RECORD]).unwrap();
            granted(&store, acquire(1, None)).await;
            server.command(&["HDEL", RECORD, missing]).unwrap();
            for request in [acquire(1, None), acquire(2, None), Request::Observe] {
                refuses(&store, &[request], StoreErrorKind::BadRecord).await;
            }
        }
    }

    async fn a_holder_that_no_candidate_wrote(client: Client) {
        let server = server();
        let store = client.at(server.port());
        granted(&store, acquire(1, None)).await;
        let requests = [acquire(2, None), Request::Observe];
        for holder in ["no-holder", &"x".repeat(32), &"f".repeat(1 << 20)] {
            server.command(&["HSET", RECORD, "holder", holder]).unwrap();
            refuses(&store, &requests, StoreErrorKind::BadRecord).await;
        }
        campaigns_on(store, StoreErrorKind::BadRecord).await;
    }

    /// Nothing is decided by them, so the election goes on without them.
    async fn profiles_that_no_candidate_wrote_are_not_shown(client: Client) {
        let server = server();
        let store = client.at(server.port());
        granted(&store, acquire(1, None)).await;
        for (field, most) in [("name", 128), ("metadata", 4096)] {
            for (length, is_shown) in [(most, true), (most + 1, false), (1 << 20, false)] {
                server.command(&["HSET", RECORD, field, &"x".repeat(length)]).unwrap();
                for request in [acquire(2, None), Request::Observe] {
                    let leader = held(&store, request).await;
                    let bytes = leader.name.len().max(leader.metadata.len());
                    assert_eq!(bytes, if is_shown { most } else { 0 }, "{field} of {length} bytes");
                }
            }
            server.command(&["HSET", RECORD, field, "short"]).unwrap();
        }
    }

    async fn long_metadata_is_never_sent(client: Client) {
        const BYTES: usize = 16 << 20;
        let server = server();
        let store = client.at(server.port());
        let token = granted(&store, acquire(1, None)).await;
        let grow = format!("return redis.call('HSET', KEYS[1], 'metadata', string.rep('x', {BYTES}))");
        server.command(&["EVAL", &grow, "1", RECORD]).unwrap();
        let before = sent(&server);
        held(&store, acquire(2, None)).await;
        held(&store, Request::Observe).await;
        let bytes = sent(&server) - before;
        assert!(bytes < BYTES / 8, "{bytes} bytes");
        // A new grant replaces it.
        assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
        granted(&store, acquire(2, Some(token))).await;
        assert_eq!(held(&store, Request::Observe).await.name, "worker-2");
    }

    async fn tokens_beyond_what_numbers_hold_are_not_granted(client: Client) {
        let server = server();
        let store = client.at(server.port());
        for token in ["9007199254740993", "1e300", "inf", "nan"] {
            server.command(&["DEL", RECORD]).unwrap();
            granted(&store, acquire(1, None)).await;
            server.command(&["HSET", RECORD, "token", token, "released", "1"]).unwrap();
            if let Ok(reply) = call(&store, acquire(2, None)).await {
                panic!("{token}: {reply:?}");
            }
        }
        // Nor is one granted above the last that they hold.
        let last = (1 << 53) - 1;
        server.command(&["HSET", RECORD, "token", &last.to_string()]).unwrap();
        let refused = [acquire(2, Token::new(last))];
        refuses(&store, &refused, StoreErrorKind::BadRecord).await;
        assert_eq!(field(&server, "token"), last.to_string(), "it is left alone");
    }

    async fn a_record_of_an_earlier_version(client: Client) {
        let server = server();
        let store = client.at(server.port());
        granted(&store, acquire(1, None)).await;
        server.command(&["HDEL", RECORD, "released"]).unwrap();
        server.command(&["HSET", RECORD, "lease_end", "1"]).unwrap();
        let error = call(&store, acquire(2, None)).await.unwrap_err();
        assert!(error.to_string().contains("an earlier version of tenure"), "{error}");
    }

    async fn a_password_that_is_missing_or_wrong(client: Client) {
        let server = RedisServer::start_with(&["--requirepass", PASSWORD]).unwrap();
        let kind = StoreErrorKind::Authentication;
        refuses(&client.at(server.port()), &all_requests(), kind).await;
        let wrong = || client.store(with_password(server.port(), "wrong-horse"));
        refuses(&wrong(), &all_requests(), kind).await;
        campaigns_on(wrong(), kind).await;
        let right = client.store(with_password(server.port(), PASSWORD));
        granted_after_a_watch(&right, acquire(1, None)).await;
        let shown = format!("{:?}", with_password(server.port(), PASSWORD));
        assert!(!shown.contains("horse"), "{shown}");
    }

    async fn passwords_of_any_characters(client: Client) {
        let server = server();
        for password in ["correct horse", "\"a'b\\", "x\r\nSET injected 1", "#päss\twörd\0"] {
            let set = format!(">{password}");
            let acl = ["ACL", "SETUSER", "app", "reset", "on", &set, "~*", "&*", "+@all"];
            let answer = server.command(&acl).unwrap();
            assert_eq!(answer, Raw::SimpleString("OK".into()), "{password:?}");
            let config = local(server.port()).credentials(Credentials::new("app", Secret::new(password)));
            call(&client.store(config), Request::Observe).await.unwrap();
            let answer = server.command(&["EXISTS", "injected"]).unwrap();
            assert_eq!(answer, Raw::Integer(0), "{password:?}");
        }
    }

    async fn a_user_that_may_not_run_scripts(client: Client) {
        let server = server();
        let acl = ["ACL", "SETUSER", "weak", "on", ">correct-horse", "~*", "&*", "+@all", "-evalsha"];
        server.command(&acl).unwrap();
        let config = local(server.port()).credentials(Credentials::new("weak", Secret::new(PASSWORD)));
        refuses(&client.store(config), &all_requests(), StoreErrorKind::Permission).await;
    }

    async fn a_server_that_may_evict_the_record(client: Client) {
        let server = RedisServer::start_with(&["--maxmemory-policy", "allkeys-lru"]).unwrap();
        let store = client.at(server.port());
        refuses(&store, &[acquire(1, None)], StoreErrorKind::Evicting).await;
        campaigns_on(store, StoreErrorKind::Evicting).await;
        for allowed in ["noeviction", "volatile-lru"] {
            server.command(&["CONFIG", "SET", "maxmemory-policy", allowed]).unwrap();
            server.command(&["DEL", RECORD]).unwrap();
            granted(&client.at(server.port()), acquire(1, None)).await;
        }
    }

    async fn a_replica(client: Client) {
        let primary = server();
        let port = primary.port().to_string();
        let replica = RedisServer::start_with(&["--replicaof", "127.0.0.1", &port]).unwrap();
        let store = client.at(replica.port());
        refuses(&store, &[acquire(1, None)], StoreErrorKind::NotPrimary).await;
        // Not even one that takes writes.
        replica.command(&["CONFIG", "SET", "replica-read-only", "no"]).unwrap();
        refuses(&store, &[acquire(1, None)], StoreErrorKind::NotPrimary).await;
        campaigns_on(store, StoreErrorKind::NotPrimary).await;
        granted(&client.at(primary.port()), acquire(1, None)).await;
    }

    async fn a_primary_that_has_lost_its_replicas(client: Client) {
        let server = RedisServer::start_with(&["--min-replicas-to-write", "1"]).unwrap();
        let store = client.at(server.port());
        refuses(&store, &[acquire(1, None)], StoreErrorKind::NotDurable).await;
        server.command(&["CONFIG", "SET", "min-replicas-to-write", "0"]).unwrap();
        let token = granted(&store, acquire(1, None)).await;
        server.command(&["CONFIG", "SET", "min-replicas-to-write", "1"]).unwrap();
        let requests = [acquire(1, None), renew(1, token), release(1, token)];
        refuses(&store, &requests, StoreErrorKind::NotDurable).await;
    }

    async fn a_server_that_cannot_write_to_disk(client: Client) {
        let server = RedisServer::start_with(&["--save", "3600", "1", "--dir", "/proc"]).unwrap();
        let store = client.at(server.port());
        let token = granted(&store, acquire(1, None)).await;
        server.command(&["BGSAVE"]).unwrap();
        soon(async {
            while server.command(&["SET", "other", "key"]).unwrap() == Raw::SimpleString("OK".into()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let requests = [acquire(1, None), renew(1, token), release(1, token)];
        refuses(&store, &requests, StoreErrorKind::NotDurable).await;
        server.command(&["CONFIG", "SET", "stop-writes-on-bgsave-error", "no"]).unwrap();
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
    }

    async fn a_server_out_of_memory(client: Client) {
        let server = RedisServer::start_with(&["--maxmemory", "1"]).unwrap();
        let store = client.at(server.port());
        refuses(&store, &[acquire(1, None)], StoreErrorKind::Full).await;
        let error = call(&store, acquire(1, None)).await.unwrap_err().to_string();
        assert!(error.contains("raise maxmemory"), "{error}");
        campaigns_on(store, StoreErrorKind::Full).await;
    }

    async fn leases_outlast_a_full_server(client: Client) {
        let server = server();
        let store = client.at(server.port());
        let token = granted(&store, acquire(1, None)).await;
        let before = field(&server, "written");
        server.command(&["CONFIG", "SET", "maxmemory", "1"]).unwrap();
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
        assert!(field(&server, "written") > before, "it was extended");
        // A script that the server forgot is loaded again.
        server.command(&["SCRIPT", "FLUSH"]).unwrap();
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
        held(&store, acquire(2, None)).await;
        held(&store, Request::Observe).await;
        assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
        refuses(&store, &[acquire(2, Some(token))], StoreErrorKind::Full).await;
        server.command(&["CONFIG", "SET", "maxmemory", "0"]).unwrap();
        granted(&store, acquire(2, Some(token))).await;
    }
}
