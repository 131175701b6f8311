//! The notices of `tenure run` and `tenure sidecar` to a service manager, and the unit of
//! ops/systemd.

use std::fs;
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tenure_servers::{RedisServer, undisturbed};

use super::hosts::{Host, Place, SOON, wait_until};

/// A service manager: it has what it was told, in order.
struct Manager {
    socket: UnixDatagram,
    name: String,
    told: Vec<String>,
}

impl Manager {
    fn at_path(place: &Place, name: &str) -> Self {
        let path = place.file(name);
        Self::new(UnixDatagram::bind(&path).unwrap(), path.to_str().unwrap().to_owned())
    }

    fn abstract_named(place: &Place) -> Self {
        let name = place.file("manager").to_str().unwrap().to_owned();
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        Self::new(UnixDatagram::bind_addr(&address).unwrap(), format!("@{name}"))
    }

    fn new(socket: UnixDatagram, name: String) -> Self {
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        Self { socket, name, told: Vec::new() }
    }

    fn read(&mut self) {
        let mut bytes = [0; 4096];
        match self.socket.recv(&mut bytes) {
            Ok(length) => {
                let text = std::str::from_utf8(&bytes[..length]).unwrap();
                self.told.extend(text.lines().map(ToOwned::to_owned));
            }
            Err(error) => match error.kind() {
                // Interrupted by a pause of the machine.
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                _ => panic!("{error}"),
            },
        }
    }

    /// Waits for a line that begins so, and yields where it stands.
    fn hears(&mut self, start: &str) -> usize {
        let end = Instant::now() + SOON;
        loop {
            if let Some(index) = self.told.iter().position(|line| line.starts_with(start)) {
                return index;
            }
            assert!(Instant::now() < end, "no {start}: {:?}", self.told);
            self.read();
        }
    }

    fn heard(&self, line: &str) -> bool {
        self.told.iter().any(|told| told == line)
    }
}

/// With a lease that outlasts a pause of the machine.
fn told(place: &Place, manager: &str) -> Command {
    let mut command = place.tenure();
    command.env("TENURE_TTL", "8s").env("TENURE_RENEW_INTERVAL", "500ms");
    command.env("NOTIFY_SOCKET", manager);
    command
}

fn run(place: &Place, name: &str, manager: &str) -> Command {
    let mut command = told(place, manager);
    command.args(["run", "job", "--name", name, "--", "sleep", "600"]);
    command
}

fn sidecar(place: &Place, name: &str, manager: &str) -> Command {
    let mut command = told(place, manager);
    command.args(["sidecar", "job", "--name", name, "--listen", "127.0.0.1:0"]);
    command
}

fn told_in_order(place: &Place, mut manager: Manager, mut command: Command) {
    let mut host = Host::start(&mut command);
    let ready = manager.hears("READY=1");
    let leads = manager.hears("STATUS=leads with token ");
    host.signal(Signal::SIGTERM);
    let stopping = manager.hears("STOPPING=1");
    assert!(ready < leads && leads < stopping, "{:?}", manager.told);
    assert_eq!(host.ends(), Some(143));
    manager.read();
    assert_eq!(manager.told.iter().filter(|line| *line == "READY=1").count(), 1);
    assert!(manager.told[stopping + 1..].iter().all(|line| line.starts_with("STATUS=ending")));
    assert!(!manager.heard("WATCHDOG=1"), "none was asked for");
    assert_eq!(place.status(&["status", "job"]), 1, "the lead was given back");
}

#[test]
fn run_tells_its_manager_in_order() {
    let place = Place::new();
    let manager = Manager::at_path(&place, "manager");
    let command = run(&place, "host-a", &manager.name);
    told_in_order(&place, manager, command);
}

#[test]
fn a_sidecar_tells_its_manager_in_order() {
    let place = Place::new();
    let manager = Manager::abstract_named(&place);
    let command = sidecar(&place, "host-a", &manager.name);
    told_in_order(&place, manager, command);
}

#[test]
fn a_standby_is_ready_and_says_who_leads() {
    let place = Place::new();
    let mut first = Manager::at_path(&place, "first");
    let leader = Host::start(&mut run(&place, "host-a", &first.name));
    first.hears("STATUS=leads");
    let mut second = Manager::at_path(&place, "second");
    let _standby = Host::start(&mut run(&place, "host-b", &second.name));
    second.hears("READY=1");
    second.hears("STATUS=waiting: host-a leads");
    drop(leader);
    second.hears("STATUS=leads with token ");
}

/// Else any candidate could end the services of the others.
#[test]
fn a_leaders_name_is_no_message_to_the_manager() {
    let place = Place::new();
    let mut first = Manager::at_path(&place, "first");
    let _leader = Host::start(&mut run(&place, "host-a\nSTOPPING=1", &first.name));
    first.hears("STATUS=leads");
    let mut second = Manager::at_path(&place, "second");
    let _standby = Host::start(&mut run(&place, "host-b", &second.name));
    second.hears("STATUS=waiting: host-a\\nSTOPPING=1 leads");
    assert!(!second.told.iter().any(|line| line.starts_with("STOPPING")), "{:?}", second.told);
}

/// Ready all the same: a service manager that waited would end it, and start it again.
#[test]
fn redis_that_is_lost_stands_in_the_status() {
    let place = Place::new();
    let mut redis = RedisServer::start().unwrap();
    redis.kill().unwrap();
    let mut manager = Manager::at_path(&place, "manager");
    let mut command = sidecar(&place, "host-a", &manager.name);
    let _host = Host::start(command.env("TENURE_STORE", redis.url()));
    let ready = manager.hears("READY=1");
    let lost = "STATUS=waiting: no leader is known; the store has not answered since ";
    assert_eq!(manager.hears(lost), ready + 1, "{:?}", manager.told);
    redis.restart().unwrap();
    manager.hears("STATUS=leads with token ");
    manager.told.clear();
    redis.pause().unwrap();
    let lost = manager.hears("STATUS=leads with token ");
    assert!(manager.told[lost].contains("; the store has not answered since "));
    manager.hears("STATUS=waiting: ");
    redis.resume().unwrap();
}

#[test]
fn a_watchdog_is_told_by_the_thread_that_renews() {
    // A test that was paused finds several pings at once.
    undisturbed(the_thread_that_renews_pings);
}

fn the_thread_that_renews_pings() {
    let place = Place::new();
    let mut manager = Manager::at_path(&place, "manager");
    let mut command = run(&place, "host-a", &manager.name);
    let host = Host::start(command.env("WATCHDOG_USEC", "400000"));
    manager.hears("WATCHDOG=1");
    manager.hears("STATUS=leads");
    // A busy machine makes some of the times between two pings longer, and at most one shorter.
    let mut times = Vec::new();
    while times.len() < 8 {
        manager.told.clear();
        manager.hears("WATCHDOG=1");
        times.push(Instant::now());
    }
    let between: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(between.iter().min().unwrap() < &Duration::from_millis(400), "{between:?}");
    assert!(times[7] - times[0] > Duration::from_secs(1), "{between:?}");
    host.signal(Signal::SIGSTOP);
    wait_until("the pause", || super::hosts::is_stopped(host.id()));
    while !manager.told.is_empty() {
        manager.told.clear();
        manager.read();
    }
    std::thread::sleep(Duration::from_millis(500));
    manager.read();
    assert!(manager.told.is_empty(), "a paused process says nothing: {:?}", manager.told);
}

/// Its messages would be taken for those of `tenure`.
#[test]
fn a_command_can_not_speak_to_the_manager() {
    let place = Place::new();
    let manager = Manager::at_path(&place, "manager");
    let mut command = place.tenure();
    command.env("NOTIFY_SOCKET", &manager.name).env("WATCHDOG_USEC", "9000000");
    let script = "env; tr '\\0' '\\n' < /proc/$PPID/environ";
    let output = command.args(["run", "job", "--", "sh", "-c", script]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("TENURE_TOKEN"), "{said}");
    assert!(!said.contains("NOTIFY_SOCKET") && !said.contains("WATCHDOG"), "{said}");
}

#[test]
fn a_manager_that_is_missing_is_warned_of() {
    let place = Place::new();
    for socket in ["/no/such/socket", "@no-such-name", "relative", "vsock:2:1"] {
        let mut command = place.tenure();
        // It leads, and runs long enough to find no manager.
        let work = ["run", "job", "--", "sleep", "0.5"];
        let output = command.env("NOTIFY_SOCKET", socket).args(work).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{socket}: {said}");
        assert_eq!(said.matches("NOTIFY_SOCKET").count(), 1, "{socket}: {said}");
    }
}

/// A manager that does not read must not stop the renewals.
#[test]
fn a_manager_that_does_not_read_costs_no_lead() {
    let place = Place::new();
    let mut manager = Manager::at_path(&place, "manager");
    let mut command = run(&place, "host-a", &manager.name);
    command.env("TENURE_TTL", "15s");
    // Ten times as many as its queue can hold.
    let mut host = Host::start(command.env("WATCHDOG_USEC", "20000"));
    let leads = manager.hears("STATUS=leads with token ");
    let token = manager.told[leads].rsplit(' ').next().unwrap().to_owned();
    // Without renewals, the lead would be lost before that.
    std::thread::sleep(Duration::from_secs(15));
    let status = String::from_utf8(place.output(&["status", "job"]).stdout).unwrap();
    assert!(status.contains(&format!(", token {token}, ")), "{token}: {status}");
    manager.told.clear();
    assert!(!host.has_ended());
    host.signal(Signal::SIGTERM);
    assert_eq!(host.ends(), Some(143));
    loop {
        let before = manager.told.len();
        manager.read();
        if manager.told.len() == before {
            break;
        }
    }
    let others =
        manager.told.iter().filter(|line| *line != "WATCHDOG=1" && !line.starts_with("ST"));
    assert_eq!(others.count(), 0, "one lead from its beginning to its end: {:?}", manager.told);
    assert!(!manager.told.iter().any(|line| line.contains("waiting")), "{:?}", manager.told);
}

#[test]
fn sigterm_in_the_first_attempt_is_never_ready() {
    let place = Place::new();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut manager = Manager::at_path(&place, "manager");
    let mut command = run(&place, "host-a", &manager.name);
    let store = format!("redis://{}", silent.local_addr().unwrap());
    let mut host = Host::start(command.env("TENURE_STORE", store).env("TENURE_TTL", "15s"));
    let connection = silent.accept().unwrap();
    host.signal(Signal::SIGTERM);
    manager.hears("STOPPING=1");
    assert_eq!(host.ends(), Some(143));
    manager.read();
    assert!(!manager.heard("READY=1"), "{:?}", manager.told);
    drop(connection);
}

/// The line of a unit that begins so.
fn setting<'a>(unit: &'a str, name: &str) -> &'a str {
    let mut found = unit.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let value = found.next().unwrap_or_else(|| panic!("no {name}"));
    assert!(found.next().is_none(), "two of {name}");
    value
}

#[test]
fn the_unit_runs_its_command_and_is_told() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let unit = fs::read_to_string(root.join("ops/systemd/tenure-run@.service")).unwrap();
    let place = Place::new();
    let ran = place.file("ran");
    let job = place.file("nightly");
    let script = format!("#!/bin/sh\necho $TENURE_KEY > {}\nexec sleep 600\n", ran.display());
    fs::write(&job, script).unwrap();
    fs::set_permissions(&job, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();

    let line = setting(&unit, "ExecStart");
    let line = line.replace("/usr/local/libexec/tenure/%i", job.to_str().unwrap());
    let line = line.replace("%i", "nightly").replace("%H", "host-a");
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(words[0], "/usr/local/bin/tenure");
    assert!(!line.contains('%'), "{line}");
    let mut manager = Manager::at_path(&place, "manager");
    let mut command = place.tenure();
    command.args(&words[1..]).env("NOTIFY_SOCKET", &manager.name);
    let seconds: u64 = setting(&unit, "WatchdogSec").trim_end_matches('s').parse().unwrap();
    command.env("WATCHDOG_USEC", (seconds * 1_000_000).to_string());
    let mut host = Host::start(&mut command);
    manager.hears("READY=1");
    manager.hears("WATCHDOG=1");
    wait_until("the command", || ran.exists());
    assert_eq!(place.status(&["status", "nightly", "--wait-for", "host-a"]), 0);
    assert_eq!(fs::read_to_string(&ran).unwrap(), "nightly\n");
    host.signal(Signal::SIGTERM);
    let stop: u64 = setting(&unit, "TimeoutStopSec").trim_end_matches('s').parse().unwrap();
    let grace = words.iter().skip_while(|word| **word != "--stop-grace").nth(1).unwrap();
    // Two request timeouts of the default TTL give the lead back.
    assert!(stop > grace.trim_end_matches('s').parse::<u64>().unwrap() + 5, "{stop} {grace}");
    let status = host.ends().unwrap();
    assert_eq!(setting(&unit, "SuccessExitStatus"), status.to_string());
}
