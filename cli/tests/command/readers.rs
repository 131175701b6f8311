//! `tenure sidecar` and its readers: paths, methods, addresses, and readers that are slow, many or
//! rude.

use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tenure_servers::undisturbed;

use super::hosts::{Host, Place, wait_until};
use super::http::{Reply, Sidecar, rest};

fn sidecar(place: &Place) -> Sidecar {
    let mut command = place.tenure();
    command.args(["sidecar", "job", "--name", "host-a"]);
    let sidecar = Sidecar::start(place, "log", &mut command);
    wait_until("the lead", || sidecar.leads());
    sidecar
}

#[test]
fn paths_and_methods_are_checked() {
    let place = Place::new();
    let sidecar = sidecar(&place);
    for path in ["/x", "//", "/readyz/", "/../etc/passwd", "/%2e", "/HEALTHZ"] {
        assert_eq!(sidecar.get(path).status, 404, "{path}");
    }
    for path in ["/?a=b", "/healthz?probe", "http://other/readyz"] {
        assert_eq!(sidecar.get(path).status, 200, "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "NONSENSE"] {
        let reply = sidecar.request(method, "/");
        assert_eq!(reply.status, 405, "{method}");
        assert!(reply.head.contains("allow: get, head"), "{}", reply.head);
    }
    let head = sidecar.request("HEAD", "/");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    let reply = sidecar.get("/");
    for header in ["cache-control: no-store", "content-type: application/json", "connection: close"]
    {
        assert!(reply.head.contains(header), "{header}: {}", reply.head);
    }
    for other in [&b"nonsense\r\n\r\n"[..], b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01"]
    {
        let said = sidecar.says(&[other, b"\r\n\r\n"].concat());
        assert!(said.is_empty() || Reply::read(&said).status == 400, "{said}");
    }
}

#[test]
fn huge_requests_are_refused() {
    let place = Place::new();
    let sidecar = sidecar(&place);
    let long = "x".repeat(100_000);
    let headers = "a: b\r\n".repeat(2_000);
    for huge in [
        format!("GET /{long} HTTP/1.1\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nA: {long}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{headers}\r\n"),
    ] {
        let said = sidecar.says(huge.as_bytes());
        // What was not read may reset the connection before the refusal is read.
        assert!(said.is_empty() || matches!(Reply::read(&said).status, 414 | 431), "{said}");
    }
    let body = format!("POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n{long}");
    let said = sidecar.says(body.as_bytes());
    assert!(said.is_empty() || Reply::read(&said).status == 405, "{said}");
    assert!(sidecar.leads());
}

#[test]
fn a_reader_that_sends_nothing_is_closed() {
    let place = Place::new();
    let sidecar = sidecar(&place);
    let mut slow = sidecar.connect();
    slow.write_all(b"GET / HT").unwrap();
    let began = Instant::now();
    let mut silent = sidecar.connect();
    assert_eq!(rest(&mut silent), "");
    assert_eq!(rest(&mut slow), "");
    let took = began.elapsed();
    assert!(took > Duration::from_secs(3) && took < Duration::from_secs(15), "{took:?}");
}

/// Each has a connection, and none of them can keep others out, or cost the lead.
#[test]
fn many_silent_readers_keep_nobody_out() {
    undisturbed(silent_readers_keep_nobody_out);
}

fn silent_readers_keep_nobody_out() {
    let place = Place::new();
    let sidecar = sidecar(&place);
    let token = sidecar.standing()["token"].clone();
    let silent: Vec<_> = (0..500).map(|_| sidecar.connect()).collect();
    let began = Instant::now();
    let standing = sidecar.standing();
    assert!(began.elapsed() < Duration::from_secs(4), "not after their time limit");
    assert_eq!(standing["token"], token);
    drop(silent);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..250).for_each(|_| assert_eq!(sidecar.standing()["token"], token)));
        }
    });
}

#[test]
fn a_port_in_use_is_refused() {
    let place = Place::new();
    let first = sidecar(&place);
    let second = place.output(&["sidecar", "job", "--listen", &first.address]);
    let said = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(71), "{said}");
    let expected = format!("--listen {} can't be used: Address already in use", first.address);
    assert!(said.contains(&expected), "{said}");
    for wrong in ["8406", "localhost:8406", "127.0.0.1", "127.0.0.1:99999"] {
        assert_eq!(place.status(&["sidecar", "job", "--listen", wrong]), 64, "{wrong}");
    }
}

#[test]
fn an_address_for_others_is_warned_of() {
    let place = Place::new();
    let warns = |listen: &str| {
        let log = place.file("log");
        let mut command = place.tenure();
        command.args(["sidecar", "job", "--listen", listen]);
        let host = Host::start(command.stderr(std::fs::File::create(&log).unwrap()));
        let mut sidecar = Sidecar::listening(host, log);
        // It handles signals before it answers, and its end waits for the log.
        assert_eq!(sidecar.get("/healthz").status, 200);
        sidecar.host.signal(Signal::SIGTERM);
        assert_eq!(sidecar.host.ends(), Some(143));
        sidecar.log().contains("other hosts may reach")
    };
    assert!(warns("0.0.0.0:0"));
    assert!(!warns("127.0.0.1:0"));
}

#[test]
fn the_validity_has_bounds() {
    let place = Place::new();
    let refused = |ttl: &str, options: &[&str]| {
        let mut command = place.tenure();
        command.env("TENURE_TTL", ttl).args(["sidecar", "job", "--listen", "127.0.0.1:0"]);
        let output = command.args(options).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{ttl} {options:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let bound = refused("1s", &["--valid-for", "1001ms"]);
    assert!(bound.contains("the drain bound is 1s: set --valid-for to 1000ms"), "{bound}");
    let most = refused("15s", &["--valid-for", "5s"]);
    assert!(most.contains("the most is 4.5s: set --valid-for to 4500ms"), "{most}");
    let zero = refused("15s", &["--valid-for", "0"]);
    assert!(zero.contains("to 2s"), "{zero}");
    // Without the option, it follows from the settings.
    let mut command = place.tenure();
    command.env("TENURE_TTL", "1s").args(["sidecar", "job"]);
    let sidecar = Sidecar::start(&place, "short", &mut command);
    wait_until("the lead", || sidecar.leads());
}
