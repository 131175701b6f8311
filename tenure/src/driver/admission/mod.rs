//! The order and the times of requests.
//!
//! A window of calls is in flight; all others wait here, ordered by what they are worth. So a store
//! that is slower than its elections need costs leads that are not gained, and not leads that are
//! held: an election that waits for its first lease stands behind all that have one.

mod pace;
mod queue;
mod window;

use std::time::Duration;

use pace::Pace;
use queue::Queue;
pub(super) use queue::{Place, Urgency, Waiting};
use window::{Answers, CallNumber, Window};

use crate::Instant;
use crate::shared::{Ask, ElectionId};

#[derive(Default)]
pub(super) struct Admission {
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
pub(super) enum Lane {
    Usual,
    Stuck,
    /// Questions of the application hold back no election, and are held back by none.
    Questions,
}

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
        Self { usual: Window::new(1), stuck: Window::new(1), questions: Window::new(QUESTIONS) }
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

/// A call that has left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    lane: Lane,
    number: CallNumber,
}

/// The next to leave.
pub(super) enum Next {
    Request(Kind, ElectionId),
    /// The request of an election that shares no call with others, which would hang with it.
    Alone(ElectionId),
    Ask(Box<Ask>),
    /// An election tells the store what its leader says of itself.
    Description(ElectionId),
}

impl Next {
    fn alone(self) -> Self {
        match self {
            Self::Request(_, id) | Self::Alone(id) => Self::Alone(id),
            other @ (Self::Ask(_) | Self::Description(_)) => other,
        }
    }
}

/// The kind of an election's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Release,
    Renewal,
    Look,
    Acquire,
}

impl Admission {
    /// Moves an election to where its pending request belongs.
    pub(super) fn set(
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
    pub(super) fn leave(&mut self, id: ElectionId, place: Option<Place>) {
        for queue in [&mut self.usual, &mut self.stuck] {
            queue.leave(id, place);
            if let Some(at) = queue.descriptions.iter().position(|waiting| *waiting == id) {
                queue.descriptions.remove(at);
            }
        }
    }

    /// The same where its place is not known. Looks at all that waits.
    pub(super) fn forget(&mut self, id: ElectionId) {
        self.usual.forget(id);
        self.stuck.forget(id);
    }

    /// The number of waiting requests.
    pub(super) fn len(&self) -> usize {
        let usual = self.usual.len() + self.usual.asks.len() + self.usual.descriptions.len();
        usual + self.stuck.len()
    }

    pub(super) fn ask(&mut self, ask: Box<Ask>) {
        self.usual.asks.push_back(ask);
    }

    /// An election waits to tell the store what its leader says of itself.
    pub(super) fn tell(&mut self, id: ElectionId) {
        self.usual.descriptions.push_back(id);
    }

    pub(super) fn has_asks(&self) -> bool {
        !self.usual.asks.is_empty()
    }

    /// The next request, if its window has room for one. An election leaves the queue when its
    /// place is set anew.
    pub(super) fn next(&mut self, now: Instant) -> Option<Next> {
        self.resumes_at = None;
        self.next_question(now).or_else(|| self.next_usual(now)).or_else(|| self.next_stuck(now))
    }

    fn next_question(&mut self, now: Instant) -> Option<Next> {
        let waiting = self.usual.asks.len();
        let may_leave = waiting > 0 && self.has_room_for(Lane::Questions, waiting, now);
        if may_leave { self.usual.next_ask().map(Next::Ask) } else { None }
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
        let next = probe
            .map(|id| Next::Request(Kind::Renewal, id))
            .or_else(|| self.usual.next(now, paced, told_first));
        match &next {
            Some(Next::Request(Kind::Renewal, _)) => self.pace.left(),
            Some(
                Next::Request(Kind::Release | Kind::Look | Kind::Acquire, _)
                | Next::Alone(_)
                | Next::Ask(_)
                | Next::Description(_),
            ) => {}
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

    /// Another request of that kind that may leave, for the same call.
    pub(super) fn next_of(&mut self, kind: Kind, now: Instant) -> Option<ElectionId> {
        match kind {
            Kind::Release => None,
            Kind::Renewal => {
                let paced = self.paced(now);
                let next = self.usual.next_renewal(now, paced)?;
                self.pace.left();
                Some(next)
            }
            Kind::Look => self.usual.next_look(),
            Kind::Acquire => self.usual.next_acquire(),
        }
    }

    /// True if a renewal may leave that is not in a hurry.
    fn paced(&mut self, now: Instant) -> bool {
        self.usual.has_renewals() && self.pace.allows(now)
    }

    /// The time of renewals that wait now, if nothing else happens.
    pub(super) fn resumes_at(&self) -> Option<Instant> {
        self.resumes_at
    }

    /// An election leads, and renews once in that interval.
    pub(super) fn begins_to_renew(&mut self, interval: Duration) {
        self.pace.begins(interval);
    }

    /// It no longer leads.
    pub(super) fn ends_to_renew(&mut self, interval: Duration) {
        self.pace.ends(interval);
    }

    /// A call leaves now, with requests of that name.
    pub(super) fn leaves(&mut self, lane: Lane, name: &'static str, now: Instant) -> Left {
        let number = self.answers.leaves();
        self.windows.of(lane).began(number, name, now);
        Left { lane, number }
    }

    pub(super) fn describes(&mut self, name: &'static str, now: Instant) -> Left {
        self.descriptions_in_flight += 1;
        self.leaves(Lane::Usual, name, now)
    }

    pub(super) fn described(&mut self, left: Left, now: Instant, took: Option<Duration>) {
        self.descriptions_in_flight = self.descriptions_in_flight.saturating_sub(1);
        self.ended(left, now, took);
    }

    /// A call was answered after that time; `None` if its outcome is unknown.
    pub(super) fn ended(&mut self, left: Left, now: Instant, took: Option<Duration>) {
        let window = self.windows.of(left.lane);
        match took {
            Some(took) => {
                self.answers.answered(left.number);
                window.answered(left.number, now, took);
            }
            None => window.failed(left.number, &self.answers),
        }
    }

    /// True if the store has answered a call that left later.
    pub(super) fn overtook(&self, left: Left) -> bool {
        self.answers.overtook(left.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_resumes_by_itself_while_the_window_is_full() {
        let mut admission = Admission::default();
        let now = Instant::ORIGIN + Duration::from_secs(1);
        let later = now + Duration::from_secs(60);
        let urgency = Urgency { valid_until: later, urgent_from: later, hurries_from: later };
        let mut places = vec![None; 200];
        for (id, place) in (0..).zip(&mut places) {
            admission.set(id, place, Some(Waiting::Renew(urgency)), Lane::Usual);
        }
        let mut left = 0;
        while admission.next_of(Kind::Renewal, now).is_some() {
            left += 1;
        }
        assert!((32..40).contains(&left), "{left}");
        assert!(admission.next(now).is_none());
        assert_eq!(admission.resumes_at(), Some(now + Duration::from_millis(10)));
        // An answer comes first, or one more attempt after a while. The driver would not come to
        // rest.
        for _ in 0..100 {
            admission.leaves(Lane::Usual, "renew", now);
        }
        assert!(admission.next(now).is_none());
        assert_eq!(admission.resumes_at(), Some(now + Duration::from_millis(100)));
    }

    const NOW: Instant = Instant::from_nanos(1_000_000_000_000);

    fn renewal(ends_in: u64) -> Waiting {
        let valid_until = NOW + Duration::from_secs(ends_in);
        Waiting::Renew(Urgency { valid_until, urgent_from: NOW, hurries_from: NOW })
    }

    /// The claims of the stuck elections end first. The one that leaves in the silence was answered
    /// last.
    #[test]
    fn stuck_elections_hold_back_no_other() {
        let mut admission = Admission::default();
        let mut places = vec![None; 40];
        let (stuck, healthy) = (0..20, 20..40);
        for id in stuck.clone().chain(healthy.clone()) {
            let ends_in = if stuck.contains(&id) { 2 } else { 3 };
            let place = &mut places[usize::try_from(id).unwrap()];
            admission.set(id, place, Some(renewal(ends_in)), Lane::Usual);
        }
        let mut leave = |admission: &mut Admission, now| {
            let next = admission.next(now)?;
            let (Next::Request(Kind::Renewal, id) | Next::Alone(id)) = next else { return None };
            admission.set(id, &mut places[usize::try_from(id).unwrap()], None, Lane::Usual);
            Some((id, admission.leaves(Lane::Usual, "renew", now)))
        };
        let (mut now, mut flying, mut answered) = (NOW, Vec::new(), 0);
        while answered < 20 {
            flying.extend(std::iter::from_fn(|| leave(&mut admission, now)));
            now = match flying.iter().position(|(id, _)| healthy.contains(id)) {
                Some(first) => {
                    now = now + Duration::from_millis(1);
                    let (_, call) = flying.remove(first);
                    admission.ended(call, now, Some(Duration::from_millis(1)));
                    answered += 1;
                    now
                }
                None => admission.resumes_at().unwrap(),
            };
            assert!(now < NOW + Duration::from_secs(1));
        }
        assert_eq!(flying.len(), 20, "the stuck ones too have left");
    }

    #[test]
    fn an_election_changes_its_lane() {
        let (mut admission, mut place) = (Admission::default(), None);
        for lane in [Lane::Usual, Lane::Stuck, Lane::Usual, Lane::Stuck] {
            admission.set(1, &mut place, Some(renewal(2)), lane);
            let lanes = [admission.usual.len(), admission.stuck.len()];
            let is_stuck = usize::from(lane == Lane::Stuck);
            assert_eq!(lanes, [1 - is_stuck, is_stuck]);
        }
        admission.set(1, &mut place, None, Lane::Usual);
        assert!(admission.next(NOW).is_none());
    }

    /// With no renewal to send, it would not come to rest.
    #[test]
    fn a_full_window_lets_any_request_show_whether_the_store_is_away() {
        let (mut admission, mut place) = (Admission::default(), None);
        for _ in 0..100 {
            admission.leaves(Lane::Usual, "renew", NOW);
        }
        admission.set(1, &mut place, Some(Waiting::Acquire), Lane::Usual);
        assert!(admission.next(NOW).is_none());
        let later = admission.resumes_at().unwrap();
        assert!(matches!(admission.next(later), Some(Next::Alone(1))));
    }

    #[test]
    fn stuck_questions_hold_back_no_election() {
        let mut admission = Admission::default();
        for _ in 0..1_000 {
            admission.leaves(Lane::Questions, "observe", NOW);
        }
        let mut place = None;
        admission.set(1, &mut place, Some(renewal(2)), Lane::Usual);
        assert!(matches!(admission.next(NOW), Some(Next::Request(Kind::Renewal, 1))));
    }
}
