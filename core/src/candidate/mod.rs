//! One candidate in one election.

mod admission;
mod campaign;
mod ending;
mod outbox;
mod phase;
mod tenure;
mod watch;

use core::time::Duration;

use crate::alphabet::{Event, Input, OtherSettings, Output, Pending, Unknown};
use crate::claim::Claim;
use crate::config::Config;
use crate::id::{HolderId, NameId, RequestId, Seed, Token};
use crate::random::Random;
use crate::request::Reply;
use crate::stage::Stage;
use crate::time::Instant;
use outbox::{Outbox, Outgoing};
use phase::{
    Attempt, Campaign, Draining, Flight, Hold, Known, Lease, Phase, Plan, Releasing, Tenure, Wished,
};
use watch::{Answer, PastWatch};

/// A candidate's state machine: one candidate, one election, one clock.
///
/// What a driver must do:
///
/// - read the clock *after* the event that an input reports, and hand in the reading with the
///   input;
/// - after each input, poll until `None`;
/// - hand in [`Input::Admitted`] while a request is [`pending`](Self::pending) and may leave;
/// - send each request no earlier than it was polled;
/// - wake the machine at [`deadline`](Self::deadline);
/// - answer every [`Event::SteppedDown`] with [`Input::Drained`].
///
/// A driver that is late costs progress, never safety.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    config: Config,
    name: NameId,
    random: Random,
    /// The latest time seen; an older reading of the clock does not change it.
    now: Instant,
    /// The highest token known.
    seen: Option<Token>,
    /// The tenure that was last seen to hold the lease.
    incumbent: Option<Token>,
    past: PastWatch,
    /// The settings of another candidate that contradict the own ones, as they were last reported.
    contradiction: Option<OtherSettings>,
    last_request: Option<RequestId>,
    store_answers: bool,
    /// An acquire of a campaign that was given up, in case its grant still arrives.
    abandoned: Option<Abandoned>,
    /// A lease that the candidate no longer wants, and that the store may still keep.
    unwanted: Option<Unwanted>,
    phase: Phase,
    outbox: Outbox,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Abandoned {
    id: RequestId,
    holder: HolderId,
}

/// A lease to give back: a grant of an abandoned campaign, or one whose release was not answered in
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Unwanted {
    tenure: Tenure,
    /// The candidate that the lease is given back for.
    kept_for: Option<NameId>,
    /// True if the store has it: then it is released.
    is_kept: bool,
}

impl Candidate {
    /// A candidate that does not campaign yet. No two candidates may share a seed.
    pub fn new(config: Config, name: NameId, seed: Seed) -> Self {
        Self {
            config,
            name,
            random: Random::new(seed),
            now: Instant::ORIGIN,
            seen: None,
            incumbent: None,
            past: PastWatch::NONE,
            contradiction: None,
            last_request: None,
            store_answers: true,
            abandoned: None,
            unwanted: None,
            phase: Phase::Idle,
            outbox: Outbox::default(),
        }
    }

    /// The settings.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Takes in what happened, at the time `now` on the candidate's clock.
    ///
    /// A `now` that is older than an earlier one counts as that earlier one. First the claim
    /// expires if its time is over, then the input is read, then everything that is due is done:
    /// afterwards [`deadline`](Self::deadline) is later than `now`.
    ///
    /// # Panics
    /// If outputs of the input before have not been polled: they would be lost.
    pub fn handle(&mut self, now: Instant, input: Input) {
        assert!(self.outbox.is_empty(), "poll() until None before the next handle()");
        self.outbox.rewind();
        self.now = self.now.max(now);
        self.expire();
        match input {
            Input::Campaign => self.join(),
            Input::Resign { again_after } => {
                self.resign(again_after.map_or(Plan::Idle, Plan::HoldOff));
            }
            Input::Drained => self.drained(),
            Input::Admitted => self.admitted(),
            Input::Reply { id, result } => self.reply(id, result),
            Input::Resumed => self.resumed(),
            Input::Hint => self.hint(),
            Input::Wake => {}
        }
        self.advance();
    }

    /// The next output of the last input, until there is none.
    pub fn poll(&mut self) -> Option<Output> {
        if let Some(event) = self.outbox.event() {
            return Some(Output::Event(event));
        }
        let Outgoing { id, asked, give_up_at } = self.outbox.request()?;
        Some(Output::Send { id, request: self.request(id, asked), give_up_at })
    }

    /// The request that waits for its admission, if one does. Like the deadline, it follows from
    /// the state: it is looked at after each input, and never goes stale.
    pub fn pending(&self) -> Option<Pending> {
        match self.phase {
            _ if self.unwanted.is_some_and(|one| one.is_kept) => Some(Pending::Release),
            Phase::Campaigning(campaign) if campaign.attempt.is_pending() => {
                Some(if self.asks(&campaign) { Pending::Acquire } else { Pending::Look })
            }
            phase => phase.pending(),
        }
    }

    /// The next wake-up; `None` if only another input can change its state.
    pub fn deadline(&self) -> Option<Instant> {
        self.phase.deadline()
    }

    /// The claim, if the candidate leads at `now`.
    ///
    /// Needs no reply, no timer and no thread to become `None`. Says nothing about any later
    /// moment.
    pub fn claim(&self, now: Instant) -> Option<Claim> {
        match &self.phase {
            Phase::Leading(lease) if self.now.max(now) < lease.valid_until => Some(lease.claim()),
            Phase::Leading(_)
            | Phase::Idle
            | Phase::HoldingOff { .. }
            | Phase::Campaigning(_)
            | Phase::Withdrawing { .. }
            | Phase::Draining(_)
            | Phase::Releasing(_) => None,
        }
    }

    /// Under which identity the lease was granted, while the candidate leads.
    pub const fn leads_as(&self) -> Option<HolderId> {
        match self.phase {
            Phase::Leading(lease) => Some(lease.tenure.holder),
            Phase::Idle
            | Phase::HoldingOff { .. }
            | Phase::Campaigning(_)
            | Phase::Withdrawing { .. }
            | Phase::Draining(_)
            | Phase::Releasing(_) => None,
        }
    }

    /// The settings of another candidate that contradict the own ones, if the store has last shown
    /// such.
    pub const fn contradiction(&self) -> Option<OtherSettings> {
        self.contradiction
    }

    /// The candidate's stage after the last input.
    pub fn stage(&self) -> Stage {
        match self.phase {
            Phase::Idle | Phase::HoldingOff { .. } => Stage::Out,
            Phase::Campaigning(_) => {
                let ready = self.past.ready(&self.config).filter(|until| self.now < *until);
                ready.map_or(Stage::Campaigning, |until| Stage::Watching { until })
            }
            Phase::Leading(_) => Stage::Leading,
            Phase::Withdrawing { .. } | Phase::Draining(_) | Phase::Releasing(_) => Stage::Ending,
        }
    }

    /// Ends, by the clock alone, the claim or lease whose time is over.
    fn expire(&mut self) {
        match self.phase {
            Phase::Leading(lease) if self.now >= lease.valid_until => self.expire_claim(lease),
            Phase::Draining(end @ Draining { hold: Hold::Kept { lease, bound }, .. })
                if self.now >= lease.valid_until || self.now >= bound =>
            {
                self.phase = Phase::Draining(Draining { hold: Hold::Left(lease.tenure), ..end });
            }
            Phase::Leading(_)
            | Phase::Draining(_)
            | Phase::Idle
            | Phase::HoldingOff { .. }
            | Phase::Campaigning(_)
            | Phase::Withdrawing { .. }
            | Phase::Releasing(_) => {}
        }
    }

    fn reply(&mut self, id: RequestId, result: Result<Reply, Unknown>) {
        match self.phase {
            Phase::Campaigning(campaign) => {
                if let Some(flight) = campaign.attempt.answers(id) {
                    return self.acquire_answered(campaign, flight, result);
                }
            }
            Phase::Withdrawing { holder, flight, then } => {
                if flight.id == id {
                    return self.withdrawal_answered(holder, flight, then, result);
                }
            }
            Phase::Leading(lease)
            | Phase::Draining(Draining { hold: Hold::Kept { lease, .. }, .. }) => {
                if let Some(flight) = lease.attempt.answers(id) {
                    return self.renew_answered(lease, flight, result);
                }
            }
            Phase::Releasing(end) => {
                if let Some(flight) = end.attempt.answers(id) {
                    return self.release_answered(end, flight, result);
                }
            }
            Phase::Draining(Draining { hold: Hold::Left(_) | Hold::Gone, .. })
            | Phase::Idle
            | Phase::HoldingOff { .. } => {}
        }
        self.stray(id, result);
    }

    /// Does what is due by now, so that the next deadline lies in the future.
    fn advance(&mut self) {
        match self.phase {
            Phase::HoldingOff { until } if self.now >= until => self.campaign(),
            Phase::Campaigning(campaign) => self.advance_campaign(campaign),
            Phase::Withdrawing { holder, flight, then } if self.now >= flight.give_up_at => {
                self.withdrawal_answered(holder, flight, then, Err(Unknown));
            }
            Phase::Leading(lease) => self.advance_lease(lease),
            Phase::Draining(Draining { hold: Hold::Kept { lease, .. }, .. }) => {
                self.advance_lease(lease);
            }
            Phase::Releasing(end) => self.advance_release(end),
            Phase::Draining(Draining { hold: Hold::Left(_) | Hold::Gone, .. })
            | Phase::Withdrawing { .. }
            | Phase::HoldingOff { .. }
            | Phase::Idle => {}
        }
    }

    fn emit(&mut self, event: Event) {
        self.outbox.push(event);
    }

    /// Time has passed in which nobody watched.
    fn resumed(&mut self) {
        self.past.begin_anew(self.now);
        if let Phase::Campaigning(Campaign { known: Known::Lease(watch), .. }) = &mut self.phase {
            watch.begin_anew(self.now);
        }
    }

    /// Takes in what an answer says of the past. Says whether a watch of it begins.
    fn take_in(&mut self, answer: Answer) -> bool {
        let begins = self.past.take_in(self.now, self.seen, &answer);
        self.seen = self.seen.max(answer.last);
        begins
    }

    fn store_answered(&mut self) {
        if !self.store_answers {
            self.store_answers = true;
            self.emit(Event::StoreRecovered);
        }
    }

    /// Notes that a request's outcome is unknown; the next try follows after a random delay.
    fn store_failed(&mut self, flight: Flight) -> Attempt {
        if self.store_answers {
            self.store_answers = false;
            self.emit(Event::StoreUnavailable { since: flight.sent_at });
        }
        Attempt::Due {
            at: self.now + self.backoff(flight.failures),
            failures: flight.failures.saturating_add(1),
        }
    }

    /// Full jitter: uniform from zero to the bound, which doubles with each failure in a row.
    ///
    /// Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
    fn backoff(&mut self, failures: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.min(31));
        let bound = self.config.retry_least().saturating_mul(doubled).min(self.config.retry_most());
        self.random.up_to(bound)
    }
}
