//! The web service as two processes.

use std::io::{Read, Write};
use std::net::TcpStream;

use tenure_servers::{RedisServer, undisturbed};

use super::program::{Program, SOON, example};

/// A service, and where it listens.
pub(crate) fn start(server: &RedisServer) -> (Program, String) {
    let mut command = example("service");
    let command = command.env("REDIS_URL", server.url()).env("LISTEN", "127.0.0.1:0");
    let program = Program::start(command);
    let address = program.says("listening on ");
    (program, address)
}

/// The answer's first line, and its body.
fn get(address: &str, path: &str) -> (String, String) {
    let (head, body) = ask(address, "GET", path);
    (head.lines().next().unwrap().to_owned(), body)
}

/// The answer's head and body.
pub(crate) fn ask(address: &str, method: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    let length = "Content-Length: 0";
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\n{length}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

fn ok(body: &str) -> (String, String) {
    ("HTTP/1.1 200 OK".to_owned(), body.to_owned())
}

#[test]
fn it_names_the_leader_and_hands_over() {
    undisturbed(|| {
        let server = RedisServer::start().unwrap();
        let (mut first, address) = start(&server);
        let before = first.number("the leader's job, under token ");
        assert_eq!(get(&address, "/healthz"), ok("ok"));
        assert_eq!(get(&address, "/leader"), ok(&address));

        let (second, other) = start(&server);
        assert_ne!(address, other);
        second.says("another candidate has the lease");
        assert_eq!(get(&other, "/leader"), ok(&address));
        let (_, accepted) = ask(&address, "POST", "/orders");
        assert_eq!(accepted, format!("accepted under token {before}"));
        let leads = |address| {
            get(address, "/metrics").1.contains("\ntenure_leading{key_class=\"service\"} 1\n")
        };
        assert!(leads(&address) && !leads(&other), "{}", get(&address, "/metrics").1);
        let (refused, _) = ask(&other, "POST", "/orders");
        assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
        assert!(refused.contains(&format!("tenure-leader: {address}")), "{refused}");
        assert!(refused.contains("retry-after: "), "{refused}");
        assert!(first.terminate().success());
        let after = second.number("the leader's job, under token ");
        assert!(after > before, "{after} after {before}");
        assert_eq!(get(&other, "/leader"), ok(&other));
        assert!(TcpStream::connect(&address).is_err(), "the first one has ended");
    });
}

#[test]
fn it_is_healthy_and_says_when_the_store_does_not_answer() {
    let mut server = RedisServer::start().unwrap();
    let (service, address) = start(&server);
    service.says("the leader's job");
    server.kill().unwrap();
    assert_eq!(get(&address, "/healthz"), ok("ok"));
    assert_eq!(get(&address, "/readyz"), ok("ready"), "for a minute");
    assert_eq!(get(&address, "/leader").0, "HTTP/1.1 503 Service Unavailable");
}
