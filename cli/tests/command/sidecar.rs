//! `tenure sidecar`: who leads, by its answers, and until when.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;
use tenure_servers::{Flow, Proxy, RedisServer, undisturbed};

use super::hosts::{Host, Place, SOON, is_stopped, wait_until};
use super::http::Sidecar;

/// A sidecar of the election `job` in the place's own file.
fn in_a_file(place: &Place, name: &str, ttl: &str, options: &[&str]) -> Sidecar {
    let mut command = place.tenure();
    // A lease of 6 s outlasts a pause of the machine then.
    command.env("TENURE_TTL", ttl).env("TENURE_RENEW_INTERVAL", "500ms");
    command.args(["sidecar", "job", "--name", name]).args(options);
    Sidecar::start(place, name, &mut command)
}

fn at(place: &Place, store: &str, name: &str, ttl: &str) -> Sidecar {
    let mut command: Command = place.tenure();
    command.env("TENURE_TTL", ttl).args(["sidecar", "job", "--name", name, "--store", store]);
    Sidecar::start(place, name, &mut command)
}

fn wait_for_lead(sidecar: &Sidecar) -> Value {
    let mut standing = Value::Null;
    wait_until("the lead", || {
        standing = sidecar.standing();
        standing["leads"] == true
    });
    standing
}

fn is_led_by(place: &Place, name: &str) {
    let status = ["status", "job", "--wait-for", name, "--timeout", "1m"];
    assert_eq!(place.status(&status), 0, "{name} leads");
}

#[test]
fn one_of_two_answers_that_it_leads() {
    let place = Place::new();
    let first = in_a_file(&place, "host-a", "6s", &[]);
    let leading = wait_for_lead(&first);
    let second = in_a_file(&place, "host-b", "6s", &[]);
    wait_until("a known leader", || !second.standing()["leader"].is_null());
    let waiting = second.standing();

    let token = leading["token"].as_u64().unwrap();
    let valid = leading["valid_ms"].as_u64().unwrap();
    assert!(token > 0 && (1..=2_000).contains(&valid), "{leading}");
    assert_eq!((&leading["key"], &leading["name"]), (&"job".into(), &"host-a".into()));
    assert_eq!(leading["leader"], serde_json::json!({ "name": "host-a", "token": token }));
    assert_eq!(waiting["leads"], false);
    assert_eq!((&waiting["token"], &waiting["valid_ms"]), (&Value::Null, &0.into()));
    assert_eq!(waiting["leader"], leading["leader"]);
    for sidecar in [&first, &second] {
        assert_eq!((sidecar.get("/healthz").status, sidecar.get("/readyz").status), (200, 200));
    }
}

#[test]
fn two_of_one_name_are_two_candidates() {
    let place = Place::new();
    let first = in_a_file(&place, "twin", "6s", &[]);
    wait_for_lead(&first);
    let mut command = place.tenure();
    command.env("TENURE_TTL", "6s").args(["sidecar", "job", "--name", "twin"]);
    let second = Sidecar::start(&place, "twin-2", &mut command);
    wait_until("a known leader", || !second.standing()["leader"].is_null());
    let standing = second.standing();
    assert_eq!((&standing["leads"], &standing["leader"]["name"]), (&false.into(), &"twin".into()));
    assert!(first.leads());
}

#[test]
fn another_leads_after_a_leader_was_killed() {
    let place = Place::new();
    let mut first = in_a_file(&place, "host-a", "2s", &[]);
    let before = wait_for_lead(&first)["token"].as_u64().unwrap();
    let second = in_a_file(&place, "host-b", "2s", &[]);
    wait_until("a known leader", || !second.standing()["leader"].is_null());
    // The claim that it has answered is over before another leads.
    let (asked, valid) = (Instant::now(), first.standing()["valid_ms"].as_u64().unwrap());
    first.host.0.kill().unwrap();
    let after = wait_for_lead(&second);
    assert!(asked.elapsed() > Duration::from_millis(valid), "{valid} ms");
    assert!(after["token"].as_u64().unwrap() > before, "{after}");
}

/// It has not answered that it leads, so nothing holds the handover up.
#[test]
fn sigterm_hands_over_at_once() {
    let place = Place::new();
    let mut first = in_a_file(&place, "host-a", "1h", &[]);
    is_led_by(&place, "host-a");
    let second = in_a_file(&place, "host-b", "1h", &[]);
    wait_until("a known leader", || !second.standing()["leader"].is_null());
    first.host.signal(Signal::SIGTERM);
    assert_eq!(first.host.ends(), Some(143));
    // By a lease that was given back, not by one that has ended: that would take an hour.
    wait_for_lead(&second);
}

/// A program may die while its sidecar lives.
#[test]
fn a_sidecar_without_readers_gives_the_lead_back() {
    let place = Place::new();
    let start = |name: &str, options: &[&str]| {
        let mut command = place.tenure();
        // Only a lead that is given back has a successor.
        command.env("TENURE_TTL", "1h").env("TENURE_HOLD_OFF", "10ms");
        command.args(["sidecar", "job", "--name", name]).args(options);
        Sidecar::start(&place, name, &mut command)
    };
    let first = start("host-a", &["--reader-within", "2s", "--valid-for", "500ms"]);
    wait_for_lead(&first);
    let mut second = start("host-b", &[]);
    wait_for_lead(&second);
    wait_until("the reason", || first.log().contains("no reader has asked"));
    assert!(!first.leads());
    second.host.signal(Signal::SIGTERM);
    assert_eq!(second.host.ends(), Some(143));
    // It takes part again, since it is asked.
    wait_for_lead(&first);
    let refused = place.output(&["sidecar", "job", "--reader-within", "1s"]);
    assert_eq!(refused.status.code(), Some(64));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("--reader-within is 1s, and an answer is valid for 2s"), "{said}");
}

/// Neither SIGTERM nor a handover breaks the last answer that had the lead in it.
fn keeps_its_answer(ttl: &str, give_up: impl Fn(&Place, &Sidecar)) {
    let place = Place::new();
    let first = in_a_file(&place, "host-a", ttl, &["--valid-for", "4s"]);
    wait_for_lead(&first);
    let second = in_a_file(&place, "host-b", ttl, &[]);
    wait_until("a known leader", || !second.standing()["leader"].is_null());
    // When it was asked, and for how long it has answered that it leads, if it has.
    let ask = || {
        let asked = Instant::now();
        let standing = first.standing();
        let valid = Duration::from_millis(standing["valid_ms"].as_u64().unwrap());
        (standing["leads"] == true).then_some((asked, valid))
    };
    let (mut asked, mut valid) = ask().unwrap();
    give_up(&place, &first);
    let begun = Instant::now();
    while let Some(later) = ask() {
        (asked, valid) = later;
        assert!(begun.elapsed() < SOON, "it leads on");
    }
    assert!(valid >= Duration::from_secs(3), "{valid:?}");
    while asked.elapsed() < valid {
        let leads = second.leads();
        // Still within the validity: so the answer was, too.
        assert!(!(leads && asked.elapsed() < valid), "after {:?}", asked.elapsed());
        thread::sleep(Duration::from_millis(5));
    }
    wait_for_lead(&second);
}

#[test]
fn sigterm_waits_for_answers_that_are_valid() {
    keeps_its_answer("1h", |_, leader| {
        leader.host.signal(Signal::SIGTERM);
        // It answers until its end.
        let mut reply = leader.get("/readyz");
        wait_until("that it is ending", || {
            reply = leader.get("/readyz");
            reply.status == 503
        });
        assert!(reply.body.contains("ending"), "{}", reply.body);
    });
}

/// The leader learns of the wish with its next renewal.
#[test]
fn a_handover_waits_for_answers_that_are_valid() {
    keeps_its_answer("15s", |place, _| {
        let handover = ["handover", "job", "--to", "host-b", "--timeout", "1m"];
        let mut handing = Host::start(place.tenure().args(handover));
        thread::spawn(move || handing.ends());
    });
}

/// A suspend of the host: no code has run, and the clock decides.
#[test]
fn an_answer_after_a_pause_claims_no_old_lead() {
    let place = Place::new();
    let first = in_a_file(&place, "host-a", "2s", &[]);
    let before = wait_for_lead(&first)["token"].as_u64().unwrap();
    first.host.signal(Signal::SIGSTOP);
    wait_until("the pause", || is_stopped(first.host.id()));
    thread::sleep(Duration::from_secs(3));
    // The kernel keeps the request until the process goes on: it is there before any timer or
    // reply.
    let asking = thread::scope(|scope| {
        let asking = scope.spawn(|| first.standing());
        thread::sleep(Duration::from_millis(200));
        first.host.signal(Signal::SIGCONT);
        asking.join().unwrap()
    });
    // A lead of its own again is another one.
    assert!(asking["leads"] == false || asking["token"].as_u64().unwrap() > before, "{asking}");
}

#[test]
fn redis_that_is_paused_ends_the_claim() {
    let place = Place::new();
    let redis = RedisServer::start().unwrap();
    let sidecar = at(&place, &redis.url(), "host-a", "3s");
    // New to this sidecar, so it grants nothing for a TTL: it takes part, and is ready.
    wait_until("an answer of the store", || sidecar.get("/readyz").status == 200);
    wait_for_lead(&sidecar);
    redis.pause().unwrap();
    let paused = Instant::now();
    wait_until("the end of the claim", || {
        let (asked, leads) = (paused.elapsed(), sidecar.leads());
        assert!(!leads || asked < Duration::from_secs(3), "its validity is less than its TTL");
        !leads
    });
    let mut reply = sidecar.get("/readyz");
    wait_until("not ready", || {
        reply = sidecar.get("/readyz");
        reply.status == 503
    });
    assert!(reply.body.contains("the store has not answered for"), "{}", reply.body);
    assert_eq!(sidecar.get("/healthz").status, 200);
    redis.resume().unwrap();
    wait_for_lead(&sidecar);
    wait_until("that it is ready", || sidecar.get("/readyz").status == 200);
}

/// The lead can't be given back then, and ends by itself.
#[test]
fn redis_that_is_paused_does_not_delay_the_end() {
    undisturbed(|| {
        let place = Place::new();
        let redis = RedisServer::start().unwrap();
        let mut sidecar = at(&place, &redis.url(), "host-a", "15s");
        wait_for_lead(&sidecar);
        redis.pause().unwrap();
        let asked = Instant::now();
        assert!(sidecar.leads(), "just before SIGTERM");
        sidecar.host.signal(Signal::SIGTERM);
        assert_eq!(sidecar.host.ends(), Some(143));
        assert!(asked.elapsed() < Duration::from_secs(10), "the stop grace of a container");
    });
}

#[test]
fn redis_that_is_down_at_the_start_is_waited_for() {
    let place = Place::new();
    let mut redis = RedisServer::start().unwrap();
    redis.kill().unwrap();
    let sidecar = at(&place, &redis.url(), "host-a", "2s");
    assert_eq!((sidecar.get("/healthz").status, sidecar.leads()), (200, false));
    let mut reply = sidecar.get("/readyz");
    wait_until("a failed attempt", || {
        reply = sidecar.get("/readyz");
        reply.body.contains("refused")
    });
    assert_eq!(reply.status, 503, "{}", reply.body);
    redis.restart().unwrap();
    wait_for_lead(&sidecar);
    wait_until("that it is ready", || sidecar.get("/readyz").status == 200);
}

/// Over a long way, such as to another continent.
#[test]
fn redis_at_300_ms_is_led() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
    let redis = RedisServer::start().unwrap();
    let target = ([127, 0, 0, 1], redis.port()).into();
    let proxy = runtime.block_on(Proxy::start(target)).unwrap();
    proxy.set(Flow::Delay(Duration::from_millis(150)));
    let place = Place::new();
    let sidecar = at(&place, &format!("redis://127.0.0.1:{}", proxy.port()), "host-a", "15s");
    wait_until("the lead", || sidecar.leads());
    assert_eq!(sidecar.get("/readyz").status, 200);
}

/// Nothing is granted yet, and nothing is to be given back.
#[test]
fn sigterm_in_the_first_attempt_ends_it() {
    let place = Place::new();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let store = format!("redis://{}", silent.local_addr().unwrap());
    let mut sidecar = at(&place, &store, "host-a", "15s");
    let connection = silent.accept().unwrap();
    let reply = sidecar.get("/readyz");
    assert_eq!(reply.status, 503);
    assert!(reply.body.contains("the store has not answered yet"), "{}", reply.body);
    let asked = Instant::now();
    sidecar.host.signal(Signal::SIGTERM);
    assert_eq!(sidecar.host.ends(), Some(143));
    assert!(asked.elapsed() < Duration::from_secs(10), "the stop grace of a container");
    drop(connection);
}
