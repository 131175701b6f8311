//! Writers that never ask whether they lead, and whose leader is paused for longer than its lease
//! lasts.

use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tenure_servers::{PostgresServer, RedisServer, Reply, undisturbed};

use super::program::{Program, SOON, example};

fn start(postgres: &PostgresServer, redis: &RedisServer) -> Program {
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", postgres.port());
    let mut command = example("fenced_writes");
    Program::start(command.env("POSTGRES_URL", url).env("REDIS_URL", redis.url()))
}

#[test]
fn writers_of_an_old_leader_are_refused() {
    undisturbed(|| assert!((0..5).any(|_| are_refused()), "stopped under way five times"));
}

/// False if the leader was stopped while a write was under way, whose outcome it does not know then.
fn are_refused() -> bool {
    let (postgres, redis) = (PostgresServer::start().unwrap(), RedisServer::start().unwrap());
    let first = start(&postgres, &redis);
    let before = first.number("Redis: taken over, token ");
    // The table comes with the first row, and the leader must not be stopped before that.
    soon(|| postgres.sql("SELECT count(*) > 0 FROM numbers").is_ok_and(|any| any == "t"));
    let second = start(&postgres, &redis);
    second.says("another candidate has the lease");
    first.pause();
    let after = second.number("Redis: taken over, token ");
    assert!(after > before);
    first.signal(Signal::CONT);
    let refused = format!("holds token {after}, which is above this tenure's token {before}");
    for _ in 0..2 {
        let line = first.says("the fence ");
        if line.ends_with("is unknown") {
            return false;
        }
        assert!(line.contains(&refused), "{line}");
    }
    let written = Reply::BulkString(after.to_string().into_bytes());
    soon(|| redis.command(&["GET", "{fenced-writes}:writer"]).unwrap() == written);
    soon(|| postgres.sql("SELECT count(DISTINCT token) FROM numbers").unwrap() == "2");
    let backwards = "SELECT count(*) FROM (SELECT token < lag(token) OVER (ORDER BY number) AS older FROM numbers) \
                     AS numbers WHERE older";
    assert_eq!(postgres.sql(backwards).unwrap(), "0", "no older tenure wrote after a newer one");
    true
}

/// Waits until that is so: a leader has to take over before it writes.
fn soon(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < SOON, "the leader does not write");
        sleep(Duration::from_millis(20));
    }
}
