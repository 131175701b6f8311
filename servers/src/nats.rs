//! A real `nats-server` of a test's own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::time::Duration;

use crate::ServerError;
use crate::child::find;
use crate::error::doing;
use crate::process::{Process, Program, process_methods};

const PROGRAM: Program = Program { name: "nats-server", install: "apt-get install nats-server" };
/// Debian keeps it where only root's path leads.
const FOLDER: &str = "/usr/sbin";
/// Streams are kept below it.
const STREAMS: &str = "streams";

/// A `nats-server` with its streams, on a loopback port, with a folder of its own, stopped and
/// removed on drop. It writes what it acknowledges to files, and syncs them later.
#[derive(Debug)]
pub struct NatsServer {
    port: u16,
    process: Process,
}

impl NatsServer {
    /// Starts a server.
    ///
    /// # Errors
    /// [`ServerError::Missing`] if it is not installed, [`ServerError::NotReady`] if it does not
    /// answer within 60 s.
    pub fn start() -> Result<Self, ServerError> {
        let Some(path) = find(PROGRAM.name, vec![FOLDER.into()]) else {
            let Program { name: program, install } = PROGRAM;
            return Err(ServerError::Missing { program, install });
        };
        let mut process = Process::of(PROGRAM, path, None)?;
        let mut server = Self { port: process.port()?, process };
        server.launch()?;
        Ok(server)
    }

    /// The TCP port on 127.0.0.1; the same after a [`restart`](Self::restart).
    pub fn port(&self) -> u16 {
        self.port
    }

    process_methods!();

    /// Kills the server and starts it again on the same port with its data.
    ///
    /// # Errors
    /// [`ServerError::NotReady`] if it does not answer within 60 s.
    pub fn restart(&mut self) -> Result<(), ServerError> {
        self.kill()?;
        self.launch()
    }

    /// Kills the server if it runs, and starts it again on the same port without its data.
    ///
    /// # Errors
    /// As for [`restart`](Self::restart), and if its files can't be removed.
    pub fn restart_empty(&mut self) -> Result<(), ServerError> {
        self.kill()?;
        fs::remove_dir_all(self.process.folder().join(STREAMS))
            .map_err(doing("removing the data of a NATS server"))?;
        self.launch()
    }

    fn launch(&mut self) -> Result<(), ServerError> {
        let port = self.port;
        let configure = |command: &mut Command| {
            let port = port.to_string();
            command.args(["-a", "127.0.0.1", "-p", &port, "-js", "-sd", STREAMS]);
        };
        self.process.launch(port, configure, |_| is_ready(port))
    }
}

/// True if the server greets, and has streams.
fn is_ready(port: u16) -> bool {
    let Ok(stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return false };
    let mut greeting = String::new();
    stream.set_read_timeout(Some(Duration::from_secs(1))).is_ok()
        && BufReader::new(stream).read_line(&mut greeting).is_ok()
        && greeting.contains("\"jetstream\":true")
}
