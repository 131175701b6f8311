//! `tenure purge`.

use std::io::{Read, Write};
use std::net::TcpStream;

use nix::sys::signal::Signal;
use tenure_servers::RedisServer;

use super::hosts::{Host, Place, wait_until};

/// Dates the record to the beginning of time.
fn age(redis: &RedisServer, key: &str) {
    let mut server = TcpStream::connect(("127.0.0.1", redis.port())).unwrap();
    write!(server, "HSET {{tenure}}:leader:{key} written 1\r\n").unwrap();
    let mut answer = [0; 4];
    server.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b":0\r\n", "the record of {key} has that field");
}

#[test]
fn records_of_ended_leases_are_deleted() {
    let (place, redis) = (Place::new(), RedisServer::start().unwrap());
    let leads = |key: &str| {
        let mut command = place.tenure();
        command.env("TENURE_STORE", redis.url());
        command.env("TENURE_TTL", "6s").env("TENURE_RENEW_INTERVAL", "500ms");
        let host = Host::start(command.args(["run", key, "--", "sleep", "600"]));
        wait_until("a leader", || place.status(&["status", key, "--store", &redis.url()]) == 0);
        host
    };
    let purged = |options: &[&str]| {
        let url = redis.url();
        let output = place.output(&[&["purge", "--store", &url][..], options].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let (mut released, lost, _held) = (leads("released"), leads("lost"), leads("held"));
    released.signal(Signal::SIGTERM);
    released.ends();
    drop(lost);
    assert_eq!(purged(&["--older-than", "1h"]), "0 records deleted\n");
    for key in ["released", "lost"] {
        age(&redis, key);
    }
    assert_eq!(purged(&["--older-than", "30d"]), "1 records deleted\n");
    assert_eq!(purged(&["--older-than", "1h", "--watch", "10s"]), "1 records deleted\n");
    assert_eq!(place.status(&["status", "held", "--store", &redis.url()]), 0);
}

#[test]
fn an_age_that_is_short_is_refused() {
    let output = Place::new().output(&["purge", "--older-than", "59m"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(64), "{said}");
    assert!(said.contains("--older-than") && said.contains("from 1h to 3650d"), "{said}");
    assert_eq!(Place::new().status(&["purge"]), 64, "there is no default");
}
