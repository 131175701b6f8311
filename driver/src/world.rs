//! The common state of all elections of a driver.

use std::collections::VecDeque;

use tenure_core::{Instant, Pending};

use crate::admission::{Admission, Lane};
use crate::alphabet::{Action, CallId, ElectionId, InCall, Outgoing, Question};
use crate::calls::{Calls, Carries, Flying, NextCall};
use crate::spread::Phase;

/// The common state of all elections of a driver.
#[derive(Clone, Debug)]
pub(crate) struct World<K> {
    pub(crate) admission: Admission,
    pub(crate) calls: Calls,
    next_call: NextCall,
    pub(crate) in_call: InCall,
    pub(crate) phase: Phase,
    pub(crate) actions: VecDeque<Action<K>>,
}

impl<K> World<K> {
    pub(crate) fn new(in_call: InCall) -> Self {
        let InCall { renewals, looks, acquires } = in_call;
        let in_call =
            InCall { renewals: renewals.max(1), looks: looks.max(1), acquires: acquires.max(1) };
        Self {
            admission: Admission::default(),
            calls: Calls::default(),
            next_call: NextCall::default(),
            in_call,
            phase: Phase::default(),
            actions: VecDeque::new(),
        }
    }

    pub(crate) fn acts(&mut self, action: Action<K>) {
        self.actions.push_back(action);
    }

    /// The amount that waits or is under way.
    pub(crate) fn waiting(&self) -> usize {
        self.calls.len() + self.admission.len()
    }

    pub(crate) fn has_questions(&self) -> bool {
        self.calls.has_questions() || self.admission.has_questions()
    }

    pub(crate) fn asks(&mut self, question: Question, now: Instant) {
        let Question { id, request, within } = question;
        let call = self.admission.leaves(Lane::Questions, request, now);
        let carries = Carries::Question { give_up_at: now + within };
        self.calls.leaves(call, Flying { lane: Lane::Questions, left_at: now, carries });
        self.acts(Action::Ask(call, id));
    }

    /// The request leaves with the next call.
    pub(crate) fn joins(
        &mut self,
        lane: Lane,
        name: &'static str,
        now: Instant,
        outgoing: Outgoing,
    ) -> CallId {
        // What waited to look may by now ask for the lease.
        if !self.next_call.is_alike(&outgoing.request) {
            self.calls_now();
        }
        let admission = &mut self.admission;
        let leaves = || (admission.leaves(lane, name, now), lane, now);
        let (call, ..) = *self.next_call.left.get_or_insert_with(leaves);
        self.next_call.requests.push(outgoing);
        call
    }

    /// The requests that the next call has.
    pub(crate) fn in_next_call(&self) -> usize {
        self.next_call.requests.len()
    }

    /// The election whose request leaves in the same call as those that the next call has.
    pub(crate) fn next_alike(&mut self, pending: Pending, now: Instant) -> Option<ElectionId> {
        let has_room = self.next_call.has_room(pending, &self.in_call);
        if has_room { self.admission.next_of(pending, now) } else { None }
    }

    /// Carries out the next call, if it has any request.
    pub(crate) fn calls_now(&mut self) {
        let NextCall { requests, left } = std::mem::take(&mut self.next_call);
        let Some((call, lane, left_at)) = left else { return };
        let each = requests.iter().map(|one| (one.election, one.id)).collect();
        let carries = Carries::Requests { each, wanted: requests.len() };
        self.calls.leaves(call, Flying { lane, left_at, carries });
        self.acts(Action::Call(call, requests));
    }

    /// An election has given up one of its requests.
    pub(crate) fn gives_up(&mut self, call: CallId, now: Instant) {
        if let Some(Flying { lane, .. }) = self.calls.give_up_one(call) {
            self.acts(Action::Cancel(call));
            self.admission.ended(call, lane, now, None);
        }
    }
}
