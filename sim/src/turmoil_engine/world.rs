//! What the engine and all processes of a run share: the recorder, the sinks, and the handles by which
//! the engine asks every candidate whether it leads.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure::{Candidate, Config};
use tokio::sync::mpsc;

use super::node::{Node, Now};
use crate::clock::True;
use crate::plan::Plan;
use crate::properties::{Judge, Leader, PropertyName, Terms};
use crate::sometimes::Sometimes;
use crate::trace::{Event, Trace, Who};

pub(super) struct World {
    pub(super) config: Config,
    pub(super) work_every: Duration,
    pub(super) now: Now,
    recorder: RefCell<Recorder>,
    participants: RefCell<Vec<Option<Participant>>>,
    /// The highest token that the fenced sink has accepted.
    fence: RefCell<u64>,
    missed_events: Cell<bool>,
}

#[derive(Default)]
struct Recorder {
    trace: Trace,
    judge: Judge,
    sometimes: Sometimes,
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

impl World {
    pub(super) fn new(
        plan: &Plan,
        config: Config,
        only: Option<&[PropertyName]>,
        now: Now,
    ) -> Self {
        let terms = Terms {
            stop_margin: config.stop_margin(),
            drift_ppm: config.drift_ppm(),
            progress_bound: plan.progress_bound(&config),
        };
        let recorder = Recorder {
            trace: Trace::default(),
            judge: Judge::new(terms, &plan.broken(), only),
            sometimes: Sometimes::default(),
        };
        Self {
            config,
            work_every: Duration::from_millis(plan.work_every_ms),
            now,
            recorder: RefCell::new(recorder),
            participants: RefCell::new(plan.nodes.iter().map(|_| None).collect()),
            fence: RefCell::new(0),
            missed_events: Cell::new(false),
        }
    }

    pub(super) fn true_now(&self) -> True {
        self.now.load(Ordering::Relaxed)
    }

    pub(super) fn record(&self, event: Event) {
        let at = self.true_now();
        let Recorder { trace, judge, sometimes } = &mut *self.recorder.borrow_mut();
        judge.observe(at, &event);
        sometimes.observe(at, &event);
        trace.push(at, event);
    }

    /// What a process says; a dead one says nothing.
    pub(super) fn record_of(&self, node: &Node, event: Event) {
        if !node.is_alive() {
            return;
        }
        if let Event::Elected { .. } = event
            && let Some(participant) = &mut self.participants.borrow_mut()[node.index]
        {
            participant.elected = true;
        }
        self.record(event);
    }

    /// A trace with holes can't be judged.
    pub(super) fn missed_events(&self) {
        self.missed_events.set(true);
    }

    pub(super) fn has_missed_events(&self) -> bool {
        self.missed_events.get()
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

    pub(super) fn resign(&self, node: usize) {
        if let Some(participant) = &self.participants.borrow()[node] {
            // A process that has just begun to stop does not mind.
            let _ = participant.resign.send(());
        }
    }

    /// Asks every candidate, paused ones included, whether it leads at this very moment.
    pub(super) fn probe(&self, leaders: &mut Vec<Leader>) {
        leaders.clear();
        let mut changed = false;
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
                changed = true;
                self.record(participant.turned());
            }
            if let Some(token) = participant.leads {
                leaders.push(Leader { who: participant.node.who(), token });
            }
        }
        let mut recorder = self.recorder.borrow_mut();
        if changed || !leaders.is_empty() {
            recorder.judge.probe(self.true_now(), leaders);
        }
    }

    /// Writes to both sinks, having been told that the lead was checked.
    pub(super) fn write(&self, node: &Node, token: u64) {
        let mut highest = self.fence.borrow_mut();
        let accepted_by_fenced = token >= *highest;
        *highest = token.max(*highest);
        self.record_of(node, Event::Wrote { who: node.who(), token, accepted_by_fenced });
    }

    pub(super) fn is_violated(&self) -> bool {
        self.recorder.borrow().judge.violation().is_some()
    }

    pub(super) fn finish(&self) -> (Trace, Judge, Sometimes) {
        let at = self.true_now();
        let mut recorder = self.recorder.take();
        recorder.judge.finish(at);
        let Recorder { trace, judge, sometimes } = recorder;
        (trace, judge, sometimes)
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
