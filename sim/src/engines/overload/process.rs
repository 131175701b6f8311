//! A process: its driver, its subscriptions, its calls under way.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure_core::{Instant, NameId, Reply, Request, Seed, Token, Wish};
use tenure_driver::{CallId, Driver, ElectionId, Event, InCall, Join, Question, QuestionId};

use super::journal::{id, key};
use super::plan::Plan;
use crate::plan::SimTime;
use crate::plan::draw::Draw;
use crate::trace::Who;

/// The number of processes.
pub(super) const PROCESSES: usize = 2;
/// A process's clock when the run begins: spread renewals need a past.
const BOOTED: Duration = Duration::from_secs(3_600);

pub(super) struct Process {
    number: usize,
    pub(super) driver: Driver<u32>,
    /// The elections whose hints it wants.
    pub(super) subscribed: BTreeSet<u32>,
    pub(super) calls: BTreeMap<CallId, Call>,
    /// The wishes of leaders that hand over, and until when they are sent again.
    pub(super) wishes: BTreeMap<QuestionId, Wished>,
    asked: u64,
}

/// A call under way.
pub(super) struct Call {
    /// Its number among those of all processes. All its requests have it.
    pub(super) number: u64,
    /// The candidates whose requests have not ended; none if a handle has sent it.
    pub(super) of: Vec<Who>,
    pub(super) question: Option<QuestionId>,
    pub(super) replies: Vec<Reply>,
}

/// The leader's wish for the other process's candidate to lead.
#[derive(Clone, Copy)]
pub(super) struct Wished {
    pub(super) election: ElectionId,
    token: Token,
    until: SimTime,
}

/// The reading of each process's clock.
pub(super) fn reading(at: SimTime) -> Instant {
    Instant::ORIGIN + BOOTED + at.since(SimTime::START)
}

/// The true time at which the clock of a process shows that.
pub(super) fn true_time(reading: Instant) -> SimTime {
    SimTime::START + reading.since(Instant::ORIGIN + BOOTED)
}

fn name(process: usize) -> NameId {
    NameId::from_bits(process as u128 + 1)
}

impl Process {
    pub(super) fn new(number: usize, plan: &Plan) -> Self {
        let most = usize::try_from(plan.in_call).unwrap_or(1);
        Self {
            number,
            driver: Driver::new(InCall { renewals: most, looks: most, acquires: most }),
            subscribed: BTreeSet::new(),
            calls: BTreeMap::new(),
            wishes: BTreeMap::new(),
            asked: 0,
        }
    }

    /// The next deadline of its driver.
    pub(super) fn deadline(&self) -> SimTime {
        self.driver.deadline().map_or(SimTime::NEVER, true_time)
    }

    pub(super) fn join(&self, plan: &Plan, who: Who) -> Event<u32> {
        let of = id(who) << 8 | self.number as u64;
        let mut draw = Draw::new(plan.seed, "overload candidate", of);
        let seed = Seed::new((u128::from(draw.bits()) << 64) | u128::from(draw.bits()));
        Event::Join(Box::new(Join {
            election: id(who),
            key: key(id(who)),
            config: plan.config(),
            name: name(self.number),
            seed,
            phase: draw.bits(),
        }))
    }

    /// The token under which that candidate leads.
    pub(super) fn leads(&self, of: ElectionId, at: SimTime) -> Option<Token> {
        Some(self.driver.candidate(of)?.claim(reading(at))?.token())
    }

    /// Wishes, as that leader, for the other process's candidate to lead.
    pub(super) fn hands_over(
        &mut self,
        plan: &Plan,
        of: ElectionId,
        at: SimTime,
    ) -> Option<Event<u32>> {
        let until = at + plan.config().ttl();
        let token = self.leads(of, at)?;
        Some(self.wishes_for(plan, Wished { election: of, token, until }))
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
        self.asked += 1;
        self.wishes.insert(self.asked, wished);
        let within = plan.config().request_timeout();
        Event::Ask(Question { id: self.asked, request: "want", within })
    }

    /// The request of that question.
    pub(super) fn request_of(&self, question: QuestionId) -> Option<(u32, Request)> {
        let Wished { election, token, .. } = *self.wishes.get(&question)?;
        let wish = Some(Wish::Name(name(PROCESSES - 1 - self.number)));
        Some((key(election), Request::Want { token, wish }))
    }
}
