//! A client that speaks HTTP by hand, so that it can also speak it badly, and sidecars to ask.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::hosts::{Host, Place, wait_until};

/// A running `tenure sidecar`.
pub(crate) struct Sidecar {
    pub(crate) host: Host,
    pub(crate) address: String,
    log: PathBuf,
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Sidecar {
    /// With a free port, and a log of that name.
    pub(crate) fn start(place: &Place, log: &str, command: &mut Command) -> Self {
        let log = place.file(log);
        command.args(["--listen", "127.0.0.1:0"]).stderr(File::create(&log).unwrap());
        Self::listening(Host::start(command), log)
    }

    /// Its log is that file.
    pub(crate) fn listening(host: Host, log: PathBuf) -> Self {
        let mut address = None;
        wait_until("the sidecar's address", || {
            let said = fs::read_to_string(&log).unwrap();
            let after = said.split_once("listens on http://").map(|(_, rest)| rest.to_owned());
            address = after.and_then(|rest| Some(rest.split_once('/')?.0.to_owned()));
            address.is_some()
        });
        Self { host, address: address.unwrap(), log }
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// The answer to these bytes, until the connection ends.
    pub(crate) fn says(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // It may answer, and close, before it has read all of it.
        let _ = stream.write_all(bytes);
        rest(&mut stream)
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> Reply {
        let said = self.says(format!("{method} {path} HTTP/1.1\r\nHost: it\r\n\r\n").as_bytes());
        Reply::read(&said)
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.request("GET", path)
    }

    /// The answer to `GET /`.
    pub(crate) fn standing(&self) -> Value {
        let reply = self.get("/");
        assert_eq!(reply.status, 200, "{}", reply.body);
        serde_json::from_str(&reply.body).unwrap()
    }

    pub(crate) fn leads(&self) -> bool {
        self.standing()["leads"].as_bool().unwrap()
    }
}

impl Reply {
    pub(crate) fn read(said: &str) -> Self {
        let (head, body) =
            said.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no reply: {said:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head: head.to_lowercase(), body: body.to_owned() }
    }
}

/// The text until the end of the connection; an abrupt end is one too.
pub(crate) fn rest(stream: &mut TcpStream) -> String {
    let mut said = Vec::new();
    let mut bytes = [0; 4096];
    loop {
        match stream.read(&mut bytes) {
            Ok(read @ 1..) => said.extend_from_slice(&bytes[..read]),
            // After a pause of the machine, since the stream has a time limit.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => break,
        }
    }
    String::from_utf8(said).unwrap()
}
