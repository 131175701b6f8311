//! A candidate whose leadership is a flag that the last reply has set.
//!
//! It requests the lease, and leads from the reply that grants it to the reply that refuses it. It
//! has no deadline: while no reply arrives, it continues to answer "I lead".

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::time::Duration;

use tenure_core::{Config, Instant};

use super::super::algorithm::{
    Algorithm, Input, Lead, Output, Served, Session, Stored, Timers, Visit,
};
use super::client::Client;
use super::model::{Ask, Model, Reply, StoreAnswer, Want};
use super::pace::{Pace, Timer};
use crate::plan::draw::Draw;
use crate::trace::{Answer, Asked, Reason};

/// One life of a candidate.
#[derive(Clone, Debug)]
pub(crate) struct Flag<M> {
    pace: Pace,
    client: Client,
    chance: Draw,
    takes_part: bool,
    /// The flag, with the tenure's ordinal.
    leads: Option<u64>,
    next: Option<Instant>,
    /// The number of times that the timer fired while a request was in flight.
    queued: u32,
    tidies_at: Option<Instant>,
    again_at: Option<Instant>,
    outputs: VecDeque<Output<u64, Ask>>,
    model: PhantomData<M>,
}

impl<M: Model> Flag<M> {
    fn begin(&mut self, now: Instant) {
        if self.takes_part {
            return;
        }
        self.takes_part = true;
        self.again_at = None;
        self.tidies_at = self.pace.tidies.map(|_| now);
        self.tidy(now);
        self.ask_next();
        self.next = match self.timer() {
            Timer::AfterReply(_) => None,
            Timer::Every(period) | Timer::Queued(period) => Some(now + period),
        };
    }

    fn leave(&mut self, now: Instant, again_after: Option<Duration>) {
        self.takes_part = false;
        (self.next, self.tidies_at, self.queued) = (None, None, 0);
        self.client.forgets_repeats();
        self.again_at = again_after.map(|wait| now + wait);
        if self.leads.is_some() {
            self.ask(Want::GiveBack);
            if !self.pace.leads_until_released {
                self.lose(now, Reason::Resigned);
            }
        }
    }

    const fn timer(&self) -> Timer {
        if self.leads.is_some() { self.pace.leader } else { self.pace.standby }
    }

    fn ask_next(&mut self) {
        self.ask(if self.leads.is_some() { Want::Keep } else { Want::Take });
    }

    fn ask(&mut self, want: Want) {
        let (id, request) = self.client.ask(want, self.leads);
        self.outputs.push_back(Output::Send { id, request });
    }

    fn wake(&mut self, now: Instant) {
        if self.again_at.is_some_and(|at| at <= now) {
            self.begin(now);
        }
        self.tidy(now);
        for want in self.client.take_due(now) {
            self.ask(want);
        }
        if self.next.is_none_or(|next| next > now) {
            return;
        }
        self.next = match self.timer() {
            Timer::AfterReply(_) => None,
            Timer::Every(period) => Some(now + period),
            Timer::Queued(period) if self.client.is_busy() => {
                self.queued += 1;
                self.next = Some(now + period);
                return;
            }
            Timer::Queued(period) => Some(now + period),
        };
        self.ask_next();
    }

    fn tidy(&mut self, now: Instant) {
        if let (Some(at), Some(period)) = (self.tidies_at, self.pace.tidies)
            && at <= now
        {
            self.ask(Want::Tidy);
            self.tidies_at = Some(now + self.jittered(period));
        }
    }

    fn jittered(&mut self, wait: Duration) -> Duration {
        let longer = self.chance.duration(Duration::ZERO..=2 * self.pace.jitter);
        (wait + longer).saturating_sub(self.pace.jitter)
    }

    fn answered(&mut self, now: Instant, id: u64, reply: Option<Reply>) {
        let led = self.leads.is_some();
        match (self.client.first_answer(id), reply) {
            (None | Some(Want::Tidy), _) => return,
            (Some(want), Some(Reply { server, answer, .. })) => {
                self.client.succeeds(server);
                self.apply(now, want, answer);
            }
            (Some(want), None) => {
                if self.takes_part && self.client.repeats(now, want) {
                    return;
                }
                self.lose(now, Reason::RenewFailed);
            }
        }
        if self.takes_part {
            self.plan_next(now, led);
        }
    }

    fn apply(&mut self, now: Instant, want: Want, answer: StoreAnswer) {
        match (want, answer) {
            (Want::Tidy, _) => {}
            (Want::GiveBack, _) => self.lose(now, Reason::Resigned),
            (Want::Take | Want::Keep, StoreAnswer::Granted { token }) => {
                if self.takes_part {
                    self.lead(now, token);
                } else {
                    self.ask(Want::GiveBack);
                }
            }
            (Want::Take | Want::Keep, StoreAnswer::Renewed) => {
                let renewed = self.leads.map(|token| Output::Renewed(lead(token)));
                self.outputs.extend(renewed);
            }
            (Want::Take, StoreAnswer::NotHeld | StoreAnswer::Done) => {}
            (Want::Keep, StoreAnswer::NotHeld | StoreAnswer::Done) => {
                self.lose(now, Reason::Superseded);
            }
            (Want::Take | Want::Keep, StoreAnswer::UnknownSession) => {
                self.client.reconnects();
                self.lose(now, Reason::RenewFailed);
            }
        }
    }

    /// Schedules the next request after an answer.
    fn plan_next(&mut self, now: Instant, led: bool) {
        let turned = led != self.leads.is_some();
        match (self.timer(), self.pace.standby) {
            (Timer::AfterReply(wait), _) => {
                if turned || self.next.is_none() && !self.client.is_busy() {
                    self.next = Some(now + self.jittered(wait));
                }
            }
            // The timer of a leader starts at the election.
            (Timer::Every(period), Timer::AfterReply(_)) if turned => {
                self.next = Some(now + period);
            }
            (Timer::Queued(_), _) if self.queued > 0 => {
                self.queued -= 1;
                self.ask_next();
            }
            (Timer::Every(_) | Timer::Queued(_), _) => {}
        }
    }

    fn lead(&mut self, now: Instant, token: u64) {
        if self.leads != Some(token) {
            self.lose(now, Reason::Superseded);
            self.leads = Some(token);
            self.outputs.push_back(Output::Elected(lead(token)));
        }
    }

    fn lose(&mut self, now: Instant, reason: Reason) {
        if let Some(token) = self.leads.take() {
            self.outputs.push_back(Output::SteppedDown { token, reason, drain_until: now });
        }
    }

    /// The connection was opened again.
    fn reconnected(&mut self, now: Instant) {
        if self.pace.is_of_a_connection && self.leads.is_some() {
            self.client.reconnects();
            self.lose(now, Reason::RenewFailed);
            self.plan_next(now, true);
        }
    }
}

const fn lead(token: u64) -> Lead {
    Lead { token, until: Instant::FAR_FUTURE }
}

impl<M: Model> Algorithm for Flag<M> {
    type Id = u64;
    type Request = Ask;
    type Reply = Reply;
    type Store = M::Store;
    const TIMERS: Timers = Timers::Monotonic;

    fn new(config: &Config, _: usize, seed: u128) -> Self {
        let pace = M::pace(config);
        Self {
            pace,
            client: Client::new(seed, config.ttl(), pace.patience),
            chance: Draw::new(u64::try_from(seed >> 64).unwrap_or(0), "jitter", 0),
            takes_part: false,
            leads: None,
            next: None,
            queued: 0,
            tidies_at: None,
            again_at: None,
            outputs: VecDeque::new(),
            model: PhantomData,
        }
    }

    fn handle(&mut self, now: Instant, input: Input<u64, Reply>) {
        match input {
            Input::Campaign => self.begin(now),
            Input::Resign { again_after } => self.leave(now, again_after),
            Input::Reply { id, reply } => self.answered(now, id, reply),
            Input::Hint => self.reconnected(now),
            Input::Wake => self.wake(now),
            Input::Drained | Input::Resumed => {}
        }
    }

    fn poll(&mut self) -> Option<Output<u64, Ask>> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        let repeats = self.client.next_repeat();
        [self.next, self.tidies_at, self.again_at, repeats].into_iter().flatten().min()
    }

    fn leads(&self, _: Instant) -> Option<Lead> {
        self.leads.map(lead)
    }

    fn serve(store: &mut M::Store, at: Visit, ask: Ask) -> Served<Reply> {
        let answer = M::serve(store, at, ask);
        let reply = Reply { server: at.server, want: ask.want, answer };
        Served { reply, hints: false, granted: matches!(answer, StoreAnswer::Granted { .. }) }
    }

    fn kept(store: &M::Store) -> Option<Stored> {
        M::kept(store)
    }

    fn disconnected(store: &mut M::Store, session: Session) -> bool {
        M::disconnected(store, session);
        false
    }

    fn cut_off(store: &mut M::Store, session: Session) {
        M::cut_off(store, session);
    }

    fn number(id: u64) -> u64 {
        id
    }

    fn asked(request: Ask) -> Option<(u128, Asked)> {
        request.in_words()
    }

    fn answered(reply: Reply) -> Option<Answer> {
        reply.in_words()
    }
}
