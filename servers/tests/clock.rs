//! Servers that are started with a clock of their own tell the time by it, also over connections
//! that are open when it is set, and after a restart.

// Helpers stand outside of the functions that clippy.toml means by tests.
#![allow(clippy::unwrap_used)]

use std::time::{SystemTime, UNIX_EPOCH};

use tenure_servers::{PostgresServer, RedisServer, Reply, ServerClock};

/// The delay of a loaded machine between two questions, in seconds.
const SLOW: f64 = 20.0;

fn machine() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

/// By how many seconds a server that has just said so is ahead of the machine.
fn is_ahead_by(seconds: f64, said: f64) {
    assert!((said - machine() - seconds).abs() < SLOW, "{said} {} {seconds}", machine());
}

#[test]
fn redis_tells_the_time_by_its_clock() {
    let mut clock = ServerClock::start(0).unwrap();
    let mut server = RedisServer::start_with_clock(&[], &clock).unwrap();
    let asks = |server: &RedisServer| {
        // A script reads the clock as those of the library do.
        let script = "return redis.call('TIME')[1]";
        let Reply::BulkString(said) = server.command(&["EVAL", script, "0"]).unwrap() else {
            panic!("TIME is a list of two texts")
        };
        String::from_utf8(said).unwrap().parse::<f64>().unwrap()
    };
    is_ahead_by(0.0, asks(&server));
    clock.step(3_600_000).unwrap();
    is_ahead_by(3_600.0, asks(&server));
    clock.step(-7_200_000).unwrap();
    is_ahead_by(-3_600.0, asks(&server));
    server.restart().unwrap();
    is_ahead_by(-3_600.0, asks(&server));
}

#[test]
fn postgres_tells_the_time_by_its_clock_also_in_open_sessions_and_replicas() {
    const TIME: &str = "SELECT extract(epoch FROM clock_timestamp())";
    let mut clock = ServerClock::start(0).unwrap();
    let server = PostgresServer::start_with_clock(&[], &clock).unwrap();
    let replica = server.replica(&[]).unwrap();
    let mut session = server.session().unwrap();
    for (by_ms, ahead) in [(0, 0.0), (3_600_000, 3_600.0), (-7_200_000, -3_600.0)] {
        clock.step(by_ms).unwrap();
        for said in [session.sql(TIME).unwrap(), replica.sql(TIME).unwrap()] {
            is_ahead_by(ahead, said.parse().unwrap());
        }
    }
}
