//! A process: its driver, its clock, its candidates, its calls under way.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::{Instant, NameId, Request, Seed, Token, Wish};
use tenure_driver::{CallId, Driver, ElectionId, Event, InCall, Join, Question, QuestionId};

use super::faults::{FaultKind, Shell};
use super::journal::{candidate, id, key};
use super::ledger::Ledger;
use super::plan::Plan;
use crate::plan::SimTime;
use crate::plan::clock::Clock;
use crate::plan::draw::Draw;
use crate::trace::Who;

/// The number of processes at a time, each in a place of its own.
pub(super) const PLACES: usize = 2;
/// A process's clock when the run begins: spread renewals need a past.
const BOOTED: Duration = Duration::from_secs(3_600);

/// The place of a process of that number: after a crash, the next number of the place follows.
pub(super) const fn place(process: usize) -> usize {
    process % PLACES
}

pub(super) struct Process {
    number: usize,
    pub(super) driver: Driver<u32>,
    pub(super) ledger: Ledger,
    clock: Clock,
    /// The last time at which it was stopped, from its beginning to its end.
    stopped: (SimTime, SimTime),
    /// It has crashed, or has not begun.
    pub(super) is_gone: bool,
    /// The candidates that have not ended, of each election. Few have more than one.
    pub(super) candidates: BTreeMap<u32, Vec<Who>>,
    /// The number of candidates of each election that have joined, if they are several.
    lives: BTreeMap<u32, u32>,
    pub(super) calls: BTreeMap<CallId, Call>,
    /// The version of each candidate's profile.
    pub(super) profiles: BTreeMap<ElectionId, u64>,
    /// The wishes of leaders that hand over, and until when they are sent again.
    pub(super) wishes: BTreeMap<QuestionId, Wished>,
    pub(super) asked: QuestionId,
}

/// A call under way.
pub(super) struct Call {
    /// Its number among those of all processes. All its requests have it.
    pub(super) number: u64,
    /// The candidates whose requests have not ended; none if a handle has sent it.
    pub(super) of: Vec<Who>,
    pub(super) question: Option<QuestionId>,
}

/// The leader's wish for the other process's candidate to lead.
#[derive(Clone, Copy)]
pub(super) struct Wished {
    pub(super) election: ElectionId,
    token: Token,
    until: SimTime,
}

impl Process {
    pub(super) fn new(number: usize, plan: &Plan) -> Self {
        let most = usize::try_from(plan.in_call).unwrap_or(1);
        let in_call = InCall { renewals: most, looks: most, acquires: most };
        let drift = if plan.is_faulty() { u64::from(plan.config().drift_ppm()) } else { 0 };
        let rate = Draw::new(plan.seed, "overload clock", number as u64).within(0..=2 * drift);
        let rate =
            i64::try_from(rate).unwrap_or_default() - i64::try_from(drift).unwrap_or_default();
        Self {
            number,
            driver: Driver::new(in_call),
            ledger: Ledger::new(in_call),
            clock: Clock::new(BOOTED, rate),
            stopped: (SimTime::START, SimTime::START),
            is_gone: number >= PLACES,
            candidates: BTreeMap::new(),
            lives: BTreeMap::new(),
            calls: BTreeMap::new(),
            profiles: BTreeMap::new(),
            wishes: BTreeMap::new(),
            asked: 0,
        }
    }

    /// Its clock's reading.
    pub(super) fn reading(&self, at: SimTime) -> Instant {
        self.clock.read(at)
    }

    /// The reading that its shell has when it takes something at that time.
    pub(super) fn reads(&self, at: SimTime, shell: Shell) -> Instant {
        let (from, until) = self.stopped;
        self.reading(if shell == Shell::ReadsEarly && at == until { from } else { at })
    }

    /// The true time at which its clock shows that.
    pub(super) fn true_time(&self, reading: Instant) -> SimTime {
        self.clock.when(reading)
    }

    /// The time at which what reaches it then is taken: the end of a pause, if there is one.
    pub(super) fn takes_at(&self, at: SimTime) -> SimTime {
        at.max(self.stopped.1)
    }

    /// It does nothing from that time to the other.
    pub(super) fn stops(&mut self, kind: FaultKind, from: SimTime, until: SimTime) {
        self.stopped = (from, until);
        if let FaultKind::Suspended { ahead } = kind {
            self.clock.set(from, self.clock.read(from) + ahead);
        }
    }

    /// The time of its driver's next step.
    pub(super) fn deadline(&self) -> SimTime {
        if self.is_gone {
            return SimTime::NEVER;
        }
        self.driver.deadline().map_or(SimTime::NEVER, |at| self.takes_at(self.true_time(at)))
    }

    /// Its newest candidate in that election.
    pub(super) fn candidate(&self, of: u32) -> Option<Who> {
        self.candidates.get(&of)?.last().copied()
    }

    /// A new candidate in that election.
    pub(super) fn joins(&mut self, plan: &Plan, of: u32) -> (Who, Event<u32>) {
        let life = self.lives.entry(of).or_default();
        let who = Who { life: *life, ..candidate(self.number, of) };
        *life += 1;
        self.candidates.entry(of).or_default().push(who);
        let stream = id(who) << 8 | self.number as u64;
        let mut draw = Draw::new(plan.seed, "overload candidate", stream);
        let seed = Seed::new((u128::from(draw.bits()) << 64) | u128::from(draw.bits()));
        let join = Join {
            election: id(who),
            key: of,
            config: plan.config(),
            name: name(place(self.number)),
            seed,
            phase: draw.bits(),
        };
        (who, Event::Join(Box::new(join)))
    }

    /// A candidate has ended.
    pub(super) fn has_ended(&mut self, who: Who) {
        let of = key(id(who));
        let Some(all) = self.candidates.get_mut(&of) else { return };
        all.retain(|one| *one != who);
        if all.is_empty() {
            self.candidates.remove(&of);
        }
    }

    /// The token under which that candidate leads.
    pub(super) fn leads(&self, who: Who, at: SimTime) -> Option<Token> {
        Some(self.driver.candidate(id(who))?.claim(self.reading(at))?.token())
    }

    /// Wishes, as that leader, for the other process's candidate to lead.
    pub(super) fn hands_over(&mut self, plan: &Plan, who: Who, at: SimTime) -> Option<Event<u32>> {
        let until = at + plan.config().ttl();
        let token = self.leads(who, at)?;
        Some(self.wishes_for(plan, Wished { election: id(who), token, until }))
    }

    /// A wish whose request has got no answer is sent again, for a while.
    pub(super) fn wishes_again(
        &mut self,
        plan: &Plan,
        question: QuestionId,
        at: SimTime,
    ) -> Option<Event<u32>> {
        let wished = self.wishes.remove(&question).filter(|wished| at < wished.until)?;
        Some(self.wishes_for(plan, wished))
    }

    fn wishes_for(&mut self, plan: &Plan, wished: Wished) -> Event<u32> {
        let asks = self.asks("want", plan.config().request_timeout());
        self.wishes.insert(self.asked, wished);
        asks
    }

    /// A question to the store.
    pub(super) fn asks(&mut self, request: &'static str, within: Duration) -> Event<u32> {
        self.asked += 1;
        Event::Ask(Question { id: self.asked, request, within })
    }

    /// The request of that question.
    pub(super) fn request_of(&self, question: QuestionId) -> Option<(u32, Request)> {
        let Wished { election, token, .. } = *self.wishes.get(&question)?;
        let wish = Some(Wish::Name(name(PLACES - 1 - place(self.number))));
        Some((key(election), Request::Want { token, wish }))
    }
}

/// The name of a process's candidates, and of those of the one that takes its place after a crash.
fn name(place: usize) -> NameId {
    NameId::from_bits(place as u128 + 1)
}
