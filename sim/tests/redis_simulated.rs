//! Features of the simulated Redis that a real one lacks: stalls, restarts and rollbacks at an
//! exact point, observers, and the same bytes in each run.
// Helpers stand outside of the functions that clippy.toml means by tests.
#![allow(clippy::unwrap_used)]

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use tenure::HolderId;
use tenure::store::redis::{Redis as Adapter, RedisConfig};
use tenure::store::{Key, Profile, Reply as Answered, Request, Store, StoreErrorKind};
use tenure_core::{Acquire, RequestId};
use tenure_sim::engines::redis::{Redis, Reply, Role, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, LocalSet, yield_now};

fn redis() -> Redis {
    Redis::new(Settings::default(), || 1_000_000)
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    LocalSet::new().block_on(&runtime, test)
}

struct Client {
    stream: DuplexStream,
    served: JoinHandle<io::Result<()>>,
}

impl Client {
    fn connect(redis: &Redis, peer: &'static str) -> Self {
        let (stream, far) = tokio::io::duplex(1 << 16);
        let redis = redis.clone();
        let served = tokio::task::spawn_local(async move { redis.serve(far, peer).await });
        Self { stream, served }
    }

    async fn send(&mut self, line: &str) {
        let words: Vec<String> =
            line.split(' ').map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
        let request = format!("*{}\r\n{}", words.len(), words.concat());
        self.stream.write_all(request.as_bytes()).await.unwrap();
        settle().await;
    }

    async fn reads(&mut self, expected: &str) {
        let mut bytes = vec![0; expected.len()];
        self.stream.read_exact(&mut bytes).await.unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }

    /// The text that has arrived.
    async fn arrived(&mut self) -> String {
        settle().await;
        let mut bytes = Vec::new();
        tokio::select! {
            biased;
            _ = self.stream.read_buf(&mut bytes) => {}
            () = settle() => {}
        }
        String::from_utf8(bytes).unwrap()
    }
}

/// Lets everything happen that can happen without time.
async fn settle() {
    for _ in 0..20 {
        yield_now().await;
    }
}

fn text(reply: &Reply) -> String {
    match reply {
        Reply::Bulk(text) | Reply::Status(text) | Reply::Verbatim(text) | Reply::Error(text) => {
            String::from_utf8(text.to_vec()).unwrap()
        }
        other => panic!("no text: {other:?}"),
    }
}

fn identity(redis: &Redis) -> (String, String) {
    let info = text(&redis.execute(&[b"INFO"]));
    let field =
        |name: &str| info.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
    (field("run_id:"), field("master_replid:"))
}

#[test]
fn a_stalled_server_queues_and_runs_on_even_for_a_peer_that_left() {
    run(async {
        let redis = redis();
        let (mut stays, mut leaves) =
            (Client::connect(&redis, "stays"), Client::connect(&redis, "leaves"));
        redis.stall(true);
        stays.send("INCR n").await;
        stays.send("INCR n").await;
        leaves.send("INCR n").await;
        let Client { stream, served } = leaves;
        drop(stream);
        assert_eq!(stays.arrived().await, "");
        assert_eq!(redis.execute(&[b"GET", b"n"]), Reply::Null);
        assert!(!served.is_finished());

        redis.stall(false);
        stays.reads(":1\r\n:2\r\n").await;
        settle().await;
        assert_eq!(text(&redis.execute(&[b"GET", b"n"])), "3");
        assert!(served.is_finished());
    });
}

#[test]
fn a_restart_closes_connections_and_changes_the_identity() {
    run(async {
        let redis = redis();
        let before = identity(&redis);
        let mut client = Client::connect(&redis, "a");
        client.send("SCRIPT LOAD return").await;
        client.send("SUBSCRIBE c").await;
        redis.execute(&[b"SET", b"a", b"b"]);

        redis.restart(true);
        client.served.await.unwrap().unwrap();
        client.stream.read_to_end(&mut Vec::new()).await.expect("closed");
        assert_eq!(text(&redis.execute(&[b"GET", b"a"])), "b");
        assert_eq!(redis.execute(&[b"PUBLISH", b"c", b"x"]), Reply::Integer(0));
        let loaded =
            redis.execute(&[b"SCRIPT", b"EXISTS", b"63143b6f8007b98c53ca2149822777b3566f9241"]);
        assert_eq!(loaded, Reply::Array(vec![Reply::Integer(0)]));
        let after = identity(&redis);
        assert_ne!(before.0, after.0);
        assert_ne!(before.1, after.1);
        assert!([&before.0, &before.1, &after.0, &after.1].iter().all(|id| id.len() == 40));

        redis.restart(false);
        assert_eq!(redis.execute(&[b"GET", b"a"]), Reply::Null);
    });
}

#[test]
fn input_that_a_restart_overtakes_is_never_executed() {
    run(async {
        let redis = redis();
        let mut client = Client::connect(&redis, "a");
        redis.stall(true);
        client.send("SET a b").await;
        redis.restart(true);
        redis.stall(false);
        client.served.await.unwrap().unwrap();
        assert_eq!(redis.execute(&[b"GET", b"a"]), Reply::Null);
    });
}

#[test]
fn identities_follow_from_the_seed() {
    let of_seed = |seed| identity(&Redis::new(Settings { seed, ..Settings::default() }, || 0));
    assert_eq!(of_seed(1), of_seed(1));
    assert_ne!(of_seed(1).0, of_seed(2).0);
    assert_ne!(of_seed(1).1, of_seed(2).1);
}

#[test]
fn a_promotion_brings_a_new_replication_id_and_takes_writes() {
    let redis = Redis::new(Settings { role: Role::Replica, ..Settings::default() }, || 0);
    let before = identity(&redis);
    assert!(text(&redis.execute(&[b"SET", b"a", b"b"])).starts_with("READONLY "));
    redis.set_role(Role::Master);
    assert_eq!(text(&redis.execute(&[b"SET", b"a", b"b"])), "OK");
    let after = identity(&redis);
    assert_eq!(before.0, after.0);
    assert_ne!(before.1, after.1);
}

#[test]
fn a_restored_snapshot_is_the_data_of_then() {
    let redis = redis();
    redis.execute(&[b"HSET", b"h", b"token", b"1"]);
    let then = redis.snapshot();
    redis.execute(&[b"HSET", b"h", b"token", b"2"]);
    redis.execute(&[b"SET", b"new", b"x"]);
    redis.restore(&then);
    assert_eq!(text(&redis.execute(&[b"HGET", b"h", b"token"])), "1");
    assert_eq!(redis.execute(&[b"DBSIZE"]), Reply::Integer(1));
    assert_eq!(redis.snapshot(), then);
}

#[test]
fn observers_see_each_command_of_a_connection_and_the_data_right_after_it() {
    run(async {
        let redis = redis();
        let seen = Rc::new(RefCell::new(Vec::new()));
        let log = Rc::clone(&seen);
        redis.observe(Box::new(move |executed| {
            let name = String::from_utf8_lossy(&executed.args[0]).into_owned();
            let data = executed.redis.execute(&[b"GET", b"n"]);
            log.borrow_mut().push((executed.peer.to_owned(), name, executed.reply.clone(), data));
        }));
        let mut client = Client::connect(&redis, "node-1");
        // Both commands arrive together: the observer still comes between them.
        client
            .stream
            .write_all(b"*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n")
            .await
            .unwrap();
        settle().await;
        redis.execute(&[b"DEL", b"n"]);
        let entry = |number: i64| {
            let data = Reply::Bulk(number.to_string().into());
            ("node-1".to_owned(), "INCR".to_owned(), Reply::Integer(number), data)
        };
        assert_eq!(*seen.borrow(), [entry(1), entry(2)]);
    });
}

#[test]
fn time_stands_still_within_a_script() {
    let clock = Rc::new(Cell::new(5_000_007));
    let ticking = Rc::clone(&clock);
    let redis = Redis::new(Settings::default(), move || {
        ticking.set(ticking.get() + 1);
        ticking.get()
    });
    let script = b"local a, b = redis.call('TIME'), redis.call('TIME') return {a[1], a[2], b[2]}";
    let bulk = |text: &str| Reply::Bulk(text.to_owned().into());
    let now = clock.get() + 1;
    let micros = format!("{}", now % 1_000_000);
    assert_eq!(
        redis.execute(&[b"EVAL", script, b"0"]),
        Reply::Array(vec![bulk("5"), bulk(&micros), bulk(&micros)])
    );
}

#[test]
fn a_dropped_connection_no_longer_subscribes() {
    run(async {
        let redis = redis();
        let mut client = Client::connect(&redis, "a");
        client.send("SUBSCRIBE c").await;
        assert_eq!(redis.execute(&[b"PUBLISH", b"c", b"x"]), Reply::Integer(1));
        client.served.abort();
        settle().await;
        assert_eq!(redis.execute(&[b"PUBLISH", b"c", b"x"]), Reply::Integer(0));
    });
}

#[test]
fn commands_come_in_pieces_and_garbage_ends_the_connection() {
    run(async {
        let redis = redis();
        let mut client = Client::connect(&redis, "a");
        for byte in b"*2\r\n$4\r\nECHO\r\n$3\r\na\r\n\r\n*0\r\n*1\r\n$4\r\nPING\r\n" {
            client.stream.write_all(&[*byte]).await.unwrap();
            settle().await;
        }
        client.reads("$3\r\na\r\n\r\n+PONG\r\n").await;
        client.stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut rest = String::new();
        client.stream.read_to_string(&mut rest).await.unwrap();
        assert!(rest.starts_with("-ERR Protocol error"), "{rest}");
        client.served.await.unwrap().unwrap();
    });
}

#[test]
fn a_table_within_itself_ends_in_an_error() {
    let mut reply = redis().execute(&[b"EVAL", b"local t = {} t[1] = t return t", b"0"]);
    while let Reply::Array(mut items) = reply {
        reply = items.pop().unwrap();
    }
    assert_eq!(text(&reply), "ERR reached lua stack limit");
}

#[test]
fn what_scripts_must_not_have_is_refused() {
    let redis = redis();
    let fails = |script: &str| match redis.execute(&[b"EVAL", script.as_bytes(), b"0"]) {
        Reply::Error(error) => String::from_utf8(error.to_vec()).unwrap(),
        other => panic!("{script} answered {other:?}"),
    };
    for name in [
        "os",
        "io",
        "require",
        "debug",
        "print",
        "load",
        "loadstring",
        "dofile",
        "coroutine",
        "xpcall",
        "cjson",
    ] {
        assert!(fails(&format!("return {name}")).contains("nonexistent global variable"), "{name}");
    }
    for script in
        ["return math.random()", "getmetatable('').__index = nil", "getmetatable(_G).__index = nil"]
    {
        fails(script);
    }
    // A script leaves nothing behind for the next one.
    fails("rawset(_G, 'left', 1)");
    fails("return left");
}

/// A store at that server, by a real socket.
async fn adapter(redis: &Redis) -> Adapter {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let redis = redis.clone();
    tokio::task::spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let redis = redis.clone();
            tokio::task::spawn_local(async move { redis.serve(stream, "adapter").await });
        }
    });
    Adapter::new(RedisConfig::new("127.0.0.1", port).trust_empty_store(true))
}

/// Otherwise its identity would be the same after a loss of its data.
#[test]
fn a_server_that_withholds_its_identity_promises_nothing() {
    const RECORD: &[u8] = b"{tenure}:leader:job";
    const ZEROS: &str = "0000000000000000000000000000000000000000";
    let (key, holder, ttl) =
        (Key::new("job").unwrap(), HolderId::from_bits(1), Duration::from_secs(30));
    let acquire = |number| {
        let profile = Profile::new("worker", "").unwrap();
        let asks = Acquire::new(holder, number, ttl, profile.name_id());
        Request::Acquire { asks, profile }
    };
    let [first, next] = [1, 2].map(|number| RequestId::new(number).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let whole = redis();
        let reply = adapter(&whole).await.call(&key, acquire(first)).await.unwrap();
        let Answered::Granted { token } = reply else { panic!("{reply:?}") };
        for (field, value) in [
            ("run_id", None),
            ("master_replid", None),
            ("role", None),
            ("maxmemory_policy", None),
            ("run_id", Some(ZEROS)),
            ("master_replid", Some(ZEROS)),
        ] {
            let settings = Settings { withheld: vec![(field, value)], ..Settings::default() };
            let withholding = Redis::new(settings, || 2_000_000);
            // The first request over a connection compares the identity with the past.
            let look = Request::Look { seen: None, quarantine: ttl };
            let renew = Request::Renew { holder, token, number: next, stamp: None };
            for request in [acquire(next), look, renew] {
                let store = adapter(&withholding).await;
                withholding.restore(&whole.snapshot());
                let before = withholding.execute(&[b"HGETALL", RECORD]);
                let error = store.call(&key, request).await.unwrap_err();
                assert_eq!(error.kind(), StoreErrorKind::Withheld, "{error}");
                let value = value.unwrap_or("");
                let shown = format!("INFO has {field}:\"{value}\" (redis_version:7.0.15)");
                assert!(error.to_string().contains(&shown), "{error}");
                assert_eq!(withholding.execute(&[b"HGETALL", RECORD]), before);
            }
        }
    });
}
