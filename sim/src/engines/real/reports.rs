//! Reports of processes and the server during a run, and everything that happened, at its end.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::clock::WallClock;
use super::protocol::{Order, Report};
use super::run::Run;
use super::server::{Moved, ServerOrder, ServerReport};
use super::steps::{Answers, Steps};
use super::{Message, broke};
use crate::engines::EngineError;
use crate::plan::{Act, FaultKind, Point, SimTime};
use crate::trace::{Entry, Event, Who};

/// A process that runs reports at least that often that it still leads.
const REPORTED_WITHIN: Duration = Duration::from_millis(8);
/// Processes end within that time, once the run is over.
const END_WITHIN: Duration = Duration::from_secs(20);

/// All events of a run, in order, and its end.
pub(super) struct Happened {
    pub(super) entries: Vec<Entry>,
    pub(super) end: SimTime,
    /// True if steps of the store are missing, because their outcomes can't be told.
    pub(super) has_gaps: bool,
}

impl Run<'_> {
    pub(super) async fn told(&mut self, told: Message) -> Result<(), EngineError> {
        match told {
            Message::Report { who, report } => self.reported(who, report).await,
            Message::Nonsense { who, line } => {
                Err(broke(&format!("the process of {who:?} has printed {line:?}")))
            }
            Message::Ended { who } => self.process_ended(who),
            Message::Server(report) => {
                self.server_did(report);
                Ok(())
            }
        }
    }

    async fn reported(&mut self, who: Who, report: Report) -> Result<(), EngineError> {
        match report {
            Report::Happened(entry) => self.happened(who, entry),
            Report::StillLeads { at } => {
                let life = self.lives.entry(who).or_default();
                life.leads = life.leads.map(|(token, _)| (token, at));
            }
            Report::Took { at, kind } => {
                let is_of_all = kind == FaultKind::Drift || Act::of_kind(kind).is_some();
                let node = (!is_of_all).then_some(who.node);
                self.took(at, kind, node);
            }
            Report::Stalled { from, until } => self.stalls.of(who.node, from, until),
            Report::Reached { ticket, point, of } => {
                if self.machines[who.node].runs(who) {
                    self.schedule.reached(self.time.now(), point, Some(who.node), of);
                    self.advance().await?;
                }
                if self.machines[who.node].runs(who) {
                    self.machines[who.node].order(Order::Pass { ticket });
                }
            }
        }
        Ok(())
    }

    fn happened(&mut self, who: Who, entry: Entry) {
        let life = self.lives.entry(who).or_default();
        let machine = &mut self.machines[who.node];
        match entry.event {
            Event::Leads { token, .. } => {
                (life.leads, life.gives_up) = (Some((token, entry.at)), false);
                self.schedule.reached(self.time.now(), Point::Leads, Some(who.node), None);
            }
            Event::LeadsNoMore { .. } => life.leads = None,
            Event::ResignAsked { .. } | Event::SteppedDown { .. } => life.gives_up = true,
            Event::Sent { id, .. } if machine.runs(who) => machine.asked(id, entry.at),
            Event::Answered { id, answer, .. } => {
                machine.unanswered.retain(|(sent, _)| *sent != id);
                if answer.is_none() {
                    machine.failed = entry.at;
                }
            }
            _ => {}
        }
        self.entries.push(entry);
    }

    /// A process has ended, and has written all its reports.
    fn process_ended(&mut self, who: Who) -> Result<(), EngineError> {
        let life = self.lives.entry(who).or_default();
        if !life.may_end {
            return Err(broke(&format!("the process of {who:?} has ended by itself")));
        }
        life.has_ended = true;
        if let Some((_, at)) = life.leads.take() {
            let is_recent = |killed: SimTime| killed.since(at) <= REPORTED_WITHIN;
            // A leader that was killed led until then. Of any other it is known only up to its last
            // answer.
            if life.gives_up || !life.killed_at.is_some_and(is_recent) {
                self.entries.push(Entry { at, event: Event::LeadsNoMore { who } });
            }
        }
        Ok(())
    }

    fn server_did(&mut self, report: ServerReport) {
        let ServerReport { order, at, had_effect, moved } = report;
        self.server.done();
        let at = self.time.of(at);
        match order {
            ServerOrder::Crash { keeps_data } => {
                self.entries.push(Entry { at, event: Event::StoreCrashed { keeps_data } });
                if keeps_data {
                    self.took(at, FaultKind::StoreCrash, None);
                }
            }
            ServerOrder::FailOver { .. } => {
                if had_effect {
                    self.entries
                        .push(Entry { at, event: Event::StoreCrashed { keeps_data: false } });
                    self.took(at, FaultKind::Failover, None);
                }
            }
            ServerOrder::Start { .. } | ServerOrder::Rejoin => {
                if had_effect {
                    self.took(at, FaultKind::StoreLoss, None);
                }
                for strike in self.outage.is_back() {
                    self.healed(strike);
                }
            }
            ServerOrder::StepClock { strike, .. } => {
                if had_effect {
                    self.took(at, strike.kind, None);
                }
                self.healed(strike);
            }
            ServerOrder::Begin(act) => {
                let replaces = matches!(act, Act::FlushData | Act::DeleteLog | Act::SplitBrain);
                if had_effect && replaces {
                    let event = Event::StoreCrashed { keeps_data: act == Act::DeleteLog };
                    self.entries.push(Entry { at, event });
                }
                if let Some(moved) = moved {
                    self.has_moved(at, moved);
                }
                // Only at the end is it known whether an old primary has answered.
                if had_effect && act != Act::SplitBrain {
                    self.took(at, act.kind(), None);
                }
            }
            ServerOrder::End(act, strike) => {
                if had_effect {
                    self.took(at, act.kind(), None);
                }
                self.healed(strike);
            }
            ServerOrder::Pause | ServerOrder::Resume => {}
        }
        self.calm_if_the_server_is_back();
    }

    /// Another server has the record. One that has stamped its past before need not do so again.
    fn has_moved(&mut self, at: SimTime, moved: Moved) {
        let Moved { server, stamped_at } = moved;
        self.entries.push(Entry { at, event: Event::StoreCrashed { keeps_data: true } });
        let Some(at) = stamped_at.map(|at| self.time.of(at)) else { return };
        let event = Event::Elsewhere { server, knew_more: false };
        self.entries.push(Entry { at, event });
    }

    /// Waits until all processes have ended. Returns whether they have.
    async fn all_ended(&mut self) -> Result<bool, EngineError> {
        let until = Instant::now() + END_WITHIN;
        while !self.lives.values().all(|life| life.has_ended) {
            match timeout_at(until, self.told.recv()).await {
                Ok(Some(told)) => self.told(told).await?,
                Ok(None) => return Ok(true),
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }

    /// The run is over.
    pub(super) async fn finish(mut self, wall: WallClock) -> Result<Happened, EngineError> {
        let end = self.time.now();
        for node in 0..self.machines.len() {
            self.may_end(self.machines[node].who());
            self.machines[node].ends();
        }
        if !self.all_ended().await? {
            // How it ends is of no interest any more.
            for node in 0..self.machines.len() {
                if let Some(who) = self.machines[node].crash(false).await? {
                    self.killed(who);
                }
            }
            if !self.all_ended().await? {
                return Err(broke(&format!(
                    "a killed process has not ended within {END_WITHIN:?}"
                )));
            }
        }
        if let Some(by) = wall.moved(self.time) {
            let what = format!("the wall clock of this machine was set by {by:?} during the run");
            return Err(broke(&what));
        }
        let answers = Answers::of(&self.entries, wall);
        let Steps { all, stamped, has_gaps } = self.server.steps(&answers)?;
        let mut entries = std::mem::take(&mut self.entries);
        let drift_ppm = self.drift_ppm;
        entries.extend(all.into_iter().map(|step| step.traced(wall, drift_ppm)));
        entries.extend(stamped.into_iter().map(|stamped| stamped.traced(wall)));
        entries.extend(self.resource.landed()?.into_iter().map(|landed| landed.traced(wall)));
        let machines = &self.machines;
        let stalls = self.stalls.unexplained(&entries, self.plan, |node, from, until| {
            machines[node].was_paused(from, until)
        });
        entries.extend(stalls);
        entries.retain(|entry| entry.at <= end);
        entries.sort_by_key(|entry| entry.at);
        Ok(Happened { entries, end, has_gaps })
    }
}
