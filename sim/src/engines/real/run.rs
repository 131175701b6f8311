//! A run, and the steps of its plan.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::Config;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep_until};

use super::clock::TrueTime;
use super::machine::Machine;
use super::outage::Outage;
use super::protocol::{Brief, Order, Place};
use super::resource::ResourceServer;
use super::server::StoreServer;
use super::stalls::Stalls;
use super::{Message, Target, broke};
use crate::engines::{Awaited, EngineError};
use crate::plan::{Ending, Fault, FaultKind, Plan, Schedule, SimTime, Step, Strike, When};
use crate::trace::{Entry, Event, Who};

/// Effects and the end of the run are looked for this often.
const LOOKS_EVERY: Duration = Duration::from_millis(5);

pub(super) struct Run<'a> {
    pub(super) plan: &'a Plan,
    pub(super) time: TrueTime,
    pub(super) schedule: Schedule,
    ending: Ending,
    pub(super) machines: Vec<Machine>,
    pub(super) server: StoreServer,
    pub(super) resource: ResourceServer,
    pub(super) told: UnboundedReceiver<Message>,
    awaited: Awaited,
    pub(super) entries: Vec<Entry>,
    pub(super) lives: BTreeMap<Who, Life>,
    pub(super) outage: Outage,
    /// True if the recovery phase is due, and waits for the server.
    pub(super) is_calm_due: bool,
    /// Faults of that kind are ordered, but not carried out.
    without: Option<FaultKind>,
    pub(super) stalls: Stalls,
    /// The most by which a candidate's clock may be fast.
    pub(super) drift_ppm: u32,
}

/// The state of a process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Life {
    /// The token under which it leads, and the last time at which it is known to.
    pub(super) leads: Option<(u64, SimTime)>,
    /// True if it was asked to give that lead up, or has stepped down.
    pub(super) gives_up: bool,
    pub(super) killed_at: Option<SimTime>,
    /// True if the engine has killed it, or has let it end.
    pub(super) may_end: bool,
    pub(super) has_ended: bool,
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
        let server = StoreServer::start(target, plan, tell.clone()).await?;
        let time = TrueTime::begin();
        let mut run = Self {
            plan,
            time,
            schedule: Schedule::of(plan, without),
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
            drift_ppm: configs.iter().map(Config::drift_ppm).max().unwrap_or(0),
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
            access: self.server.access().clone(),
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
    pub(super) async fn complete(&mut self) -> Result<(), EngineError> {
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
    pub(super) async fn advance(&mut self) -> Result<(), EngineError> {
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

    pub(super) fn calm_if_the_server_is_back(&mut self) {
        if self.is_calm_due && !self.server.is_busy() {
            self.is_calm_due = false;
            self.awaited.end_all();
            self.ending.begins_at(self.time.now());
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

    pub(super) fn may_end(&mut self, who: Who) {
        self.lives.entry(who).or_default().may_end = true;
    }
}
