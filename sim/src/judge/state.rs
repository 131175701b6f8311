//! The state of an election: what the events of a run say of its leaders, its candidates and its
//! leases.
//!
//! A run folds its state once for each event. Properties, meters and conditions judge an event by
//! the state before it, so that they see what the event changes.
//!
//! Not guaranteed: that the state makes sense. A candidate with a bug reports an end without an
//! election; the properties find that, and the state keeps what was reported.

use super::asker::{self, Asker};
use super::recent::Recent;
use crate::plan::SimTime;
use crate::trace::{Asked, Event, Kept, StoreStep, Who};

/// One election's state, by the events so far.
#[derive(Clone, Debug, Default)]
pub struct State {
    at: SimTime,
    is_calm: bool,
    leaders: Vec<Leader>,
    /// The token of each candidate's reported election, until it reports that it has stepped down.
    claims: Recent<Who, u64>,
    /// Each candidate that runs and was not asked to resign.
    askers: Recent<Who, Asker>,
    /// The work under way, and the tokens of its tenures.
    work: Vec<(Who, u64)>,
    record: Option<Kept>,
    changed_at: SimTime,
    tenures: Recent<u64, Tenure>,
    grants: u32,
}

/// A node that answers "I lead".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    /// The node and its life.
    pub who: Who,
    /// The token of its tenure.
    pub token: u64,
}

/// The tenures under one token. There are several only if the store grants a token twice.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tenure {
    /// The place of its grant in the order of all grants; zero if the store did not grant it.
    pub(super) place: u32,
    /// The server that granted it, and the time of the grant.
    pub(super) granted: Option<(u32, SimTime)>,
    /// The latest end that the store recorded for its lease.
    pub(super) lease_ends: Option<SimTime>,
    /// The first instant at which no candidate may lead under it any more: the end of its lease, or
    /// its release.
    pub(super) over_from: Option<SimTime>,
    /// The candidate that was elected under it.
    pub(super) elected: Option<Who>,
}

impl State {
    /// Takes the next event into account.
    pub fn observe(&mut self, at: SimTime, event: &Event) {
        self.at = at;
        match *event {
            Event::Calm => self.is_calm = true,
            Event::Store(ref step) => self.stepped(at, step),
            Event::Sent { who, id, request } => {
                self.askers.of(who).sent(at, id, request, self.is_calm);
            }
            Event::Answered { who, id, answer } => self.askers.of(who).answered(id, answer),
            Event::ResignAsked { who, .. } => {
                self.askers.remove(who);
            }
            Event::Crashed { who } => self.crashed(who),
            Event::Elected { who, token, .. } => {
                self.claims.insert(who, token);
                self.tenures.of(token).elected = Some(who);
            }
            Event::SteppedDown { who, .. } => {
                self.claims.remove(who);
            }
            Event::Leads { who, token } => {
                self.leads_no_more(who);
                self.leaders.push(Leader { who, token });
            }
            Event::LeadsNoMore { who } => self.leads_no_more(who),
            Event::WorkBegan { who, token } => self.work.push((who, token)),
            Event::WorkEnded { who, token, .. } => {
                if let Some(place) = self.work.iter().position(|work| *work == (who, token)) {
                    self.work.swap_remove(place);
                }
            }
            Event::Started { .. }
            | Event::Fault { .. }
            | Event::Effect { .. }
            | Event::Healed { .. }
            | Event::StoreCrashed { .. }
            | Event::Hinted { .. }
            | Event::Message { .. }
            | Event::CampaignAsked { .. }
            | Event::Withdrawn { .. }
            | Event::Renewed { .. }
            | Event::DrainMoved { .. }
            | Event::Watches { .. }
            | Event::Wrote { .. }
            | Event::Called { .. }
            | Event::Elsewhere { .. }
            | Event::WaitsToBeTold { .. }
            | Event::CallbackBegan { .. }
            | Event::CallbackEnded { .. }
            | Event::LookBegan { .. }
            | Event::LookEnded { .. }
            | Event::DriverPanicked { .. }
            | Event::Stalled { .. } => {}
        }
    }

    fn crashed(&mut self, who: Who) {
        self.leads_no_more(who);
        self.claims.remove(who);
        self.askers.remove(who);
        self.work.retain(|(worker, _)| *worker != who);
    }

    fn leads_no_more(&mut self, who: Who) {
        self.leaders.retain(|leader| leader.who != who);
    }

    fn stepped(&mut self, at: SimTime, step: &StoreStep) {
        if step.after != self.record {
            (self.record, self.changed_at) = (step.after, at);
        }
        if let Some(kept) = step.after {
            let tenure = self.tenures.of(kept.token);
            let over_from = tenure.over_from.unwrap_or_default();
            tenure.over_from = Some(if kept.released {
                at.min(over_from)
            } else {
                tenure.lease_ends = tenure.lease_ends.max(Some(kept.lease_ends));
                kept.lease_ends.max(over_from)
            });
        }
        if let Some(token) = step.new_tenure() {
            self.grants += 1;
            let tenure = self.tenures.of(token);
            (tenure.place, tenure.granted) = (self.grants, Some((step.server, at)));
        }
    }

    /// The time of the last event.
    pub fn at(&self) -> SimTime {
        self.at
    }

    /// True if the last fault has ended.
    pub fn is_calm(&self) -> bool {
        self.is_calm
    }

    /// The nodes that answer "I lead", paused ones included, in the order in which their leads
    /// began.
    pub fn leaders(&self) -> &[Leader] {
        &self.leaders
    }

    /// The token under which a candidate answers "I lead".
    pub fn leads(&self, who: Who) -> Option<u64> {
        self.leaders.iter().find(|leader| leader.who == who).map(|leader| leader.token)
    }

    /// The leader on that node.
    pub fn leader_of(&self, node: usize) -> Option<Leader> {
        self.leaders.iter().copied().find(|leader| leader.who.node == node)
    }

    /// The token under which a candidate has reported that it is elected, unless it has reported
    /// the end since.
    pub fn claims(&self, who: Who) -> Option<u64> {
        self.claims.get(who).copied()
    }

    /// The work under way, and the tokens of its tenures.
    pub fn work(&self) -> &[(Who, u64)] {
        &self.work
    }

    /// The record of the store that carried out the last request.
    pub fn record(&self) -> Option<Kept> {
        self.record
    }

    /// The time at which that record changed.
    pub fn changed_at(&self) -> SimTime {
        self.changed_at
    }

    pub(super) fn tenure(&self, token: u64) -> Tenure {
        self.tenures.get(token).copied().unwrap_or_default()
    }

    /// The last request of a candidate; none if it was asked to resign since.
    pub(super) fn asker(&self, who: Who) -> Asker {
        self.askers.get(who).copied().unwrap_or_default()
    }

    pub(super) fn askers(&self) -> impl Iterator<Item = (Who, &Asker)> {
        self.askers.iter().map(|(who, asker)| (*who, asker))
    }

    /// True if a request that reaches the store is certainly from a waiting candidate.
    pub(super) fn is_from_waiting(&self, request: Asked) -> bool {
        asker::is_from_waiting(self.askers.iter().map(|(_, asker)| asker), request)
    }

    /// The same with other leaders.
    #[cfg(test)]
    pub(super) fn with_leaders(&self, leaders: &[Leader]) -> Self {
        Self { leaders: leaders.to_vec(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::properties::history::{
        NOT, answered, asks, crashed, grant, kept, n, renew, resign_asked, sent,
    };
    use crate::plan::ns;

    fn state(events: &[Event]) -> State {
        let mut state = State::default();
        for event in events {
            state.observe(ns(1), event);
        }
        state
    }

    /// A store with a bug may move an end back; a claim may rest on any earlier answer.
    #[test]
    fn the_latest_end_of_a_lease_counts() {
        let lease = kept(1, 7, 100);
        let tenure = state(&[grant(None, lease), renew(lease, 150), renew(lease, 120)]).tenure(7);
        assert_eq!((tenure.lease_ends, tenure.over_from), (Some(ns(150)), Some(ns(150))));
    }

    #[test]
    fn a_candidate_that_is_gone_does_not_wait() {
        let asks = [Event::Calm, sent(n(1), 1, asks(7))];
        let waits = [&asks[..], &[answered(n(1), 1, NOT)]].concat();
        assert!(state(&waits).asker(n(1)).waits());
        for gone in [crashed(n(1)), resign_asked(n(1), None)] {
            assert!(!state(&[&waits[..], &[gone]].concat()).asker(n(1)).waits());
        }
    }
}
