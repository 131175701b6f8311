//! `tenure doctor`: faults are planted, and each is found by its id.

mod fakes;
mod kubernetes;
mod page;
mod postgres;
mod redis;
mod settings;
mod shell;
mod sqlite;

use std::any::Any;
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;
use tenure_servers::undisturbed;

use super::hosts::Place;

/// A store with a fault in it, for as long as this lives.
pub(crate) struct Planted {
    pub(crate) place: Place,
    pub(crate) url: String,
    pub(crate) variables: Vec<(&'static str, String)>,
    pub(crate) keeps: Vec<Box<dyn Any>>,
}

impl Planted {
    pub(crate) fn at(url: impl Into<String>) -> Self {
        Self { place: Place::new(), url: url.into(), variables: Vec::new(), keeps: Vec::new() }
    }

    pub(crate) fn keeps(mut self, kept: impl Any) -> Self {
        self.keeps.push(Box::new(kept));
        self
    }

    pub(crate) fn set(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    fn command(&self) -> Command {
        let mut command = self.place.tenure();
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.args(["doctor", "--json"]);
        if !self.url.is_empty() {
            command.args(["--store", &self.url]);
        }
        command
    }

    pub(crate) fn examine(&self) -> Found {
        Found::by(&mut self.command())
    }

    /// Nothing is wrong with it. A pause of the machine may look like a fault of the store.
    pub(crate) fn is_healthy(&self) {
        undisturbed(|| {
            let found = self.examine();
            assert!(found.has_only_notes(), "{found:#?}");
        });
    }
}

/// The command's status and findings.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) status: i32,
    pub(crate) findings: Vec<Value>,
}

impl Found {
    pub(crate) fn by(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let findings = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let found = Self { status: output.status.code().unwrap(), findings };
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!complaints.contains("panicked"), "{found:?}: {complaints}");
        found
    }

    pub(crate) fn level(&self, id: &str) -> Option<&str> {
        let found = self.findings.iter().find(|finding| finding["id"] == id)?;
        found["level"].as_str()
    }

    pub(crate) fn has_only_notes(&self) -> bool {
        self.status == 0 && self.findings.iter().all(|finding| finding["level"] == "note")
    }
}

/// A fault: what it is, the id by which it must be found, and how to plant it.
pub(crate) type Fault = (&'static str, &'static str, fn() -> Planted);

/// Plants each fault and looks for it. Some wait for seconds, so several are planted at the same
/// time.
pub(crate) fn each_is_found(faults: &[Fault]) {
    let next = AtomicUsize::new(0);
    let wrong: Vec<String> = thread::scope(|scope| {
        let work = || {
            let mut wrong = Vec::new();
            while let Some((what, id, plant)) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                wrong.extend(is_found(what, id, &plant()));
            }
            wrong
        };
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} faults were not found:\n{}", wrong.len(), wrong.join("\n"));
}

/// The looks for a fault that comes and goes: a file that is deleted at any moment shows itself in
/// several ways.
const LOOKS: u32 = 5;

fn is_found(what: &str, id: &str, planted: &Planted) -> Option<String> {
    let mut last = None;
    for _ in 0..LOOKS {
        let found = planted.examine();
        let status = match found.level(id) {
            Some("note") => vec![0, 1, 69],
            Some("problem") => vec![1, 69],
            Some("unusable") => vec![69],
            _ => Vec::new(),
        };
        if status.contains(&found.status) {
            return None;
        }
        last = Some(format!("{what}: {id} is not in {found:#?}"));
    }
    last
}

/// A connection that is kept open.
pub(crate) fn idle(port: u16) -> TcpStream {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap()
}
