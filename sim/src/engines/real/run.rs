//! A run: carries out the plan's steps, and collects what happened.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::Config;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::clock::{TrueTime, WallClock};
use super::faults::Outage;
use super::machine::Machine;
use super::protocol::{Brief, Order, Place, Report};
use super::resource::ResourceServer;
use super::server::{ServerOrder, ServerReport, StoreServer};
use super::stalls::Stalls;
use super::steps::{Answers, Steps};
use super::{Target, Told, broke};
use crate::engines::{Awaited, EngineError};
use crate::plan::{
    Act, Ending, Fault, FaultKind, Plan, Point, Schedule, SimTime, Step, Strike, When,
};
use crate::trace::{Entry, Event, Who};

/// Effects and the end of the run are looked for this often.
const LOOKS_EVERY: Duration = Duration::from_millis(5);
/// A process that runs reports at least that often that it still leads.
const REPORTED_WITHIN: Duration = Duration::from_millis(8);
/// Processes end within that time, once the run is over.
const END_WITHIN: Duration = Duration::from_secs(20);

pub(super) struct Run<'a> {
    pub(super) plan: &'a Plan,
    pub(super) time: TrueTime,
    schedule: Schedule,
    ending: Ending,
    pub(super) machines: Vec<Machine>,
    pub(super) server: StoreServer,
    resource: ResourceServer,
    told: UnboundedReceiver<Told>,
    awaited: Awaited,
    entries: Vec<Entry>,
    lives: BTreeMap<Who, Life>,
    pub(super) outage: Outage,
    /// Whether the recovery phase is due, and waits for the server.
    is_calm_due: bool,
    /// Faults of that kind are ordered, but not carried out.
    without: Option<FaultKind>,
    stalls: Stalls,
}

/// All events of a run, in order, and its end.
pub(super) struct Happened {
    pub(super) entries: Vec<Entry>,
    pub(super) end: SimTime,
    /// Whether steps of the store are missing, because their outcomes can't be told.
    pub(super) has_gaps: bool,
}

/// What is known of a process.
#[derive(Clone, Copy, Debug, Default)]
struct Life {
    /// The token under which it leads, and the last time at which it is known to.
    leads: Option<(u64, SimTime)>,
    /// Whether it was asked to give that lead up, or has stepped down.
    gives_up: bool,
    killed_at: Option<SimTime>,
    /// Whether the engine has killed it, or has let it end.
    may_end: bool,
    has_ended: bool,
}

impl<'a> Run<'a> {
    pub(super) async fn begin(
        target: Target,
        plan: &'a Plan,
        configs: &[Config],
        without: Option<FaultKind>,
    ) -> Result<Self, EngineError> {
        let (tell, told) = unbounded_channel();
        let resource = ResourceServer::start(target)?;
        let server = StoreServer::start(target, tell.clone()).await?;
        let time = TrueTime::begin();
        let mut run = Self {
            plan,
            time,
            schedule: Schedule::of(plan),
            ending: Ending::of(plan, configs, 1),
            machines: Vec::new(),
            server,
            resource,
            told,
            awaited: Awaited::default(),
            entries: Vec::new(),
            lives: BTreeMap::new(),
            outage: Outage::default(),
            is_calm_due: false,
            without,
            stalls: Stalls::watch(time).map_err(|error| broke(&error))?,
        };
        if plan.has(FaultKind::Drift) {
            run.awaited.ordered(FaultKind::Drift, None);
        }
        for node in 0..plan.nodes.len() {
            let brief = run.brief(target, node);
            let who = brief.who;
            run.started(who);
            let entrance = run.server.entrance().clone();
            run.machines.push(Machine::new(brief, entrance, tell.clone()).await?);
        }
        Ok(run)
    }

    fn brief(&self, target: Target, node: usize) -> Brief {
        let points = |fault: &Fault| match fault.when {
            When::On(trigger) => Some(trigger.point),
            When::AtMs(_) => None,
        };
        let mut of_node = self.plan.nodes[node];
        if self.without == Some(FaultKind::Drift) {
            of_node.clock_rate_ppm = 0;
        }
        Brief {
            who: Who { node, life: 0 },
            target,
            // A machine's network sets it.
            store: Place::Servers(Vec::new()),
            resource: self.resource.place(),
            began: self.time.began(),
            node: of_node,
            settings: self.plan.settings_of(node),
            seed: self.plan.seed,
            trust_empty_store: self.plan.store.trust_empty_store,
            stepped_ms: 0,
            work: self.plan.work,
            points: self.plan.faults.iter().filter_map(points).collect(),
        }
    }

    /// Runs until the plan ends.
    pub(super) async fn carry_out(&mut self) -> Result<(), EngineError> {
        loop {
            self.advance().await?;
            self.look_for_effects();
            self.hands_over_at_the_end();
            if self.server.has_failed() {
                self.server.ends()?;
                return Err(broke(&"the thread of the store's server has ended"));
            }
            let now = self.time.now();
            if now >= self.ending.at() && !self.is_calm_due {
                return Ok(());
            }
            let waits = self.schedule.next().map_or(LOOKS_EVERY, |next| next.since(now));
            let until = Instant::now() + waits.min(LOOKS_EVERY);
            tokio::select! {
                biased;
                Some(told) = self.told.recv() => self.told(told).await?,
                () = sleep_until(until) => {}
            }
            while let Ok(told) = self.told.try_recv() {
                self.told(told).await?;
            }
        }
    }

    /// Carries out the steps that are due.
    async fn advance(&mut self) -> Result<(), EngineError> {
        loop {
            let (now, leader) = (self.time.now(), self.leader());
            let Some(step) = self.schedule.take_due(now, || leader) else { return Ok(()) };
            match step {
                Step::Begin(strike) => {
                    let Strike { kind, node, .. } = strike;
                    self.record(Event::Fault { kind, node });
                    self.awaited.ordered(kind, node);
                    if self.without != Some(kind) {
                        self.begin_fault(strike).await?;
                    }
                }
                Step::End(strike) => {
                    self.look_for_effects();
                    if self.without == Some(strike.kind) || self.end_fault(strike)? {
                        self.healed(strike);
                    }
                }
                Step::Calm => {
                    self.is_calm_due = true;
                    self.calm_if_the_server_is_back();
                }
            }
        }
    }

    /// A fault is over.
    pub(super) fn healed(&mut self, Strike { kind, node, .. }: Strike) {
        self.record(Event::Healed { kind, node });
        self.awaited.over(kind, node);
    }

    fn calm_if_the_server_is_back(&mut self) {
        if self.is_calm_due && !self.server.is_busy() {
            self.is_calm_due = false;
            self.awaited.end_all();
            self.record(Event::Calm);
        }
    }

    fn leaders(&self) -> impl Iterator<Item = (usize, u64)> + Clone + '_ {
        let leads = |machine: &'_ Machine| {
            let (token, _) = self.lives.get(&machine.who())?.leads?;
            Some((machine.who().node, token))
        };
        self.machines.iter().filter_map(leads)
    }

    fn leader(&self) -> Option<usize> {
        self.leaders().next().map(|(node, _)| node)
    }

    /// Asks a leader of the recovery phase to hand over, if the plan requires that.
    fn hands_over_at_the_end(&mut self) {
        let leaders: Vec<_> = self.leaders().collect();
        if !self.is_calm_due
            && let Some(node) = self.ending.observe(self.time.now(), 0, leaders.into_iter())
        {
            self.machines[node].order(Order::Resign);
        }
    }

    fn look_for_effects(&mut self) {
        let now = self.time.now();
        for node in 0..self.machines.len() {
            for kind in self.machines[node].link.effects() {
                self.took(now, kind, Some(node));
            }
        }
    }

    /// A fault of that kind has had an effect, if one is awaited.
    pub(super) fn took(&mut self, at: SimTime, kind: FaultKind, node: Option<usize>) {
        if let Some(event) = self.awaited.took(kind, node) {
            self.entries.push(Entry { at, event });
        }
    }

    pub(super) fn record(&mut self, event: Event) {
        self.entries.push(Entry { at: self.time.now(), event });
    }

    /// A process has started.
    pub(super) fn started(&mut self, who: Who) {
        self.lives.insert(who, Life::default());
        self.record(Event::Started { who });
    }

    /// The engine has killed a process.
    pub(super) fn killed(&mut self, who: Who) {
        self.record(Event::Crashed { who });
        self.lives.entry(who).or_default().killed_at = Some(self.time.now());
        self.may_end(who);
    }

    fn may_end(&mut self, who: Who) {
        self.lives.entry(who).or_default().may_end = true;
    }

    async fn told(&mut self, told: Told) -> Result<(), EngineError> {
        match told {
            Told::Report { who, report } => self.reported(who, report).await,
            Told::Nonsense { who, line } => {
                Err(broke(&format!("the process of {who:?} has printed {line:?}")))
            }
            Told::Ended { who } => self.process_ended(who),
            Told::Server(report) => {
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
                let node = (kind != FaultKind::Drift).then_some(who.node);
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
            Event::Sent { id, .. } if machine.runs(who) => machine.unanswered.push((id, entry.at)),
            Event::Answered { id, .. } => machine.unanswered.retain(|(sent, _)| *sent != id),
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
            // A leader that was killed led until then. Of any other it is known only up to its last answer.
            if life.gives_up || !life.killed_at.is_some_and(is_recent) {
                self.entries.push(Entry { at, event: Event::LeadsNoMore { who } });
            }
        }
        Ok(())
    }

    fn server_did(&mut self, ServerReport { order, at, had_effect }: ServerReport) {
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
                let healed = std::mem::take(&mut self.outage.over);
                for strike in healed {
                    self.healed(strike);
                }
            }
            ServerOrder::Begin(act) => {
                if had_effect && act == Act::FlushData {
                    let lost = Event::StoreCrashed { keeps_data: false };
                    self.entries.push(Entry { at, event: lost });
                }
                if had_effect {
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
        let Steps { all, has_gaps } = self.server.steps(&Answers::of(&self.entries, wall))?;
        let steps = all.into_iter().map(|step| {
            let (at, step) = step.traced(wall);
            Entry { at, event: Event::Store(step) }
        });
        let mut entries = std::mem::take(&mut self.entries);
        entries.extend(steps);
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
