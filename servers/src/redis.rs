//! A real `redis-server` of a test's own.

mod cluster;
mod command;
mod sentinel;

use std::fs;
use std::process::Command;
use std::time::Duration;

use redis_protocol::resp2::types::OwnedFrame;

use crate::ServerError;
use crate::clock::{Preload, ServerClock};
use crate::error::doing;
use crate::process::{Process, Program, process_methods};
pub use cluster::RedisCluster;
pub use sentinel::{RedisSentinel, RedisSentinels};

/// A decoded RESP2 reply.
pub type Reply = OwnedFrame;

const ENCRYPTED: [&str; 2] = ["--tls-cert-file", "--tls-port"];
const BUS: [&str; 2] = ["--cluster-enabled", "--cluster-port"];
const REMOVING: &str = "removing the data of a Redis server";
const PROGRAM: Program = Program { name: "redis-server", install: "apt-get install redis-server" };

/// A `redis-server` on a loopback port, with a folder of its own, stopped and removed on drop.
///
/// It keeps its data in memory only, unless the arguments given say otherwise.
#[derive(Debug)]
pub struct RedisServer {
    port: u16,
    tls_port: Option<u16>,
    /// By which nodes of a cluster reach it.
    bus_port: Option<u16>,
    args: Vec<String>,
    clock: Option<Preload>,
    process: Process,
}

impl RedisServer {
    /// Starts a server with default settings.
    pub fn start() -> Result<Self, ServerError> {
        Self::start_with(&[])
    }

    /// Starts a server with more arguments, such as `["--maxmemory-policy", "allkeys-lru"]`. One
    /// with a certificate (`--tls-cert-file`) listens for encrypted connections as well.
    ///
    /// # Errors
    /// [`ServerError::Missing`] if Redis is not installed, [`ServerError::NotReady`] if it does not
    /// answer within 60 s.
    pub fn start_with(args: &[&str]) -> Result<Self, ServerError> {
        Self::start_by(None, args)
    }

    /// The same with a clock of its own.
    ///
    /// # Errors
    /// As for [`start_with`](Self::start_with).
    pub fn start_with_clock(args: &[&str], clock: &ServerClock) -> Result<Self, ServerError> {
        Self::start_by(Some(clock.preload()), args)
    }

    fn start_by(clock: Option<Preload>, args: &[&str]) -> Result<Self, ServerError> {
        let mut process = Process::new(PROGRAM)?;
        let mut args: Vec<_> = args.iter().map(|&arg| arg.to_owned()).collect();
        let tls_port = also_encrypted(&mut args, &mut process)?;
        let bus_port = also(BUS, &mut args, &mut process)?;
        let mut server = Self { port: process.port()?, tls_port, bus_port, args, clock, process };
        server.launch()?;
        Ok(server)
    }

    /// The TCP port on 127.0.0.1; the same after a [`restart`](Self::restart).
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port on 127.0.0.1 for encrypted connections, if it listens for any.
    pub fn tls_port(&self) -> Option<u16> {
        self.tls_port
    }

    /// `redis://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    process_methods!();

    /// Kills the server and starts it again on the same port. Its data is lost unless the arguments
    /// at start asked for persistence; its run id differs in any case.
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
        for entry in fs::read_dir(self.process.folder()).map_err(doing(REMOVING))? {
            let path = entry.map_err(doing(REMOVING))?.path();
            let removed =
                if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            removed.map_err(doing(REMOVING))?;
        }
        self.launch()
    }

    /// Sends one command over a connection of its own and returns the answer; an error reply is
    /// `Ok(Reply::Error(_))`.
    ///
    /// # Errors
    /// If there is no answer within 10 s, or the answer is not RESP2.
    pub fn command(&self, args: &[&str]) -> Result<Reply, ServerError> {
        command::send(self.port, args, Duration::from_secs(10))
    }

    /// Spawns the process and waits until it answers reads.
    fn launch(&mut self) -> Result<(), ServerError> {
        let Self { port, args, clock, .. } = self;
        let port = *port;
        let configure = |command: &mut Command| {
            command
                .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
                .args(["--save", "", "--appendonly", "no"])
                .args(args.as_slice());
            if let Some(clock) = clock {
                clock.sets(command);
            }
        };
        self.process.launch(port, configure, |pid| answers(port, pid))
    }
}

/// With a certificate among the arguments, adds a port for encrypted connections.
fn also_encrypted(
    args: &mut Vec<String>,
    process: &mut Process,
) -> Result<Option<u16>, ServerError> {
    also(ENCRYPTED, args, process)
}

/// With the first argument of the two among them, adds the second, and a port.
fn also(
    [asked, adds]: [&str; 2],
    args: &mut Vec<String>,
    process: &mut Process,
) -> Result<Option<u16>, ServerError> {
    if !args.iter().any(|arg| arg == asked) {
        return Ok(None);
    }
    let port = process.port()?;
    args.extend([adds.to_owned(), port.to_string()]);
    Ok(Some(port))
}

/// True if *that* process answers and has loaded its data: another server may own the port, and
/// ours be about to end. With a password nothing can be asked, and its refusal has to do.
///
/// Whether it has loaded is asked by asking for data: INFO says `loading:0` (7.0.15) a few
/// milliseconds before that is true, and commands are still refused.
fn answers(port: u16, pid: u32) -> bool {
    let ours = format!("process_id:{pid}\r\n");
    let ask = |args: &[&str]| command::send(port, args, Duration::from_secs(1));
    match ask(&["INFO"]) {
        Ok(Reply::BulkString(info)) => {
            String::from_utf8_lossy(&info).contains(&ours)
                && match ask(&["EXISTS", "any"]) {
                    Ok(Reply::Integer(_)) => true,
                    // A node that has not met its cluster yet, or that keeps other keys.
                    Ok(Reply::Error(error)) => {
                        error.starts_with("CLUSTERDOWN") || error.starts_with("MOVED")
                    }
                    _ => false,
                }
        }
        Ok(Reply::Error(error)) => error.starts_with("NOAUTH"),
        _ => false,
    }
}
