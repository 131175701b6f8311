//! The order and the times of requests.
//!
//! A window of calls is in flight; all others wait here, ordered by what they are worth. So a store
//! that is slower than its elections need costs leads that are not gained, and not leads that are
//! held: an election that waits for its first lease stands behind all that have one.

mod pace;
mod queue;
mod window;

use std::time::Duration;

use tenure_core::{Instant, Pending};

use crate::alphabet::{CallId, ElectionId, Question, QuestionId};
use pace::Pace;
use queue::Queue;
pub(crate) use queue::{Place, Slack, Waiting};
pub use window::LEAST_CALLS;
use window::{Answers, Window};

#[derive(Clone, Debug, Default)]
pub(crate) struct Admission {
    usual: Queue,
    /// The elections whose last request hung while the store answered others. They wait for each
    /// other at most.
    stuck: Queue,
    windows: Windows,
    answers: Answers,
    pace: Pace,
    /// The time of the next request, if nothing else happens.
    resumes_at: Option<Instant>,
    descriptions_in_flight: usize,
}

/// The calls that wait for room in the same window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    Usual,
    Stuck,
    /// Questions of the application hold back no election, and are held back by none.
    Questions,
}

#[derive(Clone, Debug)]
struct Windows {
    usual: Window,
    stuck: Window,
    questions: Window,
}

/// So many questions of the application may always be in flight: while the store is away, they
/// learn why at once.
const QUESTIONS: u8 = 4;

impl Default for Windows {
    fn default() -> Self {
        let [usual, stuck, questions] =
            [1, 1, QUESTIONS].map(|floor| Window::new(floor, LEAST_CALLS));
        Self { usual, stuck, questions }
    }
}

impl Windows {
    fn of(&mut self, lane: Lane) -> &mut Window {
        match lane {
            Lane::Usual => &mut self.usual,
            Lane::Stuck => &mut self.stuck,
            Lane::Questions => &mut self.questions,
        }
    }
}

/// The next to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Request {
        election: ElectionId,
        pending: Pending,
        /// It shares no call with others, which would hang with it.
        alone: bool,
    },
    Question(Question),
    /// An election tells the store what its leader says of itself.
    Description(ElectionId),
}

impl Next {
    const fn request(pending: Pending, election: ElectionId) -> Self {
        Self::Request { election, pending, alone: false }
    }

    fn alone(self) -> Self {
        match self {
            Self::Request { election, pending, .. } => {
                Self::Request { election, pending, alone: true }
            }
            other @ (Self::Question(_) | Self::Description(_)) => other,
        }
    }
}

impl Admission {
    /// While no call fails, so many may be in flight at least.
    pub(crate) fn with_calls(calls: u16) -> Self {
        let usual = Window::new(1, calls);
        Self { windows: Windows { usual, ..Windows::default() }, ..Self::default() }
    }

    /// Moves an election to where its pending request belongs.
    pub(crate) fn set(
        &mut self,
        id: ElectionId,
        place: &mut Option<Place>,
        waiting: Option<Waiting>,
        lane: Lane,
    ) {
        let (queue, other) = match lane {
            Lane::Stuck => (&mut self.stuck, &mut self.usual),
            Lane::Usual | Lane::Questions => (&mut self.usual, &mut self.stuck),
        };
        other.leave(id, *place);
        queue.set(id, place, waiting);
    }

    /// An election has ended: none of the queues names it any more.
    pub(crate) fn leave(&mut self, id: ElectionId, place: Option<Place>) {
        for queue in [&mut self.usual, &mut self.stuck] {
            queue.leave(id, place);
            if let Some(at) = queue.descriptions.iter().position(|waiting| *waiting == id) {
                queue.descriptions.remove(at);
            }
        }
    }

    /// The same where its place is not known. Looks at all that waits.
    pub(crate) fn forget(&mut self, id: ElectionId) {
        self.usual.forget(id);
        self.stuck.forget(id);
    }

    /// The number of waiting requests.
    pub(crate) fn len(&self) -> usize {
        let usual = self.usual.len() + self.usual.questions.len() + self.usual.descriptions.len();
        usual + self.stuck.len()
    }

    pub(crate) fn ask(&mut self, question: Question) {
        self.usual.questions.push_back(question);
    }

    /// The caller of a question has given up.
    pub(crate) fn give_up(&mut self, question: QuestionId) {
        self.usual.questions.retain(|waiting| waiting.id != question);
    }

    /// An election waits to tell the store what its leader says of itself.
    pub(crate) fn tell(&mut self, id: ElectionId) {
        self.usual.descriptions.push_back(id);
    }

    pub(crate) fn has_questions(&self) -> bool {
        !self.usual.questions.is_empty()
    }

    /// The next request, if its window has room for one. An election leaves the queue when its
    /// place is set anew.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Next> {
        self.resumes_at = None;
        self.next_question(now).or_else(|| self.next_usual(now)).or_else(|| self.next_stuck(now))
    }

    fn next_question(&mut self, now: Instant) -> Option<Next> {
        let waiting = self.usual.questions.len();
        if waiting == 0 || !self.has_room_for(Lane::Questions, waiting, now) {
            return None;
        }
        self.usual.questions.pop_front().map(Next::Question)
    }

    fn next_usual(&mut self, now: Instant) -> Option<Next> {
        let waiting = self.usual.len();
        let may_leave = waiting > 0 || !self.usual.descriptions.is_empty();
        if !may_leave || !self.has_room_for(Lane::Usual, waiting, now) {
            return None;
        }
        let paced = self.paced(now);
        let told_first = self.descriptions_in_flight == 0;
        // In a full window that is not answered, the election that was answered last shows whether
        // the store is away.
        let is_probe = self.windows.usual.is_full_for(waiting);
        let probe = self.usual.last_renewal().filter(|_| is_probe);
        let next = probe.or_else(|| self.usual.next(now, paced, told_first));
        match next {
            Some(Next::Request { pending: Pending::Renew { .. }, .. }) => self.pace.left(),
            Some(Next::Request { .. } | Next::Question(_) | Next::Description(_)) => {}
            None => {
                if let Some(at) = self.pace.resumes_at().filter(|_| self.usual.has_renewals()) {
                    self.resumes_by(at);
                }
            }
        }
        if is_probe { next.map(Next::alone) } else { next }
    }

    fn next_stuck(&mut self, now: Instant) -> Option<Next> {
        let waiting = self.stuck.len();
        let may_leave = waiting > 0 && self.has_room_for(Lane::Stuck, waiting, now);
        let next = if may_leave { self.stuck.next(now, true, false) } else { None };
        next.map(Next::alone)
    }

    /// True if one of so many waiting requests may leave; if not, notes when.
    fn has_room_for(&mut self, lane: Lane, waiting: usize, now: Instant) -> bool {
        let window = self.windows.of(lane);
        window.forget_overtaken(now, &self.answers);
        let may_leave = !window.is_full_for(waiting) || window.probes(now);
        if !may_leave {
            let reopens_at = window.reopens_at(&self.answers);
            self.resumes_by(reopens_at);
        }
        may_leave
    }

    fn resumes_by(&mut self, at: Instant) {
        self.resumes_at = Some(self.resumes_at.map_or(at, |before| before.min(at)));
    }

    /// The election whose request of that kind may leave next, in the same call.
    pub(crate) fn next_of(&mut self, pending: Pending, now: Instant) -> Option<ElectionId> {
        let renews = matches!(pending, Pending::Renew { .. });
        let paced = renews && self.paced(now);
        let Next::Request { election, .. } = self.usual.next_of(pending, now, paced)? else {
            return None;
        };
        if renews {
            self.pace.left();
        }
        Some(election)
    }

    /// True if a renewal may leave that is not in a hurry.
    fn paced(&mut self, now: Instant) -> bool {
        self.usual.has_renewals() && self.pace.allows(now)
    }

    /// The time of requests that wait now, if nothing else happens.
    pub(crate) fn resumes_at(&self) -> Option<Instant> {
        self.resumes_at
    }

    /// An election leads, and renews once in that interval.
    pub(crate) fn begins_to_renew(&mut self, interval: Duration) {
        self.pace.begins(interval);
    }

    /// It no longer leads.
    pub(crate) fn ends_to_renew(&mut self, interval: Duration) {
        self.pace.ends(interval);
    }

    /// A call leaves now, with requests of that name.
    pub(crate) fn leaves(&mut self, lane: Lane, name: &'static str, now: Instant) -> CallId {
        let call = self.answers.leaves();
        self.windows.of(lane).began(call, name, now);
        call
    }

    /// An election tells the store its profile now.
    pub(crate) fn describes(&mut self, now: Instant) -> CallId {
        self.descriptions_in_flight += 1;
        self.leaves(Lane::Usual, "describe", now)
    }

    pub(crate) fn described(&mut self) {
        self.descriptions_in_flight = self.descriptions_in_flight.saturating_sub(1);
    }

    /// A call was answered after that time; `None` if its outcome is unknown.
    pub(crate) fn ended(&mut self, call: CallId, lane: Lane, now: Instant, took: Option<Duration>) {
        let window = self.windows.of(lane);
        match took {
            Some(took) => {
                self.answers.answered(call);
                window.answered(call, now, took);
            }
            None => window.failed(call, &self.answers),
        }
    }

    /// True if the store has answered a call that left later.
    pub(crate) fn overtook(&self, call: CallId) -> bool {
        self.answers.overtook(call)
    }
}

#[cfg(test)]
mod tests;
