//! `tenure run --hold`: a short command that several hosts start at a set time runs on one of them.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tenure_servers::{Flow, Proxy, RedisServer};

use super::hosts::{Host, Place, wait_until};

/// The crontab's line on each host: longer than any test, and with the status 7.
const NIGHTLY: &str =
    "exec tenure run job --try --hold 1h --verbose -- sh -c 'echo ran >> runs; exit 7'";

/// With a lease that nobody could watch to its end.
fn host(place: &Place, script: &str) -> Command {
    let mut shell = place.shell(script);
    shell.env("TENURE_STORE", "own").env("TENURE_TTL", "1h");
    shell
}

fn holds(log: &Path) {
    says(log, "the lead is kept");
}

fn says(log: &Path, what: &str) {
    wait_until(what, || fs::read_to_string(log).unwrap_or_default().contains(what));
}

fn runs(place: &Place) -> usize {
    fs::read_to_string(place.file("runs")).unwrap_or_default().lines().count()
}

/// The status of another host that comes now.
fn tries(place: &Place) -> Option<i32> {
    host(place, "exec tenure run job --try -- true").output().unwrap().status.code()
}

#[test]
fn hosts_that_start_seconds_apart_run_it_once() {
    let place = Place::new();
    let log = place.file("log");
    let mut first = Host::start(host(&place, NIGHTLY).stderr(File::create(&log).unwrap()));
    holds(&log);
    for _ in 0..2 {
        thread::sleep(Duration::from_secs(1));
        assert_eq!(host(&place, NIGHTLY).output().unwrap().status.code(), Some(75));
    }
    assert_eq!(runs(&place), 1);
    // SIGTERM ends it with the command's status, and the lease is not given back.
    first.signal(Signal::SIGTERM);
    assert_eq!(first.ends(), Some(7));
    assert_eq!(tries(&place), Some(75));
}

/// Else no host would ever run it again after one that has failed.
#[test]
fn a_lease_that_has_run_out_is_nobodys() {
    let place = Place::new();
    let log = place.file("log");
    let short = |script: &str| {
        let mut host = host(&place, script);
        host.env("TENURE_TTL", "6s").env("TENURE_RENEW_INTERVAL", "500ms");
        host
    };
    let mut first = Host::start(short(NIGHTLY).stderr(File::create(&log).unwrap()));
    holds(&log);
    first.signal(Signal::SIGTERM);
    assert_eq!(first.ends(), Some(7));
    thread::sleep(Duration::from_secs(7));
    let next = [(); 2].map(|()| {
        Host::start(&mut short("exec tenure run job --try --hold 10s -- sh -c 'echo ran >> runs'"))
    });
    let mut ended = next.map(|mut host| host.ends());
    ended.sort_unstable();
    assert_eq!(ended, [Some(0), Some(75)]);
    assert_eq!(runs(&place), 2, "on the one that leads");
}

#[test]
fn a_hold_counts_from_the_begin() {
    let place = Place::new();
    for (hold, script, least) in [("2s", "sleep 1; exit 3", 2), ("1ms", "sleep 1; exit 3", 1)] {
        let begun = Instant::now();
        let script = format!("exec tenure run job --try --hold {hold} -- sh -c '{script}'");
        assert_eq!(host(&place, &script).output().unwrap().status.code(), Some(3));
        assert!(begun.elapsed() >= Duration::from_secs(least), "{hold}: {:?}", begun.elapsed());
        // By now the lead was given back.
        assert_eq!(tries(&place), Some(0), "{hold}");
    }
}

/// Nobody wants to wait for the hold then, and no other host begins.
#[test]
fn a_command_that_a_signal_ends_is_not_held() {
    for (signal, status) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130), (Signal::SIGQUIT, 131)]
    {
        let place = Place::new();
        let script = "exec tenure run job --hold 1h -- sh -c 'echo ran >> runs; exec sleep 600'";
        let mut leader = Host::start(&mut host(&place, script));
        wait_until("the command", || runs(&place) == 1);
        leader.signal(signal);
        assert_eq!(leader.ends(), Some(status));
        assert_eq!(tries(&place), Some(75), "{signal}");
    }
}

#[test]
fn a_person_ends_a_hold_by_sigint() {
    let place = Place::new();
    let log = place.file("log");
    let mut leader = Host::start(host(&place, NIGHTLY).stderr(File::create(&log).unwrap()));
    holds(&log);
    leader.signal(Signal::SIGUSR1);
    leader.signal(Signal::SIGINT);
    assert_eq!(leader.ends(), Some(130));
    assert_eq!(tries(&place), Some(75));
}

/// The candidate that is meant would run the command again.
#[test]
fn a_hold_is_not_handed_over() {
    let place = Place::new();
    let log = place.file("log");
    let own = |script: &str| {
        let mut host = host(&place, script);
        host.env("TENURE_TTL", "30s").env("TENURE_RENEW_INTERVAL", "500ms");
        host
    };
    let mut first = Host::start(own(NIGHTLY).stderr(File::create(&log).unwrap()));
    holds(&log);
    let waiting = "exec tenure run job --name host-b -- sh -c 'echo ran >> runs; exec sleep 600'";
    let second = Host::start(&mut own(waiting));
    let asks = own("exec tenure handover job --to host-b --timeout 5s").output().unwrap();
    assert_eq!(asks.status.code(), Some(75));
    assert!(!first.has_ended());
    assert_eq!(runs(&place), 1);
    drop(second);
}

#[test]
fn a_lead_that_is_lost_ends_the_hold() {
    let place = Place::new();
    let log = place.file("log");
    let mut command = host(&place, NIGHTLY);
    let command = command.env("TENURE_TTL", "2s").stderr(File::create(&log).unwrap());
    let mut leader = Host::start(command);
    holds(&log);
    // A pause that is longer than its lease.
    leader.signal(Signal::SIGSTOP);
    thread::sleep(Duration::from_secs(3));
    leader.signal(Signal::SIGCONT);
    assert_eq!(leader.ends(), Some(7));
}

/// The store goes away during the hold and comes back, and goes away again before the host is asked
/// to end.
#[test]
fn an_outage_costs_no_hold() {
    let server = RedisServer::start().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let proxy = runtime.block_on(Proxy::start(([127, 0, 0, 1], server.port()).into())).unwrap();
    let place = Place::new();
    let log = place.file("log");
    let at = |port: u16, script: &str| {
        let mut host = host(&place, script);
        host.env("TENURE_STORE", format!("redis://127.0.0.1:{port}")).env("TENURE_TTL", "30s");
        host.env("TENURE_RENEW_INTERVAL", "500ms").env("TENURE_REQUEST_TIMEOUT", "1s");
        host
    };
    let tries = || at(server.port(), "exec tenure run job --try -- true").output().unwrap();
    // The server is new, and grants nothing for a TTL.
    let nightly = NIGHTLY.replace("--try", "--wait 5m");
    let mut command = at(proxy.port(), &nightly);
    let mut first = Host::start(command.stderr(File::create(&log).unwrap()));
    holds(&log);
    proxy.set(Flow::Hold);
    says(&log, "the store is unavailable");
    proxy.set(Flow::Forward);
    says(&log, "the store answers again");
    assert!(!first.has_ended());
    assert_eq!(tries().status.code(), Some(75));
    proxy.set(Flow::Hold);
    thread::sleep(Duration::from_secs(3));
    first.signal(Signal::SIGTERM);
    assert_eq!(first.ends(), Some(7));
    proxy.set(Flow::Forward);
    assert_eq!(tries().status.code(), Some(75));
    assert_eq!(runs(&place), 1);
}
