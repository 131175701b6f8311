//! One election: its candidate's state machine, its requests, and its own deadlines.

mod describing;
mod events;
mod held;
mod watched;
mod work;

use std::time::Duration;

use tenure_core::{
    Candidate, Config, Input, Instant, Output, Pending, Reply, Request, RequestId, Stage, Token,
};

use crate::admission::{Lane, Place, Slack, Waiting};
use crate::alphabet::{Action, ElectionId, Join, News, Outcome, Outgoing};
use crate::calls::{Requests, name_of};
use crate::spread::Renewal;
use crate::world::World;
use describing::Describing;
use watched::Watched;
use work::WithoutWork;

#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a circumstance of its own")]
pub(crate) struct Election<K> {
    id: ElectionId,
    key: K,
    machine: Candidate,
    requests: Requests,
    /// The request that gives a tenure's lease back.
    release: Option<(RequestId, Token)>,
    /// A tenure that was held, and until when.
    held: Option<(Token, Instant)>,
    /// `Lane::Stuck` if its last request was not answered, while the store answered later ones.
    lane: Lane,
    renewal: Renewal,
    /// True if the renewal under way is followed by another one at once.
    renews_again: bool,
    /// The time of its timer.
    pub(crate) alarm: Option<Instant>,
    /// Its place in the queue for admission.
    place: Option<Place>,
    stopping: bool,
    stopped: bool,
    /// True if a request has failed, and the store has not answered since.
    store_fails: bool,
    is_offered_work: bool,
    without_work: WithoutWork,
    watched: Watched,
    describing: Describing,
}

impl<K> Election<K> {
    pub(crate) fn new(join: Join<K>) -> Self {
        let Join { election, key, config, name, seed, phase: _ } = join;
        Self {
            id: election,
            key,
            machine: Candidate::new(config, name, seed),
            requests: Requests::default(),
            release: None,
            held: None,
            lane: Lane::Usual,
            renewal: Renewal::WhenDue,
            renews_again: false,
            alarm: None,
            place: None,
            stopping: false,
            stopped: false,
            store_fails: false,
            is_offered_work: false,
            without_work: WithoutWork::No,
            watched: Watched::No,
            describing: Describing::default(),
        }
    }

    pub(crate) const fn key(&self) -> &K {
        &self.key
    }

    pub(crate) const fn machine(&self) -> &Candidate {
        &self.machine
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let (machine, requests) = (self.machine.deadline(), self.requests.deadline());
        let others = self.campaigns_again_at().into_iter().chain(self.renewal.at());
        let others = others.chain(self.watched.deadline()).chain(self.describing.deadline());
        machine.into_iter().chain(requests).chain(others).min()
    }

    /// True if the candidate has stopped and all its requests have ended or were given up.
    pub(crate) fn has_stopped(&self) -> bool {
        self.stopped && self.requests.is_empty() && self.machine.pending().is_none()
    }

    /// The candidate gives up what it holds. The handle closed the claim before it asked to resign;
    /// later claims are open again.
    pub(crate) fn resigns(&mut self, world: &mut World<K>, now: Instant, again_after: Duration) {
        if !self.stopping {
            self.publishes(world, News::Reopened);
        }
        self.without_work.holds_off(now, again_after);
        let again_after = self.again_after(again_after);
        self.handle(world, now, Input::Resign { again_after });
    }

    /// It leaves the election for good.
    pub(crate) fn stops(&mut self, world: &mut World<K>, now: Instant) {
        self.stopping = true;
        self.without_work = WithoutWork::No;
        self.handle(world, now, Input::Resign { again_after: None });
    }

    /// The next renewal leaves as soon as it is admitted; if one is under way, which may have missed
    /// the reason, another follows it. An election without a claim has none.
    pub(crate) fn renews_now(&mut self, world: &mut World<K>, now: Instant) {
        if self.machine.claim(now).is_some() {
            if self.requests.is_empty() {
                self.renewal = Renewal::Now;
            } else {
                self.renews_again = true;
            }
        }
        self.handle(world, now, Input::Wake);
    }

    /// A handle or work has closed the claim just before a renewal would have extended it. The
    /// tenure then ends for the machine too.
    pub(crate) fn was_closed(&mut self, world: &mut World<K>, now: Instant, token: Token) {
        if self.machine.claim(now).is_some_and(|claim| claim.token() == token) {
            self.handle(world, now, Input::Resign { again_after: Some(Duration::ZERO) });
        }
    }

    /// Work is offered to it, or none is.
    pub(crate) const fn offers(&mut self, any: bool) {
        self.is_offered_work = any;
    }

    /// Leaves the queue for admission: afterwards nothing there names it.
    pub(crate) fn leave_queue(&mut self, world: &mut World<K>) {
        world.admission.leave(self.id, self.place.take());
    }

    pub(super) fn publishes(&self, world: &mut World<K>, news: News) {
        world.acts(Action::Publish(self.id, news));
    }

    /// Hands an input to the machine, and takes its outputs. Then the next request waits for its
    /// admission.
    pub(crate) fn handle(&mut self, world: &mut World<K>, now: Instant, input: Input) {
        self.step(world, now, input);
        self.announce(world);
        let waiting = self.waiting();
        world.admission.set(self.id, &mut self.place, waiting, self.lane);
    }

    fn step(&mut self, world: &mut World<K>, now: Instant, input: Input) {
        self.renewal.time_is(now);
        if let Input::Reply { id, result: Ok(Reply::Released | Reply::NotHeld) } = input
            && let Some((_, token)) = self.release.take_if(|(release, _)| *release == id)
        {
            self.publishes(world, News::GivenBack(token));
        }
        self.machine.handle(now, input);
        if let Input::Admitted = input {
            self.renewal = Renewal::WhenDue;
            self.renews_again = false;
        }
        let mut unsent = None;
        while let Some(output) = self.machine.poll() {
            match output {
                Output::Send { id, request, .. } if self.runs_out(world, now, &request) => {
                    unsent = Some(id);
                }
                Output::Send { id, request, give_up_at } => {
                    self.sends(world, now, id, request, give_up_at);
                }
                Output::Event(event) => self.handle_event(world, now, event),
            }
        }
        // As if the store had answered; one that fails answers nothing.
        if let Some(id) = unsent.filter(|_| !self.store_fails) {
            self.step(world, now, Input::Reply { id, result: Ok(Reply::NotHeld) });
        }
        self.give_up_requests(world, now);
        self.describe(world, now);
        self.look_at_work(world, now);
        if self.campaigns_again_at().is_some_and(|at| now >= at) {
            self.without_work = WithoutWork::No;
            self.step(world, now, Input::Campaign);
        }
    }

    /// The request leaves with the next call.
    fn sends(
        &mut self,
        world: &mut World<K>,
        now: Instant,
        id: RequestId,
        request: Request,
        give_up_at: Instant,
    ) {
        if let Request::Release { token, .. } = request {
            self.release = Some((id, token));
        }
        let name = name_of(&request);
        let call = world.joins(self.lane, name, now, Outgoing { election: self.id, id, request });
        self.requests.leaves(id, name, give_up_at, call);
    }

    /// The request that waits for its admission.
    fn waiting(&self) -> Option<Waiting> {
        let pending = match (self.machine.pending(), self.renewal) {
            (Some(pending), _) => pending,
            (None, Renewal::Now) => {
                // As of the last input.
                let claim = self.machine.claim(Instant::ORIGIN)?;
                Pending::Renew { valid_until: claim.valid_until() }
            }
            (None, Renewal::WhenDue | Renewal::At(_)) => return None,
        };
        Some(Waiting { pending, slack: slack_of(self.machine.config()) })
    }

    fn give_up_requests(&mut self, world: &mut World<K>, now: Instant) {
        while let Some(late) = self.requests.give_up(now) {
            let is_stuck = world.admission.overtook(late.call);
            self.lane = if is_stuck { Lane::Stuck } else { Lane::Usual };
            world.gives_up(late.call, now);
            self.publishes(world, News::GivenUp(late.name));
            self.failed();
        }
    }

    /// A request has ended that left at that time.
    pub(crate) fn request_ended(
        &mut self,
        world: &mut World<K>,
        now: Instant,
        id: RequestId,
        left_at: Instant,
        outcome: Outcome,
    ) {
        if let Some(ended) = self.requests.ended(id) {
            let (took, verdict) = (now.since(left_at), outcome.verdict());
            self.publishes(world, News::Answered { request: ended.name, took, verdict });
        }
        match outcome {
            Outcome::Answered(_) => {
                self.lane = Lane::Usual;
                self.store_fails = false;
            }
            Outcome::Unexpected => {
                self.lane = Lane::Usual;
                self.failed();
            }
            Outcome::Refused | Outcome::Unanswered => self.failed(),
        }
        let reply = outcome.reply().map(|reply| self.unless_held(reply, now));
        self.handle(world, now, Input::Reply { id, result: reply.ok_or(tenure_core::Unknown) });
    }

    /// A request has failed.
    fn failed(&mut self) {
        self.store_fails = true;
        self.describing.may_be_lost();
    }

    /// Reports what the candidate does after an input. A tenure, its end and the stop are reported
    /// as they happen.
    fn announce(&self, world: &mut World<K>) {
        match self.machine.stage() {
            Stage::Leading => {}
            Stage::Out | Stage::Ending if self.stopped => {}
            stage @ (Stage::Out | Stage::Ending | Stage::Campaigning | Stage::Watching { .. }) => {
                self.publishes(world, News::Stage(stage));
            }
        }
    }
}

/// The slack of a renewal with these settings.
fn slack_of(config: &Config) -> Slack {
    let two_slow_attempts = config.request_timeout() * 3 + config.retry().1;
    Slack { urgent: config.validity() / 2, hurry: two_slow_attempts }
}
