//! A primary, its replicas, and the sentinels that watch them.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use super::{PROGRAM, RedisServer, Reply, also_encrypted, command};
use crate::ServerError;
use crate::error::doing;
use crate::process::Process;

const SETTLED_WITHIN: Duration = Duration::from_secs(60);
const POLL_EVERY: Duration = Duration::from_millis(20);

/// The options of replicas, so that they follow at once.
pub(super) const EAGER: [&str; 4] =
    ["--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"];

/// A replicated Redis that is watched. All of it is stopped and removed on drop.
///
/// A primary that does not answer for two seconds is replaced: that takes a few seconds.
#[derive(Debug)]
pub struct RedisSentinels {
    servers: Vec<RedisServer>,
    sentinels: Vec<RedisSentinel>,
}

/// One of the sentinels.
#[derive(Debug)]
pub struct RedisSentinel {
    port: u16,
    tls_port: Option<u16>,
    process: Process,
}

impl RedisSentinels {
    /// The name under which the primary is watched.
    pub const NAME: &str = "tenure-test";

    /// Starts a primary with those arguments, which is server 0, so many replicas of it with the
    /// same arguments, and so many sentinels of which more than half decide; and waits until they
    /// know each other. With certificates, all of them speak to each other encrypted.
    ///
    /// # Errors
    /// As [`RedisServer::start_with`].
    pub fn start(replicas: usize, sentinels: usize, args: &[&str]) -> Result<Self, ServerError> {
        let primary = RedisServer::start_with(&[&EAGER[..], args].concat())?;
        if primary.tls_port().is_some() {
            // For when it is a replica.
            primary.command(&["CONFIG", "SET", "tls-replication", "yes"])?;
        }
        let mut watched = Self { servers: vec![primary], sentinels: Vec::new() };
        for _ in 0..replicas {
            let replica = watched.servers[0].start_replica(args)?;
            watched.servers.push(replica);
        }
        let quorum = sentinels / 2 + 1;
        for _ in 0..sentinels {
            let sentinel = RedisSentinel::start(&watched.servers[0], quorum, args)?;
            watched.sentinels.push(sentinel);
        }
        for sentinel in &watched.sentinels {
            settles(sentinel.port, "it does not know the others", || {
                let knows =
                    |fact, wanted: usize| Ok(sentinel.fact(fact)? == Some(wanted.to_string()));
                Ok(knows("num-slaves", replicas)? && knows("num-other-sentinels", sentinels - 1)?)
            })?;
        }
        Ok(watched)
    }

    /// A server, from 0. Which of them is the primary changes.
    ///
    /// # Panics
    /// If there is none of that number.
    pub fn server(&self, number: usize) -> &RedisServer {
        &self.servers[number]
    }

    /// The same, to be killed or started again.
    ///
    /// # Panics
    /// If there is none of that number.
    pub fn server_mut(&mut self, number: usize) -> &mut RedisServer {
        &mut self.servers[number]
    }

    /// A sentinel, from 0.
    ///
    /// # Panics
    /// If there is none of that number.
    pub fn sentinel(&self, number: usize) -> &RedisSentinel {
        &self.sentinels[number]
    }

    /// The sentinels' ports.
    pub fn ports(&self) -> Vec<u16> {
        self.sentinels.iter().map(|sentinel| sentinel.port).collect()
    }

    /// The sentinels' ports for encrypted connections.
    pub fn tls_ports(&self) -> Vec<u16> {
        self.sentinels.iter().filter_map(|sentinel| sentinel.tls_port).collect()
    }

    /// The number of the primary, as more than half of the sentinels say; none while they disagree.
    ///
    /// # Errors
    /// If one of them does not answer.
    pub fn primary(&self) -> Result<Option<usize>, ServerError> {
        let mut votes = vec![0; self.servers.len()];
        for sentinel in &self.sentinels {
            let port = sentinel.fact("port")?;
            let of = |server: &RedisServer| Some(server.inner_port().to_string()) == port;
            if let Some(number) = self.servers.iter().position(of) {
                votes[number] += 1;
            }
        }
        Ok(votes.iter().position(|votes| *votes > self.sentinels.len() / 2))
    }

    /// Waits until another server than that is the primary; its number.
    ///
    /// # Errors
    /// If that does not happen within 60 s.
    pub fn replaced(&self, number: usize) -> Result<usize, ServerError> {
        let mut found = None;
        settles(self.servers[number].port(), "it is not replaced", || {
            found = self.primary()?.filter(|primary| *primary != number);
            Ok(found.is_some())
        })?;
        let (port, detail) = (self.servers[number].port(), "it is not replaced".to_owned());
        found.ok_or(ServerError::Protocol { port, detail })
    }
}

impl RedisServer {
    /// Starts a replica of this server with those arguments, and waits until it follows.
    ///
    /// # Errors
    /// As [`RedisServer::start_with`].
    pub fn start_replica(&self, args: &[&str]) -> Result<Self, ServerError> {
        // Whatever this server was started with, a replica of it need not wait for others.
        self.command(&["CONFIG", "SET", "repl-diskless-sync-delay", "0"])?;
        let port = self.inner_port().to_string();
        let of = ["--replicaof", "127.0.0.1", &port];
        let own = [&encrypting(self.tls_port())[..], &of].concat();
        let replica = Self::start_with(&[&EAGER[..], args, &own].concat())?;
        replica.follows()?;
        Ok(replica)
    }

    /// The port by which replicas and sentinels reach it.
    fn inner_port(&self) -> u16 {
        self.tls_port().unwrap_or(self.port())
    }

    /// Waits until this replica has caught up with its primary.
    ///
    /// # Errors
    /// If it has not within 60 s.
    pub fn follows(&self) -> Result<(), ServerError> {
        settles(self.port(), "it does not follow", || {
            let info = self.command(&["INFO", "replication"])?;
            let Reply::BulkString(info) = info else { return Ok(false) };
            Ok(String::from_utf8_lossy(&info).contains("master_link_status:up"))
        })
    }
}

/// Options that make a server or a sentinel with a certificate use it for its own connections, too.
fn encrypting(tls_port: Option<u16>) -> Vec<&'static str> {
    if tls_port.is_some() { vec!["--tls-replication", "yes"] } else { Vec::new() }
}

impl RedisSentinel {
    /// Starts one that watches that primary. Of the arguments, it takes those about certificates.
    fn start(primary: &RedisServer, quorum: usize, args: &[&str]) -> Result<Self, ServerError> {
        let mut process = Process::new(PROGRAM)?;
        let (name, primary) = (RedisSentinels::NAME, primary.inner_port());
        let (name_and_value, _) = args.as_chunks::<2>();
        let of_certificates = name_and_value.iter().filter(|[name, _]| name.starts_with("--tls-"));
        let mut args: Vec<_> = of_certificates.flatten().map(|&arg| arg.to_owned()).collect();
        let tls_port = also_encrypted(&mut args, &mut process)?;
        let settings = format!(
            "sentinel monitor {name} 127.0.0.1 {primary} {quorum}\n\
             sentinel down-after-milliseconds {name} 2000\n\
             sentinel failover-timeout {name} 3000\n"
        );
        // It writes what it learns into this file.
        let file = process.folder().join("sentinel.conf");
        fs::write(&file, settings).map_err(doing("writing a sentinel's settings"))?;
        let port = process.port()?;
        let configure = |command: &mut std::process::Command| {
            command.arg(&file).arg("--sentinel");
            command.args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
            command.args(&args).args(encrypting(tls_port));
        };
        process.launch(port, configure, |pid| answers(port, pid))?;
        let sentinel = Self { port, tls_port, process };
        // A loaded machine must not make it believe that its clock is wrong, and then do nothing.
        let set = ["INFO-PERIOD", "500", "ASK-PERIOD", "200", "TILT-TRIGGER", "60000"];
        sentinel.command(&[&["SENTINEL", "DEBUG"], &set[..]].concat())?;
        Ok(sentinel)
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops the process where it is (SIGSTOP).
    ///
    /// # Errors
    /// If there is none.
    pub fn pause(&self) -> Result<(), ServerError> {
        self.process.pause()
    }

    /// Lets it go on (SIGCONT).
    ///
    /// # Errors
    /// If there is none.
    pub fn resume(&self) -> Result<(), ServerError> {
        self.process.resume()
    }

    /// Sends a command as [`RedisServer::command`] does.
    ///
    /// # Errors
    /// As [`RedisServer::command`].
    pub fn command(&self, args: &[&str]) -> Result<Reply, ServerError> {
        command::send(self.port, args, Duration::from_secs(10))
    }

    /// A fact about the primary.
    fn fact(&self, name: &str) -> Result<Option<String>, ServerError> {
        let Reply::Array(facts) = self.command(&["SENTINEL", "MASTER", RedisSentinels::NAME])?
        else {
            return Ok(None);
        };
        let text = |reply: &Reply| match reply {
            Reply::BulkString(text) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        };
        let found = facts.chunks(2).find(|pair| text(&pair[0]).as_deref() == Some(name));
        Ok(found.and_then(|pair| text(pair.get(1)?)))
    }
}

fn answers(port: u16, pid: u32) -> bool {
    let ours = format!("process_id:{pid}\r\n");
    let info = command::send(port, &["INFO"], Duration::from_secs(1));
    matches!(info, Ok(Reply::BulkString(info)) if String::from_utf8_lossy(&info).contains(&ours))
}

/// Waits until something is so.
pub(super) fn settles(
    port: u16,
    otherwise: &str,
    mut is_so: impl FnMut() -> Result<bool, ServerError>,
) -> Result<(), ServerError> {
    let began = Instant::now();
    while !is_so()? {
        if began.elapsed() >= SETTLED_WITHIN {
            let detail = format!("{otherwise} after {SETTLED_WITHIN:?}");
            return Err(ServerError::Protocol { port, detail });
        }
        thread::sleep(POLL_EVERY);
    }
    Ok(())
}
