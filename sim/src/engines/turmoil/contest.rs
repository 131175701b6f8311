//! One election as it is judged: its participants, its leaders, and the verdict of its properties.

use std::cell::RefCell;
use std::sync::Arc;

use tenure::Candidate;
use tokio::sync::mpsc;

use super::node::Node;
use crate::engines::node::NodeProcess;
use crate::judge::Outcome;
use crate::judge::properties::Leader;
use crate::plan::SimTime;
use crate::trace::{Event, Who};

pub(super) struct Contest {
    outcome: RefCell<Outcome>,
    participants: RefCell<Vec<Option<Participant>>>,
}

/// A node's candidate, and the engine's handles on it.
pub(super) struct Participant {
    node: Arc<Node>,
    /// `None` once it has left the election.
    candidate: Option<Candidate>,
    orders: mpsc::UnboundedSender<Order>,
    /// The token under which it led at the last probe.
    leads: Option<u64>,
}

/// An order of the engine to a node's candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Resign,
    HandOver { to: usize },
    Leave,
    Rejoin,
}

impl Contest {
    pub(super) fn new(nodes: usize, outcome: Outcome) -> Self {
        let participants = (0..nodes).map(|_| None).collect();
        Self { outcome: RefCell::new(outcome), participants: RefCell::new(participants) }
    }

    pub(super) fn record(&self, at: SimTime, event: Event) {
        self.outcome.borrow_mut().record(at, event);
    }

    /// Lets a property of the caller's judge.
    pub(super) fn judge(&self, property: impl FnOnce(&mut Outcome)) {
        property(&mut self.outcome.borrow_mut());
    }

    pub(super) fn is_violated(&self) -> bool {
        self.outcome.borrow().judge.violation().is_some()
    }

    pub(super) fn finish(&self, at: SimTime) -> Outcome {
        let mut outcome = self.outcome.take();
        outcome.finish(at);
        outcome
    }

    pub(super) fn joins(&self, participant: Participant) {
        let node = participant.node.index;
        self.participants.borrow_mut()[node] = Some(participant);
    }

    /// The process has ended, and its handles with it.
    pub(super) fn left(&self, node: usize) {
        let gone = self.participants.borrow_mut()[node].take();
        drop(gone);
    }

    pub(super) fn order(&self, node: usize, order: Order) {
        if let Some(participant) = &self.participants.borrow()[node] {
            // A process that is just ending no longer receives orders.
            let _ = participant.orders.send(order);
        }
    }

    /// The process has another candidate, or none. The old one is no longer probed.
    pub(super) fn replaces(&self, node: usize, candidate: Option<Candidate>) {
        let old = match &mut self.participants.borrow_mut()[node] {
            Some(participant) => std::mem::replace(&mut participant.candidate, candidate),
            None => None,
        };
        drop(old);
    }

    /// The node that leads at this moment, if there is one.
    pub(super) fn leader(&self) -> Option<usize> {
        let participants = self.participants.borrow();
        let mut present = participants.iter().flatten();
        present.find(|one| one.is_leader()).map(|one| one.node.index)
    }

    /// Evaluates `is_leader()` of every candidate, paused ones included, and reports each change:
    /// the node, and the event. `was_elected` says whether a node has reported an election since
    /// the last time.
    pub(super) fn probe(
        &self,
        leaders: &mut Vec<Leader>,
        was_elected: impl Fn(usize) -> bool,
        mut turned: impl FnMut(usize, Event),
    ) {
        leaders.clear();
        for participant in self.participants.borrow_mut().iter_mut().flatten() {
            let leads = participant.is_leader();
            if leads
                && was_elected(participant.node.index)
                && participant.leads.is_some_and(|led| led != participant.token())
            {
                // The token differs from that of the last tick: the candidate lost a lead and won
                // another within one tick.
                participant.leads = None;
                turned(participant.node.index, participant.turned());
            }
            if leads != participant.leads.is_some() {
                participant.leads = leads.then(|| participant.token());
                turned(participant.node.index, participant.turned());
            }
            if let Some(token) = participant.leads {
                leaders.push(Leader { who: participant.node.who(), token });
            }
        }
    }
}

impl Participant {
    pub(super) fn new(
        node: &Arc<Node>,
        candidate: Candidate,
        orders: mpsc::UnboundedSender<Order>,
    ) -> Self {
        Self { node: Arc::clone(node), candidate: Some(candidate), orders, leads: None }
    }

    fn is_leader(&self) -> bool {
        self.candidate.as_ref().is_some_and(Candidate::is_leader)
    }

    /// The token of the present tenure; zero, which no tenure has, if it ends at this moment.
    fn token(&self) -> u64 {
        let tenure = self.candidate.as_ref().and_then(Candidate::tenure);
        tenure.map_or(0, |tenure| tenure.token().get())
    }

    fn turned(&self) -> Event {
        let who: Who = self.node.who();
        match self.leads {
            Some(token) => Event::Leads { who, token },
            None => Event::LeadsNoMore { who },
        }
    }
}
