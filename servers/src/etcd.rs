//! A real etcd member of a test's own, and clusters of them.

mod cluster;
mod grpc_proxy;
mod http;
mod snapshot;

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::ServerError;
use crate::error::doing;
use crate::process::{Process, Program, process_methods};

pub use cluster::EtcdCluster;
pub use grpc_proxy::EtcdGrpcProxy;
pub use snapshot::EtcdSnapshot;

const PROGRAM: Program = Program { name: "etcd", install: "apt-get install etcd-server" };

/// The bound on a member's search for a majority.
const HEALTHY_WITHIN: Duration = Duration::from_secs(60);
const POLL_EVERY: Duration = Duration::from_millis(10);

/// One member of an etcd cluster on loopback ports, with a folder of its own that keeps its data
/// over a restart. Stopped and removed on drop.
#[derive(Debug)]
pub struct EtcdServer {
    ports: Ports,
    args: Vec<String>,
    process: Process,
}

#[derive(Clone, Copy, Debug)]
struct Ports {
    client: u16,
    peer: u16,
    /// Answers questions about the member's health.
    health: u16,
    /// For clients, encrypted.
    tls: Option<u16>,
}

impl Ports {
    /// With a certificate among the arguments there is one for encrypted connections.
    fn of(process: &mut Process, args: &[String]) -> Result<Self, ServerError> {
        let is_encrypted = args.iter().any(|arg| arg == "--cert-file");
        let tls = if is_encrypted { Some(process.port()?) } else { None };
        Ok(Self { client: process.port()?, peer: process.port()?, health: process.port()?, tls })
    }
}

impl EtcdServer {
    /// Starts a cluster of one member.
    ///
    /// # Errors
    /// [`ServerError::Missing`] if etcd is not installed, [`ServerError::NotReady`] if it does not
    /// serve within 60 s.
    pub fn start() -> Result<Self, ServerError> {
        Self::start_with(&[])
    }

    /// The same with more arguments, such as `["--quota-backend-bytes", "16777216"]`. One with a
    /// certificate (`--cert-file`) listens for encrypted connections as well.
    pub fn start_with(args: &[&str]) -> Result<Self, ServerError> {
        let mut process = Process::new(PROGRAM)?;
        let mut args: Vec<_> = args.iter().map(|&arg| arg.to_owned()).collect();
        let ports = Ports::of(&mut process, &args)?;
        args.extend(
            ["--name", "one", MEMBERS, &format!("one={}", peer_url(ports))].map(str::to_owned),
        );
        let mut server = Self { ports, args, process };
        server.launch(is_healthy)?;
        Ok(server)
    }

    /// The TCP port for clients on 127.0.0.1; the same after a [`restart`](Self::restart).
    pub fn port(&self) -> u16 {
        self.ports.client
    }

    /// The port on 127.0.0.1 for encrypted connections of clients, if it listens for any.
    pub fn tls_port(&self) -> Option<u16> {
        self.ports.tls
    }

    process_methods!();

    /// Kills the member and starts it again with its data, on the same ports.
    pub fn restart(&mut self) -> Result<(), ServerError> {
        self.kill()?;
        self.launch(is_healthy)
    }

    /// Kills the member, and starts it again without its data, as a new cluster with the same
    /// flags.
    pub fn restart_empty(&mut self) -> Result<(), ServerError> {
        self.kill()?;
        self.forgets()?;
        self.launch(is_healthy)
    }

    /// Removes the data of a member that does not run.
    fn forgets(&self) -> Result<(), ServerError> {
        let data = self.process.folder().join("data");
        fs::remove_dir_all(data).map_err(doing("removing a server's data"))
    }

    /// Kills the member, has `command` make a new data folder, and starts it again with that. The
    /// folder's path is the last argument.
    pub fn restart_from(&mut self, command: &mut Command) -> Result<(), ServerError> {
        self.kill()?;
        let data = self.process.folder().join("data");
        fs::remove_dir_all(&data).map_err(doing("removing a server's data"))?;
        let output = command.arg(&data).output().map_err(doing("making a server's data"))?;
        if !output.status.success() {
            let detail = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(ServerError::Protocol { port: self.port(), detail });
        }
        self.launch(is_healthy)
    }

    /// One call of the JSON gateway, such as `("maintenance/status", "{}")`, and its answer.
    ///
    /// # Errors
    /// If there is no answer within 10 s, or it tells of an error.
    pub fn api(&self, method: &str, request: &str) -> Result<Value, ServerError> {
        http::post(self.port(), &format!("/v3/{method}"), request, None)
    }

    /// The same as that user, with its password.
    ///
    /// # Errors
    /// As for [`api`](Self::api).
    pub fn api_as(
        &self,
        (name, password): (&str, &str),
        method: &str,
        request: &str,
    ) -> Result<Value, ServerError> {
        let user = serde_json::json!({ "name": name, "password": password }).to_string();
        let answer = self.api("auth/authenticate", &user)?;
        let token = answer["token"].as_str();
        http::post(self.port(), &format!("/v3/{method}"), request, token)
    }

    /// The value of a metric without labels, below a million, such as
    /// `etcd_debugging_mvcc_watcher_total`.
    ///
    /// # Errors
    /// If there is no answer within 10 s, or no such metric.
    pub fn metric(&self, name: &str) -> Result<usize, ServerError> {
        http::metric(self.port(), name)
    }

    /// The URL by which other members know this one.
    pub fn peer_url(&self) -> String {
        peer_url(self.ports)
    }

    fn launch(&mut self, ready: fn(Ports) -> bool) -> Result<(), ServerError> {
        let ports = self.ports;
        let configure = |command: &mut Command| configure(command, ports, &self.args);
        self.process.launch(ports.client, configure, |_| ready(ports))
    }
}

const MEMBERS: &str = "--initial-cluster";

fn peer_url(ports: Ports) -> String {
    format!("http://127.0.0.1:{}", ports.peer)
}

fn configure(command: &mut Command, ports: Ports, args: &[String]) {
    let plain = format!("http://127.0.0.1:{}", ports.client);
    let clients = match ports.tls {
        Some(port) => format!("{plain},https://127.0.0.1:{port}"),
        None => plain,
    };
    let (peer, health) = (peer_url(ports), format!("http://127.0.0.1:{}", ports.health));
    command
        .args(["--data-dir", "data", "--logger", "zap", "--log-level", "warn"])
        .args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients])
        .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
        .args(["--listen-metrics-urls", &health])
        .args(args);
}

/// True if the member can reach a majority.
fn is_healthy(ports: Ports) -> bool {
    http::get(ports.health, "/health").is_ok_and(|answer| answer["health"] == "true")
}

/// True if the member has begun to listen, with or without a majority.
fn listens(ports: Ports) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, ports.peer)).is_ok()
}

/// Waits until `holds`.
fn within_the_bound(port: u16, mut holds: impl FnMut() -> bool) -> Result<(), ServerError> {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > HEALTHY_WITHIN {
            return Err(ServerError::NotReady {
                program: PROGRAM.name,
                port,
                bound: HEALTHY_WITHIN,
                log: String::new(),
            });
        }
        thread::sleep(POLL_EVERY);
    }
    Ok(())
}
