//! A Kubernetes API server with its etcd, observed by a watch at the etcd.
//!
//! A stall takes either of them, by turns: a paused API server answers nothing, and one whose etcd
//! is paused answers with errors, late. A backup that is restored was made before there were
//! elections. Under a server that runs on, Leases are deleted, or that backup is restored, by
//! turns. The plan's seed says what comes first.

use serde_json::{Value, json};
use tenure_servers::{EtcdSnapshot, KubeApiServer, ServerError};

use super::orders::Done;
use crate::engines::real::clock::{TrueTime, WallClock};
use crate::engines::real::protocol::Access;
use crate::engines::real::steps::kubernetes::{Leases, NAMESPACE};
use crate::engines::real::steps::watch::{Keys as _, Watch};
use crate::engines::real::steps::{Answers, Steps};
use crate::plan::Act;

/// Objects are text in etcd, which the observer reads.
const ARGUMENTS: [&str; 2] = ["--storage-media-type", "application/json"];
const ACCOUNT: &str = "candidates";

pub(super) struct Observed {
    server: KubeApiServer,
    watch: Watch<Leases>,
    backup: EtcdSnapshot,
    token: String,
    /// Counters that choose one of two ways.
    stalls: u64,
    losses: u64,
    paused: Option<Part>,
    rights_are_taken: bool,
    /// The server notices no change of rights any more, until it starts again.
    watches_are_silent: bool,
}

/// The stalled part.
#[derive(Clone, Copy)]
enum Part {
    Server,
    Etcd,
}

impl Observed {
    pub(super) fn start(seed: u64) -> Result<Self, ServerError> {
        let server = KubeApiServer::start_with(&ARGUMENTS)?;
        server.namespace(NAMESPACE)?;
        let token = server.service_account(NAMESPACE, ACCOUNT)?;
        allow(&server)?;
        let backup = server.snapshot()?;
        let (watch, stalls, losses, paused) = (Watch::default(), seed % 2, seed / 2 % 2, None);
        let (rights_are_taken, watches_are_silent) = (false, false);
        let mut observed = Self {
            server,
            watch,
            backup,
            token,
            stalls,
            losses,
            paused,
            rights_are_taken,
            watches_are_silent,
        };
        observed.is_watched()?;
        Ok(observed)
    }

    pub(super) fn port(&self) -> u16 {
        self.server.port()
    }

    pub(super) fn access(&self) -> Access {
        let authority = Some(self.server.authority().to_owned());
        Access { authority, token: Some(self.token.clone()) }
    }

    fn is_watched(&mut self) -> Result<(), ServerError> {
        self.watch.attach(&[self.server.etcd().port()])
    }

    /// The server runs on.
    fn loses_data(&mut self) -> Result<Done, ServerError> {
        let deletes = self.losses.is_multiple_of(2) || self.rights_are_taken;
        self.losses += 1;
        if !deletes {
            return self.restores_under_the_server().map(Done::now);
        }
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases");
        self.server.admin("DELETE", &path, &Value::Null)?;
        self.watch.shows_all(self.server.etcd())?;
        let lost_at = self.watch.keys(Leases::takes_loss);
        let wall = WallClock::compare(TrueTime::since(0));
        let at = lost_at.map(|at| wall.true_time(at).as_nanos());
        Ok(Done { at, ..Done::now(lost_at.is_some()) })
    }

    /// The server's open watches stay silent from then on, and do not end.
    fn restores_under_the_server(&mut self) -> Result<bool, ServerError> {
        self.server.pause()?;
        self.watch.shows_all(self.server.etcd())?;
        self.watch.ends();
        self.server.etcd_mut().kill()?;
        self.watch.detach();
        let knew_anything = self.watch.keys(|leases| leases.knows_anything());
        self.watch.is_replaced();
        self.server.etcd_mut().restore(&self.backup)?;
        self.is_watched()?;
        self.watch.shows_all(self.server.etcd())?;
        let has_lost = knew_anything && !self.watch.keys(|leases| leases.knows_anything());
        self.server.resume()?;
        self.watches_are_silent = true;
        Ok(has_lost)
    }

    /// The etcd alone serves: what it has done is read.
    fn serves_the_observer(&mut self) -> Result<(), ServerError> {
        self.server.etcd_mut().restart()?;
        self.is_watched()?;
        self.watch.shows_all(self.server.etcd())
    }
}

fn allow(server: &KubeApiServer) -> Result<(), ServerError> {
    let rules = json!([{
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["get", "create", "patch", "watch"],
    }]);
    server.allow(NAMESPACE, ACCOUNT, &rules)
}

impl super::Observed for Observed {
    fn pause(&mut self) -> Result<(), ServerError> {
        let part = if self.stalls.is_multiple_of(2) { Part::Server } else { Part::Etcd };
        self.stalls += 1;
        self.paused = Some(part);
        match part {
            Part::Server => self.server.pause(),
            Part::Etcd => self.server.etcd().pause(),
        }
    }

    fn resume(&mut self) -> Result<(), ServerError> {
        match self.paused.take() {
            Some(Part::Server) => self.server.resume(),
            Some(Part::Etcd) => self.server.etcd().resume(),
            None => Ok(()),
        }
    }

    /// Both are killed.
    fn crash(&mut self) -> Result<(), ServerError> {
        self.paused = None;
        self.server.kill()?;
        self.watch.ends();
        self.server.etcd_mut().kill()?;
        self.watch.detach();
        Ok(())
    }

    fn starts_again(&mut self, keeps_data: bool) -> Result<bool, ServerError> {
        self.serves_the_observer()?;
        let mut lost_a_record = false;
        if !keeps_data {
            self.crash()?;
            let had_a_record = self.watch.is_replaced();
            self.server.restore(&self.backup)?;
            self.is_watched()?;
            self.watch.shows_all(self.server.etcd())?;
            lost_a_record = had_a_record && !self.watch.keys(|leases| leases.has_a_record());
        }
        self.server.restart()?;
        // A restart undoes an act.
        (self.rights_are_taken, self.watches_are_silent) = (false, false);
        allow(&self.server)?;
        Ok(lost_a_record)
    }

    fn begins(&mut self, act: Act) -> Result<Done, ServerError> {
        match act {
            Act::FlushData => self.loses_data(),
            Act::RevokeRights if self.watches_are_silent => Ok(Done::default()),
            // Candidates report whether they are refused.
            Act::RevokeRights => {
                self.rights_are_taken = true;
                self.server.allow(NAMESPACE, ACCOUNT, &json!([])).map(|()| Done::default())
            }
            // Refused before the run.
            _ => Ok(Done::default()),
        }
    }

    fn ends(&mut self, act: Act) -> Result<bool, ServerError> {
        if act == Act::RevokeRights && std::mem::take(&mut self.rights_are_taken) {
            allow(&self.server)?;
        }
        Ok(false)
    }

    fn steps(&mut self, answers: &Answers) -> Result<Steps, ServerError> {
        self.watch.shows_all(self.server.etcd())?;
        Ok(self.watch.keys(|leases| leases.steps(answers)))
    }
}
