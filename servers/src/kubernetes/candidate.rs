//! A candidate of client-go, Kubernetes' own library for elections.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use super::{KubeApiServer, programs};
use crate::ServerError;
use crate::error::doing;
use crate::process::Process;

const READY_WITHIN: Duration = Duration::from_secs(60);
/// To give a lease back takes it one request.
const STOPS_WITHIN: Duration = Duration::from_secs(60);

/// A process that takes part in an election by client-go's `leaderelection`, with a `LeaseLock`. It
/// asks for the lead again when it has lost it. It is killed on drop.
#[derive(Debug)]
pub struct ClientGoCandidate {
    process: Process,
}

/// The settings of a candidate of client-go. The durations are its own settings of these names.
#[derive(Debug, Clone)]
pub struct ClientGoSettings {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub lease: String,
    /// The Lease's holder. Two candidates need two identities.
    pub identity: String,
    /// For how long a candidate must have seen the Lease unchanged before it takes it from another
    /// one. In whole seconds.
    pub lease_duration: Duration,
    /// The time that a leader tries to renew before it stops leading. Less than the lease duration.
    pub renew_deadline: Duration,
    /// The time between two renewals, and the least time between two attempts to acquire.
    pub retry_period: Duration,
    /// True if [`stop`](ClientGoCandidate::stop) gives the lease back.
    pub release_on_cancel: bool,
}

/// A reported event of a candidate of client-go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientGoEvent {
    /// The time, by the boot clock (`CLOCK_BOOTTIME`).
    pub at: Duration,
    /// The kind.
    pub kind: ClientGoEventKind,
}

/// A kind of event of a candidate of client-go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientGoEventKind {
    /// It asks for the lead from now on.
    Campaigns,
    /// It has seen another leader, of that identity (`OnNewLeader`). An empty one: the lease was
    /// given back.
    Leader(String),
    /// It leads (`OnStartedLeading`).
    Started,
    /// It was told to [stop](ClientGoCandidate::stop). A leader's work is over now, as
    /// `ReleaseOnCancel` demands: the lease is given back before the event
    /// [`Stopped`](Self::Stopped).
    Cancelled,
    /// It neither leads nor asks for the lead (`OnStoppedLeading`), whether it has led or not.
    Stopped,
}

impl ClientGoCandidate {
    /// Starts a candidate at that server, as the user who may do everything.
    ///
    /// # Errors
    /// [`ServerError::Missing`] if it is not installed, [`ServerError::NotReady`] with its log if
    /// it ends at once, as with settings that client-go refuses.
    pub fn start(server: &KubeApiServer, settings: &ClientGoSettings) -> Result<Self, ServerError> {
        Self::start_through(server, server.port(), settings)
    }

    /// Starts a candidate that reaches the server at that port of 127.0.0.1: a proxy's.
    ///
    /// # Errors
    /// As of [`start`](Self::start).
    pub fn start_through(
        server: &KubeApiServer,
        port: u16,
        settings: &ClientGoSettings,
    ) -> Result<Self, ServerError> {
        let mut process = Process::of(programs::CANDIDATE, programs::candidate()?, None)?;
        let url = format!("https://127.0.0.1:{port}");
        let kubeconfig = server.kubeconfig_at(&url, server.admin_token())?;
        let log = process.folder().join("log");
        let configure = |command: &mut Command| configure(command, &kubeconfig, settings);
        let campaigns = |_| events(&log).is_ok_and(|events| !events.is_empty());
        process.launch_within(READY_WITHIN, server.port(), configure, campaigns)?;
        Ok(Self { process })
    }

    /// The process id, or none after [`kill`](Self::kill) or [`stop`](Self::stop).
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    /// Its reports so far, in order.
    ///
    /// # Errors
    /// If that can't be read.
    pub fn events(&self) -> Result<Vec<ClientGoEvent>, ServerError> {
        events(&self.process.folder().join("log"))
    }

    /// Pauses the process (SIGSTOP).
    ///
    /// # Errors
    /// If there is none.
    pub fn pause(&self) -> Result<(), ServerError> {
        self.process.pause()
    }

    /// Lets a paused process continue (SIGCONT).
    ///
    /// # Errors
    /// If there is none.
    pub fn resume(&self) -> Result<(), ServerError> {
        self.process.resume()
    }

    /// Tells the candidate to end (SIGTERM), and waits until it has ended. A paused one must be
    /// resumed before. Stopping twice is harmless.
    ///
    /// # Errors
    /// If it did not end within 60 s. It was killed then.
    pub fn stop(&mut self) -> Result<(), ServerError> {
        if self.process.pid().is_none() {
            return Ok(());
        }
        self.process.signal(Signal::TERM)?;
        if self.process.has_ended_within(STOPS_WITHIN)? {
            return Ok(());
        }
        self.process.kill()?;
        let late = io::Error::new(io::ErrorKind::TimedOut, format!("not within {STOPS_WITHIN:?}"));
        Err(doing("stopping a candidate of client-go")(late))
    }

    /// Ends the process at once (SIGKILL), and waits until it is gone: a crash. Killing twice is
    /// harmless.
    ///
    /// # Errors
    /// If it can't be killed.
    pub fn kill(&mut self) -> Result<(), ServerError> {
        self.process.kill()
    }
}

fn configure(command: &mut Command, kubeconfig: &Path, settings: &ClientGoSettings) {
    let ClientGoSettings { namespace, lease, identity, .. } = settings;
    let nanos = |duration: Duration| format!("{}ns", duration.as_nanos());
    command
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["--namespace", namespace, "--lease", lease, "--identity", identity])
        .args(["--lease-duration", &nanos(settings.lease_duration)])
        .args(["--renew-deadline", &nanos(settings.renew_deadline)])
        .args(["--retry-period", &nanos(settings.retry_period)])
        .arg(format!("--release-on-cancel={}", settings.release_on_cancel));
}

/// The events among the complete lines of a log. Those of client-go's own log begin with no number.
fn events(log: &Path) -> Result<Vec<ClientGoEvent>, ServerError> {
    let text = fs::read_to_string(log).map_err(doing("reading the log of a candidate"))?;
    let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    Ok(lines.filter_map(event).collect())
}

fn event(line: &str) -> Option<ClientGoEvent> {
    let (at, what) = line.split_once(' ')?;
    let at = Duration::from_nanos(at.parse().ok()?);
    let kind = match what {
        "campaigns" => ClientGoEventKind::Campaigns,
        "started" => ClientGoEventKind::Started,
        "cancelled" => ClientGoEventKind::Cancelled,
        "stopped" => ClientGoEventKind::Stopped,
        what => ClientGoEventKind::Leader(what.strip_prefix("leader ")?.to_owned()),
    };
    Some(ClientGoEvent { at, kind })
}
