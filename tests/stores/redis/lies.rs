//! Ports behind which there is no Redis: closed ones, and servers that hang up, answer nonsense or
//! are silent.

use std::time::{Duration, Instant};

use tenure::Config;
use tenure::store::redis::RedisConfig;
use tenure::store::{AnyStore, Credentials, Key, Reply, Secret, Store, StoreErrorKind};
use tenure_servers::Reply as Raw;
use tokio::net::TcpListener;

use super::access::{RIGHTS, as_app, let_in};
use super::fake::{Fake, HELLO, Relay};
use super::support::{
    Client, RECORD, RENEWED, TTL, acquire, all_requests, call, granted, held, local,
    port_that_answers, release, renew, server, soon, start, store_error, unused_port,
};

const PATIENCE: Duration = Duration::from_secs(10);

/// With a password that no error may show.
fn config(port: u16) -> RedisConfig {
    local(port)
        .credentials(Credentials::new("", Secret::new("correct-horse")))
        .connect_timeout(PATIENCE / 2)
}

fn store(client: Client, port: u16) -> AnyStore {
    client.store(config(port))
}

/// The kind of a request's error; none if its caller lost patience before.
async fn outcome(store: &AnyStore) -> Option<StoreErrorKind> {
    let key = Key::new("job").unwrap();
    let reply = tokio::time::timeout(PATIENCE, store.call(&key, acquire(1, None))).await.ok()?;
    let error = reply.expect_err("nothing is granted");
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("horse"), "{shown}");
    Some(error.kind())
}

async fn campaigns_on(store: AnyStore, kinds: &[StoreErrorKind]) {
    let config = Config::builder(TTL).build().unwrap();
    let (candidate, mut events) = start(store, "hopeful", config);
    let error = store_error(&mut events).await;
    assert!(kinds.contains(&error.kind()), "{:?}: {error}", error.kind());
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(300) {
        assert!(!candidate.is_leader());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    soon(candidate.stop()).await.unwrap();
}

/// Answers of servers that do not speak the protocol.
const NONSENSE: [&[u8]; 7] = [
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    b"\0\xff\x80garbage\r\n\r\n",
    b"+OK\r\n",
    b":1\r\n",
    b"$-7\r\n",
    b"*1000000000\r\n",
    b"-ERR I am a teapot\r\n",
];

over_both_clients! {
    async fn a_closed_port(client: Client) {
        let port = unused_port();
        assert_eq!(outcome(&store(client, port)).await, Some(StoreErrorKind::Unreachable));
        campaigns_on(store(client, port), &[StoreErrorKind::Unreachable]).await;
    }

    async fn a_server_that_hangs_up(client: Client) {
        let port = port_that_answers(b"").await;
        let kind = outcome(&store(client, port)).await;
        assert_eq!(kind, Some(StoreErrorKind::Disconnected));
        campaigns_on(store(client, port), &[StoreErrorKind::Disconnected]).await;
    }

    async fn a_server_that_answers_nonsense(client: Client) {
        for nonsense in NONSENSE {
            let port = port_that_answers(nonsense).await;
            let kind = outcome(&store(client, port)).await;
            let known = matches!(
                kind,
                Some(
                    StoreErrorKind::UnexpectedReply
                        | StoreErrorKind::Disconnected
                        | StoreErrorKind::Refused
                        | StoreErrorKind::Authentication
                        | StoreErrorKind::Unreachable
                )
            );
            assert!(known, "{:?}: {kind:?}", String::from_utf8_lossy(nonsense));
        }
        let kinds = [StoreErrorKind::UnexpectedReply, StoreErrorKind::Disconnected];
        campaigns_on(store(client, port_that_answers(NONSENSE[0]).await), &kinds).await;
    }

    /// The answers of old servers and proxies that know RESP2 alone; there is none on this machine.
    async fn a_server_without_resp3(client: Client) {
        for refusal in [
            "-ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `default`, `correct-horse`, \r\n",
            "-ERR unknown command 'HELLO'\r\n",
            "-NOPROTO unsupported protocol version\r\n",
        ] {
            let answers = move |words: &[String]| match &*words[0] {
                "HELLO" => refusal.to_owned(),
                _ => "+OK\r\n".to_owned(),
            };
            let server = Fake::start(Duration::ZERO, answers).await;
            let store = store(client, server.port);
            let error = soon(store.call(&Key::new("job").unwrap(), acquire(1, None))).await.unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::UnsupportedVersion, "{refusal}: {error}");
            let shown = error.to_string();
            assert!(shown.contains("without that proxy") && !shown.contains("horse"), "{shown}");
        }
    }

    /// A Redis 5 in its own words: a real server behind a relay, since there is none on this
    /// machine.
    async fn an_old_server(client: Client) {
        let server = server();
        let relay = Relay::start(server.port(), ("redis_version:7.", "redis_version:5.")).await;
        let store = client.at(relay);
        for request in all_requests() {
            let error = call(&store, request).await.unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::UnsupportedVersion, "{error}");
            assert!(error.to_string().contains("use Redis 6 or later, or Valkey"), "{error}");
        }
        campaigns_on(store, &[StoreErrorKind::UnsupportedVersion]).await;
        assert_eq!(server.command(&["EXISTS", RECORD]).unwrap(), Raw::Integer(0), "nothing was granted");
    }

    /// A server before Redis 7: the relay makes each first line with flags an error of syntax. What
    /// leaders need works at maxmemory all the same.
    async fn a_server_without_script_flags(client: Client) {
        let server = server();
        let_in(&server, &[&RIGHTS[..], &["+persist"]].concat());
        let relay = Relay::start(server.port(), ("#!lua", "#?lua")).await;
        let store = client.store(as_app(local(relay)));
        let token = granted(&store, acquire(1, None)).await;
        server.command(&["CONFIG", "SET", "maxmemory", "1"]).unwrap();
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
        server.command(&["SCRIPT", "FLUSH"]).unwrap();
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
        held(&store, acquire(2, None)).await;
        assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
        let error = call(&store, acquire(2, Some(token))).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Full, "{error}");
        let_in(&server, &RIGHTS);
        let error = call(&store, renew(1, token)).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Permission, "{error}");
        assert!(error.to_string().contains("persist"), "{error}");
    }

    async fn a_silent_server(client: Client) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let store = || client.store(config(port).connect_timeout(Duration::from_millis(500)));
        let kind = outcome(&store()).await;
        assert_eq!(kind, Some(StoreErrorKind::Unreachable), "no connection within its bound");
        let kinds = [StoreErrorKind::Timeout, StoreErrorKind::Unreachable];
        campaigns_on(store(), &kinds).await;
    }
}

/// It would fill the memory of a client that keeps it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_oversized_reply_is_not_read() {
    const LENGTH: usize = 100 << 20;
    let held = "*1\r\n*18\r\n$2\r\nat\r\n:7\r\n:1000\r\n$0\r\n\r\n:0\r\n$1\r\na\r\n";
    let metadata = format!("${LENGTH}\r\n{}\r\n", "x".repeat(LENGTH));
    let error = format!("-ERR {}\r\n", "x".repeat(LENGTH));
    for (asked, says) in
        [("EVALSHA", format!("{held}{metadata}")), ("EVALSHA", error.clone()), ("SCRIPT", error)]
    {
        let server = Fake::start(Duration::ZERO, move |words| match &*words[0] {
            "HELLO" => HELLO.to_owned(),
            word if word == asked => says.clone(),
            _ => "+OK\r\n".to_owned(),
        })
        .await;
        let store = Client::RedisRs.store(local(server.port));
        let asked = soon(store.call(&Key::new("job").unwrap(), acquire(1, None))).await;
        let error = asked.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::UnexpectedReply, "{error}");
        assert!(error.to_string().contains("a reply of more than 262144 bytes"), "{error}");
        // No more than what fits into the kernel's buffers.
        let sent = server.sent.load(std::sync::atomic::Ordering::SeqCst);
        assert!(sent < 32 << 20, "{sent} bytes were taken");
    }
}
