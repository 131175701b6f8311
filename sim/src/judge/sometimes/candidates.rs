//! Conditions on candidates, their leads and their messages.

use super::{Condition, Sometimes};
use crate::judge::State;
use crate::plan::{FaultKind, SimTime};
use crate::trace::{Answer, Asked, Reason, Who};

/// One life of a node. Zero stands for no token and no request.
#[derive(Clone, Debug, Default)]
pub(super) struct Life {
    /// The last token from which it stepped down, unless its clock was the reason.
    given_up: Option<u64>,
    /// The token of the last tenure that it stepped down from, and the end of the time for its work
    /// to drain.
    pub(super) drains: (u64, SimTime),
    /// True if it waits out a quarantine.
    pub(super) waits: bool,
    /// The last renewal that was not answered.
    pub(super) renewal: Option<Renewal>,
    /// Its last request, and its last answered request.
    sent: u64,
    answered: u64,
    /// The time of its last request.
    sent_at: SimTime,
    /// True if its memory was restored from a snapshot: it may repeat answered requests.
    pub(super) restored: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Renewal {
    id: u64,
    pub(super) token: u64,
    pub(super) carried_out: bool,
}

impl Sometimes {
    pub(super) fn started(&mut self, who: Who) {
        self.faults.resume(who.node);
        self.lives.insert(who, Life::default());
    }

    pub(super) fn crashed(&mut self, at: SimTime, who: Who, state: &State) {
        let life = self.lives.remove(who);
        self.met_if(Condition::LeaderCrashed, state.leads(who).is_some());
        self.met_if(Condition::CrashedInAQuarantine, life.is_some_and(|life| life.waits));
        self.is_vacant(at, who, state);
    }

    pub(super) fn leads(&mut self, at: SimTime, who: Who, token: u64) {
        if let Some(since) = self.vacant_since.take() {
            let vacant = at.since(since);
            self.met_if(Condition::NobodyLedForALease, vacant > self.store.lease_lasts);
        }
        self.lives.of(who).waits = false;
        let led = self.led.of(who.node).replace(who.life);
        self.met_if(Condition::RestartedNodeLedAgain, led.is_some_and(|life| life < who.life));
        self.store.tenures.of(token).led = true;
    }

    pub(super) fn leads_no_more(&mut self, at: SimTime, who: Who, state: &State) {
        self.is_vacant(at, who, state);
        let led = state.leads(who);
        if led.is_some() && led != self.lives.of(who).given_up {
            // Its clock alone has ended the lead.
            let cut_off = self.faults.strike(who.node, &FaultKind::CUTS_OFF);
            self.met_if(Condition::LedWhilePartitioned, cut_off);
            let is_paused = self.faults.strike(who.node, &FaultKind::PAUSES);
            self.met_if(Condition::LeaderPausedPastItsLease, is_paused);
        }
    }

    /// A lead has ended, if there was one.
    fn is_vacant(&mut self, at: SimTime, who: Who, state: &State) {
        if state.leads(who).is_some() && state.leaders().len() == 1 {
            self.vacant_since = Some(at);
        }
    }

    pub(super) fn stepped_down(&mut self, who: Who, token: u64, reason: Reason, state: &State) {
        if reason != Reason::Expired {
            self.lives.of(who).given_up = Some(token);
        }
        let works = state.work().contains(&(who, token));
        match reason {
            Reason::Expired => self.met(Condition::LeaderExpiredByClock),
            Reason::Superseded => self.met(Condition::LeaderSuperseded),
            Reason::Resigned => {
                self.store.tenures.of(token).resigned = true;
                self.met_if(Condition::ResignedUnderWork, works);
                let cut_off = self.faults.strike(who.node, &FaultKind::CUTS_OFF);
                self.met_if(Condition::ResignedWhileCutOff, cut_off);
            }
            Reason::HandedOver => {
                self.store.tenures.of(token).resigned = true;
            }
            Reason::RenewFailed | Reason::Other => {}
        }
    }

    pub(super) fn drain_moved(&mut self, at: SimTime, who: Who, token: u64, drain_ends: SimTime) {
        let drains = &mut self.lives.of(who).drains;
        let (of, before) = std::mem::replace(drains, (token, drain_ends));
        // Superseded work ends at once, also if a clock step has moved the earlier end.
        self.met_if(Condition::DrainLengthened, of == token && drain_ends > before.max(at));
    }

    pub(super) fn wrote(&mut self, at: SimTime, who: Who, checked: SimTime) {
        let paused = at > checked && self.faults.paused_since(who.node, checked);
        self.met_if(Condition::PauseBetweenCheckAndEffect, paused);
    }

    pub(super) fn sent(&mut self, at: SimTime, who: Who, id: u64, request: Asked) {
        let life = self.lives.of(who);
        (life.sent, life.sent_at) = (id, at);
        match request {
            Asked::Renew { token } => {
                let renewal = Renewal { id, token, carried_out: false };
                let lost = life.renewal.replace(renewal);
                let lost = lost.is_some_and(|last| last.token == token && last.carried_out);
                self.met_if(Condition::RenewalReplyLost, lost);
            }
            Asked::Acquire { .. } | Asked::Look { .. } | Asked::Release { .. } => {}
        }
    }

    pub(super) fn answered(&mut self, who: Who, id: u64, answer: Option<Answer>) {
        if answer.is_none() {
            return;
        }
        let life = self.lives.of(who);
        life.waits &= answer.and_then(Answer::past_is_watched) != Some(true);
        if life.renewal.is_some_and(|last| last.id == id) {
            life.renewal = None;
        }
        let (is_late, is_overtaken) = (id < life.sent, id < life.answered);
        life.answered = life.answered.max(id);
        if let (Some(Answer::Granted { token }), false) = (answer, is_late) {
            // The lease was granted before this request was sent, so by an earlier request.
            let (sent_at, restored) = (life.sent_at, life.restored);
            let granted_at = self.store.tenures.of(token).granted_at;
            let retried = granted_at.is_some_and(|granted_at| granted_at < sent_at);
            self.met_if(Condition::LostGrantRetried, retried && !restored);
        }
        self.met_if(Condition::LateReply, is_late);
        self.met_if(Condition::ReplyOvertaken, is_overtaken);
    }
}
