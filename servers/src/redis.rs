//! A real `redis-server` of a test's own.

mod command;

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use redis_protocol::resp2::types::OwnedFrame;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::ServerError;
use crate::child;
use crate::error::doing;

/// A decoded RESP2 reply.
pub type Reply = OwnedFrame;

const PROGRAM: &str = "redis-server";
/// Generous, because continuous integration starts servers on loaded machines.
const READY_WITHIN: Duration = Duration::from_secs(20);
const POLL_EVERY: Duration = Duration::from_millis(5);
/// Another process may take the free port between our finding it and the server's binding it.
const PORT_ATTEMPTS: u32 = 5;

/// A `redis-server` on a loopback port, with a folder of its own, stopped and removed on drop.
///
/// It keeps its data in memory only, unless the arguments given say otherwise.
#[derive(Debug)]
pub struct RedisServer {
    port: u16,
    args: Vec<String>,
    folder: TempDir,
    /// None after [`kill`](Self::kill).
    child: Option<Child>,
}

impl RedisServer {
    /// Starts a server with default settings.
    pub fn start() -> Result<Self, ServerError> {
        Self::start_with(&[])
    }

    /// Starts a server with more arguments, such as `["--maxmemory-policy", "allkeys-lru"]`.
    ///
    /// # Errors
    /// [`ServerError::Missing`] if Redis is not installed, [`ServerError::NotReady`] if it does not
    /// answer within 20 s.
    pub fn start_with(args: &[&str]) -> Result<Self, ServerError> {
        if !child::is_installed(PROGRAM) {
            return Err(ServerError::Missing {
                program: PROGRAM,
                install: "apt-get install redis-server",
            });
        }
        let mut server = Self {
            port: 0,
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            folder: tempfile::tempdir().map_err(doing("creating a folder for redis-server"))?,
            child: None,
        };
        for attempt in 1.. {
            server.port = free_port()?;
            match server.launch() {
                Err(ServerError::NotReady { log, .. })
                    if attempt < PORT_ATTEMPTS && log.contains("Address already in use") => {}
                outcome => return outcome.map(|()| server),
            }
        }
        unreachable!("the last attempt returns its outcome")
    }

    /// The TCP port on 127.0.0.1; the same after a [`restart`](Self::restart).
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `redis://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The process id, or none after [`kill`](Self::kill).
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Stops the process where it is (SIGSTOP): connections stay open, requests queue in the kernel.
    pub fn pause(&self) -> Result<(), ServerError> {
        self.signal(Signal::STOP)
    }

    /// Lets a paused process go on (SIGCONT): it then executes what has queued.
    pub fn resume(&self) -> Result<(), ServerError> {
        self.signal(Signal::CONT)
    }

    /// Ends the process at once (SIGKILL) and waits until it is gone. Killing twice is harmless.
    pub fn kill(&mut self) -> Result<(), ServerError> {
        if let Some(mut child) = self.child.take() {
            child.kill().map_err(doing("killing redis-server"))?;
            child.wait().map_err(doing("waiting for redis-server to end"))?;
        }
        Ok(())
    }

    /// Kills the server and starts it again on the same port. Its data is lost unless the arguments
    /// at start asked for persistence; its run id differs in any case.
    pub fn restart(&mut self) -> Result<(), ServerError> {
        self.kill()?;
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

    fn signal(&self, signal: Signal) -> Result<(), ServerError> {
        let pid = self.pid().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let outcome = pid.map_or(Err(rustix::io::Errno::SRCH), |pid| kill_process(pid, signal));
        outcome.map_err(|errno| doing("signalling redis-server")(errno.into()))
    }

    /// Spawns the process and waits until it answers PING.
    fn launch(&mut self) -> Result<(), ServerError> {
        let log_path = self.folder.path().join("log");
        let creating = || doing("creating the log of redis-server");
        let log = fs::File::create(&log_path).map_err(creating())?;
        let complaints = log.try_clone().map_err(creating())?;
        let mut command = child::command(PROGRAM);
        command
            .current_dir(self.folder.path())
            .args(["--bind", "127.0.0.1", "--port", &self.port.to_string()])
            .args(["--save", "", "--appendonly", "no"])
            .args(&self.args)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(complaints);
        self.child = Some(child::spawn(command).map_err(doing("starting redis-server"))?);

        let started = Instant::now();
        while started.elapsed() < READY_WITHIN && self.is_running()? {
            if self.answers() {
                return Ok(());
            }
            thread::sleep(POLL_EVERY);
        }
        self.kill()?;
        Err(ServerError::NotReady {
            program: PROGRAM,
            port: self.port,
            bound: READY_WITHIN,
            log: fs::read_to_string(&log_path).unwrap_or_default(),
        })
    }

    fn is_running(&mut self) -> Result<bool, ServerError> {
        match &mut self.child {
            Some(child) => {
                Ok(child.try_wait().map_err(doing("looking after redis-server"))?.is_none())
            }
            None => Ok(false),
        }
    }

    /// Whether *this* process answers and has loaded its data: another server may own the port, and
    /// ours be about to end. With a password nothing can be asked, and its refusal has to do.
    ///
    /// Whether it has loaded is asked by asking for data: INFO says `loading:0` (7.0.15) a few milliseconds
    /// before that is true, and commands are still refused.
    fn answers(&self) -> bool {
        let ours = format!("process_id:{}\r\n", self.pid().unwrap_or_default());
        let ask = |args: &[&str]| command::send(self.port, args, Duration::from_secs(1));
        match ask(&["INFO"]) {
            Ok(Reply::BulkString(info)) => {
                String::from_utf8_lossy(&info).contains(&ours)
                    && matches!(ask(&["EXISTS", "any"]), Ok(Reply::Integer(_)))
            }
            Ok(Reply::Error(error)) => error.starts_with("NOAUTH"),
            _ => false,
        }
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and a panic would hide the test's own.
        let _ = self.kill();
    }
}

fn free_port() -> Result<u16, ServerError> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(doing("finding a free port"))?;
    Ok(listener.local_addr().map_err(doing("finding a free port"))?.port())
}
