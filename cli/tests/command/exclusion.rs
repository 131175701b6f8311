//! One of two hosts runs its command at a time.

use std::any::Any;
use std::fs::{self, File};
use std::process::Command;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use tenure_servers::RedisServer;

use super::hosts::{Host, Place, example, wait_until};
use super::journal::Journal;

pub(crate) const TTL: Duration = Duration::from_secs(2);

/// A store, and commands that write into one journal.
pub(crate) struct Election {
    pub(crate) place: Place,
    pub(crate) journal: Journal,
    pub(crate) ttl: Duration,
    /// `None` for the usual part of the TTL.
    renew_interval: Option<Duration>,
    /// The store's URL, and its server.
    server: Option<(String, Box<dyn Any + Send + Sync>)>,
}

impl Election {
    pub(crate) fn in_a_file() -> Self {
        let place = Place::new();
        let journal = Journal::new(place.file("journal"));
        Self { place, journal, ttl: TTL, renew_interval: None, server: None }
    }

    pub(crate) fn at_redis() -> Self {
        let server = RedisServer::start().unwrap();
        Self::at(server.url(), server)
    }

    pub(crate) fn at(url: impl Into<String>, server: impl Any + Send + Sync) -> Self {
        Self { server: Some((url.into(), Box::new(server))), ..Self::in_a_file() }
    }

    /// With leases that outlast a pause of the machine, and that are renewed often. The next leader
    /// after a crash comes late.
    pub(crate) fn steady(self) -> Self {
        let renew_interval = Some(Duration::from_millis(500));
        Self { ttl: Duration::from_secs(15), renew_interval, ..self }
    }

    /// The same, with the next leader within seconds.
    pub(crate) fn brief(self) -> Self {
        Self { ttl: Duration::from_secs(8), ..self.steady() }
    }

    /// `tenure`, with the store that is meant.
    pub(crate) fn tenure(&self) -> Command {
        let mut command = self.place.tenure();
        command.env("TENURE_TTL", format!("{}ms", self.ttl.as_millis()));
        if let Some(interval) = self.renew_interval {
            command.env("TENURE_RENEW_INTERVAL", format!("{}ms", interval.as_millis()));
        }
        command.env("TENURE_STORE", self.server.as_ref().map_or("own", |(url, _)| url.as_str()));
        command
    }

    /// `tenure run`, with options of its own and of the command.
    pub(crate) fn command(&self, options: &[&str], kind: &[&str]) -> Command {
        let mut command = self.tenure();
        command.args(["run", "job"]).args(options);
        command.arg("--").arg(example("alive")).arg(&self.journal.file).args(kind);
        command
    }

    pub(crate) fn host(&self, kind: &[&str]) -> Host {
        Host::start(&mut self.command(&[], kind))
    }
}

fn hand_over_by_sigterm(election: &Election) {
    let mut hosts = vec![election.host(&[]), election.host(&[])];
    let mut token = 0;
    for _ in 0..5 {
        let leader = election.journal.next_after(token);
        token = leader.token;
        let guard = super::hosts::parent(leader.process).unwrap();
        let supervisor = super::hosts::supervisor(guard).unwrap();
        let index = hosts.iter().position(|host| host.id() == supervisor).unwrap();
        let mut host = hosts.remove(index);
        host.signal(Signal::SIGTERM);
        assert_eq!(host.ends(), Some(128 + 15), "as its command");
        hosts.push(election.host(&[]));
    }
    election.journal.next_after(token);
    election.journal.assert_excluded(6);
}

#[test]
fn a_file_hands_over_by_sigterm() {
    hand_over_by_sigterm(&Election::in_a_file().steady());
}

#[test]
fn redis_hands_over_by_sigterm() {
    hand_over_by_sigterm(&Election::at_redis().steady());
}

/// The lease is given back only when nothing of the command is left, however long that takes.
#[test]
fn redis_waits_for_a_slow_end() {
    let election = Election::at_redis().steady();
    let start = || {
        let kind = ["ignore-term", "fork", "detach"];
        Host::start(&mut election.command(&["--stop-grace", "500ms"], &kind))
    };
    let mut hosts = vec![start(), start()];
    let mut token = 0;
    for _ in 0..3 {
        let leader = election.journal.next_after(token);
        token = leader.token;
        election.journal.begun("detached", token);
        let guard = super::hosts::parent(leader.process).unwrap();
        let supervisor = super::hosts::supervisor(guard).unwrap();
        let index = hosts.iter().position(|host| host.id() == supervisor).unwrap();
        let mut host = hosts.remove(index);
        host.signal(Signal::SIGTERM);
        assert_eq!(host.ends(), Some(128 + 9), "it was killed");
        hosts.push(start());
    }
    election.journal.next_after(token);
    election.journal.assert_excluded(4);
}

/// The command has its time, also if that is longer than a lease. The log warns of nothing.
#[test]
fn a_handover_leaves_the_stop_grace() {
    let place = Place::new();
    let (log, begun, done) = (place.file("log"), place.file("begun"), place.file("done"));
    let host = |name, script: &str| {
        let mut command = place.tenure();
        command.env("TENURE_STORE", "own");
        command.env("TENURE_TTL", "8s").env("TENURE_RENEW_INTERVAL", "500ms");
        command.args(["run", "job", "--name", name, "--stop-grace", "1m", "--"]);
        command.args(["sh", "-c", script]);
        command
    };
    let slow = format!(
        "trap 'sleep 10; touch {}; exit 0' TERM; touch {}; while :; do sleep 0.05; done",
        done.display(),
        begun.display()
    );
    let first = Host::start(host("host-a", &slow).stderr(File::create(&log).unwrap()));
    wait_until("the command", || begun.exists());
    let second = Host::start(&mut host("host-b", "exec sleep 600"));
    let asks = ["handover", "job", "--to", "host-b", "--store", "own", "--timeout", "1m"];
    assert_eq!(place.status(&asks), 0);
    assert!(done.exists(), "it was killed before its time was over");
    let said = fs::read_to_string(&log).unwrap();
    assert!(!["lost", "dropped", "Result"].iter().any(|word| said.contains(word)), "{said}");
    drop((first, second));
}

#[test]
fn waiting_hosts_run_nothing() {
    let election = Election::in_a_file().steady();
    let hosts: Vec<_> = (0..4).map(|_| election.host(&[])).collect();
    election.journal.next_after(0);
    // The others see several renewals.
    thread::sleep(Duration::from_secs(4));
    assert_eq!(election.journal.begins("main").len(), 1);
    assert_eq!(election.journal.living("main").len(), 1);
    drop(hosts);
}

/// A store that is cut off costs the lead, and the command ends before its lease does.
#[test]
fn redis_that_is_cut_off_ends_the_command() {
    use tenure_servers::{Flow, Proxy};

    let server = RedisServer::start().unwrap();
    let address = ([127, 0, 0, 1], server.port()).into();
    let election = Election::at(server.url(), server).brief();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let proxy = runtime.block_on(Proxy::start(address)).unwrap();
    let url = format!("redis://127.0.0.1:{}", proxy.port());
    let mut cut =
        Host::start(election.command(&[], &["ignore-term", "fork"]).env("TENURE_STORE", url));
    let first = election.journal.next_after(0);
    election.journal.begun("forked", first.token);
    let other = election.host(&[]);
    proxy.set(Flow::Hold);
    let second = election.journal.next_after(first.token);
    assert!(!cut.has_ended(), "it waits for the lead again");
    proxy.set(Flow::Forward);
    drop(other);
    election.journal.next_after(second.token);
    election.journal.assert_excluded(3);
}
