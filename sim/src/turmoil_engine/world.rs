//! What the engine and all processes of a run share: the trace, the sinks, and the handles by which the
//! engine asks every candidate whether it leads.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tenure::{Candidate, Config};
use tokio::sync::{mpsc, oneshot};

use super::TICK;
use super::journal::Journal;
use super::node::Node;
use super::triggers::Triggers;
use crate::clock::True;
use crate::engine::Outcome;
use crate::plan::{Plan, Point};
use crate::properties::Leader;
use crate::trace::{Event, Who};

pub(super) struct World {
    pub(super) configs: Vec<Config>,
    pub(super) work_every: Duration,
    /// How long a write takes, in whole ticks.
    write_takes: u64,
    journal: Arc<Journal>,
    triggers: Arc<Triggers>,
    outcome: RefCell<Outcome>,
    participants: RefCell<Vec<Option<Participant>>>,
    /// On their way to the sinks, in order of their arrival.
    writes: RefCell<VecDeque<Write>>,
    /// The highest token that the fenced sink has accepted.
    fence: Cell<u64>,
}

struct Participant {
    node: Arc<Node>,
    candidate: Candidate,
    resign: mpsc::UnboundedSender<()>,
    /// The token under which it led when it was last asked.
    leads: Option<u64>,
    /// It has said that it was elected since then.
    elected: bool,
}

/// A write on its way: from here on its process can't keep it from landing.
struct Write {
    who: Who,
    token: u64,
    checked: True,
    lands: True,
    landed: oneshot::Sender<()>,
}

impl World {
    pub(super) fn new(
        plan: &Plan,
        configs: Vec<Config>,
        journal: Arc<Journal>,
        triggers: Arc<Triggers>,
        outcome: Outcome,
    ) -> Self {
        let ticks = Duration::from_micros(plan.work.takes_us).as_nanos().div_ceil(TICK.as_nanos());
        Self {
            configs,
            work_every: Duration::from_millis(plan.work.every_ms),
            write_takes: u64::try_from(ticks * TICK.as_nanos()).unwrap_or(u64::MAX),
            journal,
            triggers,
            outcome: RefCell::new(outcome),
            participants: RefCell::new(plan.nodes.iter().map(|_| None).collect()),
            writes: RefCell::default(),
            fence: Cell::new(0),
        }
    }

    pub(super) fn true_now(&self) -> True {
        self.journal.now()
    }

    pub(super) fn record(&self, event: Event) {
        self.journal.record(event);
    }

    /// The tick is over: what happened in it is judged.
    pub(super) fn write_up(&self) {
        let (at, events) = (self.true_now(), self.journal.take());
        let mut outcome = self.outcome.borrow_mut();
        for event in events {
            outcome.record(at, event);
        }
    }

    pub(super) fn is_violated(&self) -> bool {
        self.outcome.borrow().judge.violation().is_some()
    }

    pub(super) fn finish(&self) -> Outcome {
        let mut outcome = self.outcome.take();
        outcome.finish(self.true_now());
        outcome
    }

    pub(super) fn joined(
        &self,
        node: &Arc<Node>,
        candidate: Candidate,
        resign: mpsc::UnboundedSender<()>,
    ) {
        self.record(Event::Started { who: node.who() });
        let participant =
            Participant { node: Arc::clone(node), candidate, resign, leads: None, elected: false };
        self.participants.borrow_mut()[node.index] = Some(participant);
    }

    /// The process is gone. Its handles go with it.
    pub(super) fn left(&self, node: &Node) {
        self.record(Event::Crashed { who: node.who() });
        let gone = self.participants.borrow_mut()[node.index].take();
        drop(gone);
    }

    pub(super) fn was_elected(&self, node: &Node) {
        if let Some(participant) = &mut self.participants.borrow_mut()[node.index] {
            participant.elected = true;
        }
    }

    pub(super) fn resign(&self, node: usize) {
        if let Some(participant) = &self.participants.borrow()[node] {
            // A process that has just begun to stop does not mind.
            let _ = participant.resign.send(());
        }
    }

    /// The node that leads at this very moment, if one does.
    pub(super) fn leader(&self) -> Option<usize> {
        let participants = self.participants.borrow();
        let mut present = participants.iter().flatten();
        present.find(|one| one.candidate.is_leader()).map(|one| one.node.index)
    }

    /// Asks every candidate, paused ones included, whether it leads at this very moment.
    pub(super) fn probe(&self, leaders: &mut Vec<Leader>) {
        leaders.clear();
        for participant in self.participants.borrow_mut().iter_mut().flatten() {
            let leads = participant.candidate.is_leader();
            if std::mem::take(&mut participant.elected)
                && leads
                && participant.leads.is_some_and(|led| led != token_of(&participant.candidate))
            {
                // Under another token than a tick ago, with no moment seen in between.
                participant.leads = None;
                self.record(participant.turned());
            }
            if leads != participant.leads.is_some() {
                participant.leads = leads.then(|| token_of(&participant.candidate));
                self.record(participant.turned());
                if leads {
                    // At the end of a tick nobody runs who would have to wait.
                    let node = Some(participant.node.index);
                    self.triggers.reached(self.true_now(), Point::Leads, node);
                }
            }
            if let Some(token) = participant.leads {
                leaders.push(Leader { who: participant.node.who(), token });
            }
        }
    }

    /// Writes to both sinks, having checked the lead at `checked`. Done once the write has landed.
    pub(super) async fn write(&self, node: &Node, token: u64, checked: True) {
        if !node.is_alive() {
            return;
        }
        let (landed, has_landed) = oneshot::channel();
        let lands = self.true_now().saturating_add(self.write_takes);
        self.writes.borrow_mut().push_back(Write {
            who: node.who(),
            token,
            checked,
            lands,
            landed,
        });
        self.land();
        // The sinks never drop a write.
        let _ = has_landed.await;
    }

    /// What has reached the sinks by now takes effect.
    pub(super) fn land(&self) {
        let (now, mut writes) = (self.true_now(), self.writes.borrow_mut());
        while writes.front().is_some_and(|write| write.lands <= now) {
            let Some(Write { who, token, checked, landed, .. }) = writes.pop_front() else { break };
            let accepted_by_fenced = token >= self.fence.get();
            self.fence.set(token.max(self.fence.get()));
            self.record(Event::Wrote { who, token, checked, accepted_by_fenced });
            // Its work may have been dropped meanwhile.
            let _ = landed.send(());
        }
    }
}

impl Participant {
    fn turned(&self) -> Event {
        let who: Who = self.node.who();
        match self.leads {
            Some(token) => Event::Leads { who, token },
            None => Event::LeadsNoMore { who },
        }
    }
}

/// The token of the present tenure; zero, which no tenure has, if it ends this very moment.
fn token_of(candidate: &Candidate) -> u64 {
    candidate.tenure().map_or(0, |tenure| tenure.token().get())
}
