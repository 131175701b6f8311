//! The number of calls in flight at once.
//!
//! Enough to keep the store busy, and no more: each call that the store has not begun yet stands in
//! front of the next release and the next urgent renewal. The window follows the delay that it
//! causes, as LEDBAT does (S. Shalunov and others, RFC 6817, 2012): it grows while answers come
//! within a target of the shortest time that was seen, and shrinks while they take longer. A store
//! behind a long network so gets a larger window than one nearby. Each kind of request has a
//! shortest time of its own: in some stores an acquire takes more round trips than a renewal.
//!
//! A call that hangs while the store answers others must not hold them back: a store may carry out
//! requests of different keys beside each other, and one key may be locked. So a call that was
//! *overtaken*, by the answer to one that left later, counts only for a few usual times of an
//! answer, and its failure says nothing about the store. A store that answers in order, as a single
//! connection does, overtakes none. While the window is full and nothing is answered, one more call
//! may leave now and then: its answer shows whether the store or only the calls before it hang.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::Instant;

use crate::alphabet::CallId;

/// While none fails, so many calls may be in flight: they keep a store on the same network busy,
/// unless its calls wait for each other.
pub const LEAST_CALLS: u16 = 8;
/// At a round trip of 300 ms, some 25,000 calls a second.
const MOST: f64 = 8192.0;
/// The longest delay of an answer by the requests in front of it, beyond the shortest time.
const TARGET: Duration = Duration::from_millis(5);
/// The least time that an overtaken call counts; and, if an answer takes longer, in its usual
/// times.
const OVERTAKEN: Duration = Duration::from_millis(10);
const USUAL_TIMES: u32 = 4;
/// The wait of a full window for an answer before one more call leaves.
const SILENCE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(500));

/// The answered calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    last_left: CallId,
    /// The last of those that were answered.
    last_answered: CallId,
}

impl Answers {
    pub(super) fn leaves(&mut self) -> CallId {
        self.last_left.0 += 1;
        self.last_left
    }

    pub(super) fn answered(&mut self, call: CallId) {
        self.last_answered = self.last_answered.max(call);
    }

    /// True if a call that left later was answered.
    pub(super) fn overtook(&self, call: CallId) -> bool {
        call < self.last_answered
    }
}

#[derive(Clone, Debug)]
pub(super) struct Window {
    limit: f64,
    /// However long the answers take.
    least: f64,
    /// However many calls have failed.
    floor: f64,
    /// The calls in flight that count.
    in_flight: BTreeMap<CallId, Flight>,
    /// The last departure or answer of a call.
    silent_since: Instant,
    /// The times of answers since a request has failed last.
    times: BTreeMap<&'static str, Times>,
    /// A moving average of the times of answers, in seconds.
    usual: f64,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    name: &'static str,
    left: Instant,
}

/// The times of answers to requests of one name, in seconds.
#[derive(Clone, Copy, Debug)]
struct Times {
    shortest: f64,
    /// A moving average.
    usual: f64,
}

impl Window {
    /// At least `floor` calls may be in flight, however many have failed, and `least` while none
    /// fails.
    pub(super) fn new(floor: u8, least: u16) -> Self {
        let least = f64::from(least).clamp(1.0, MOST);
        Self {
            limit: least,
            least,
            floor: f64::from(floor),
            in_flight: BTreeMap::new(),
            silent_since: Instant::ORIGIN,
            times: BTreeMap::new(),
            usual: 0.0,
        }
    }

    /// Overtaken calls count no longer than that.
    pub(super) fn forget_overtaken(&mut self, now: Instant, answers: &Answers) {
        let counts = self.overtaken_counts();
        while let Some(first) = self.in_flight.first_entry()
            && answers.overtook(*first.key())
            && now >= first.get().left + counts
        {
            first.remove();
        }
    }

    /// True if none of so many waiting requests may leave. A few may always leave beside the
    /// others: with few elections, a call that is stuck must not hold back the renewals of all.
    #[allow(clippy::cast_precision_loss, reason = "a count of requests")]
    pub(super) fn is_full_for(&self, waiting: usize) -> bool {
        let few = f64::from(LEAST_CALLS);
        let is_one_of_few = (waiting as f64) <= few && self.calls() < few;
        !is_one_of_few && !self.has_room()
    }

    #[allow(clippy::cast_precision_loss, reason = "a count of calls")]
    fn calls(&self) -> f64 {
        self.in_flight.len() as f64
    }

    fn has_room(&self) -> bool {
        self.calls() < self.limit
    }

    fn overtaken_counts(&self) -> Duration {
        OVERTAKEN.max(Duration::from_secs_f64(self.usual) * USUAL_TIMES)
    }

    /// The time of one more call in a full window that is not answered.
    fn probes_at(&self) -> Instant {
        let silence = Duration::from_secs_f64(self.usual) * USUAL_TIMES;
        self.silent_since + silence.clamp(SILENCE.0, SILENCE.1)
    }

    /// True if one more call may leave, though the window is full.
    pub(super) fn probes(&self, now: Instant) -> bool {
        now >= self.probes_at()
    }

    /// The time of another call in a full window, if nothing is answered.
    pub(super) fn reopens_at(&self, answers: &Answers) -> Instant {
        let first = self.in_flight.first_key_value().filter(|(call, _)| answers.overtook(**call));
        let counts_until = first.map(|(_, flight)| flight.left + self.overtaken_counts());
        counts_until.into_iter().chain([self.probes_at()]).min().unwrap_or(Instant::FAR_FUTURE)
    }

    pub(super) fn began(&mut self, call: CallId, name: &'static str, now: Instant) {
        self.in_flight.insert(call, Flight { name, left: now });
        self.silent_since = now;
    }

    pub(super) fn answered(&mut self, call: CallId, now: Instant, took: Duration) {
        let was_full = !self.has_room();
        self.silent_since = now;
        let Some(Flight { name, .. }) = self.in_flight.remove(&call) else {
            // It was overtaken: that it took long says nothing about the others.
            return;
        };
        let took = took.as_secs_f64();
        if self.times.is_empty() {
            self.usual = took;
        }
        self.usual += (took - self.usual) / 8.0;
        let Some(Times { shortest, usual }) = self.times.get_mut(name) else {
            self.times.insert(name, Times { shortest: took, usual: took });
            return;
        };
        *shortest = shortest.min(took);
        *usual += (took - *usual) / 8.0;
        // Times vary with their length on most networks.
        let target = TARGET.as_secs_f64().max(*shortest / 2.0);
        let room = (target - (*usual - *shortest)) / target;
        // A window that is not used says nothing about a larger one.
        let step = if room < 0.0 {
            room.max(-1.0) / 2.0
        } else if was_full {
            room
        } else {
            0.0
        };
        let least = self.least.min(self.limit + 1.0);
        self.limit = (self.limit + step).clamp(least, MOST);
    }

    /// The connection may be another one from now on, perhaps to another server. Or a store that
    /// pauses still has to carry out all that was given up: so few calls follow until it answers,
    /// and the shortest time is measured anew with few in front. A call that was overtaken says
    /// neither.
    pub(super) fn failed(&mut self, call: CallId, answers: &Answers) {
        self.in_flight.remove(&call);
        if !answers.overtook(call) {
            self.times.clear();
            self.limit = (self.limit / 2.0).max(self.floor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_nanos(1_000_000_000_000);

    /// A window with its answers and a clock.
    struct Flights {
        window: Window,
        answers: Answers,
        now: Instant,
        name: &'static str,
    }

    impl Default for Flights {
        fn default() -> Self {
            let (window, answers) = (Window::new(1, LEAST_CALLS), Answers::default());
            Self { window, answers, now: START, name: "renew" }
        }
    }

    impl Flights {
        fn has_room_for(&mut self, waiting: usize) -> bool {
            self.window.forget_overtaken(self.now, &self.answers);
            !self.window.is_full_for(waiting)
        }

        /// True if one of many may leave.
        fn has_room(&mut self) -> bool {
            self.has_room_for(10_000)
        }

        fn leaves(&mut self) -> CallId {
            let call = self.answers.leaves();
            self.window.began(call, self.name, self.now);
            call
        }

        /// Fills the window.
        fn fill(&mut self) -> Vec<CallId> {
            std::iter::from_fn(|| if self.has_room() { Some(self.leaves()) } else { None })
                .collect()
        }

        fn answered(&mut self, call: CallId, took: Duration) {
            self.answers.answered(call);
            self.window.answered(call, self.now, took);
        }

        fn failed(&mut self, call: CallId) {
            self.window.failed(call, &self.answers);
        }
    }

    /// Runs a store that takes `service` for each request, one after the other, behind a network
    /// with that round trip, with as many requests as the window admits. Returns the size of the
    /// window and the rate a second.
    fn run(service: Duration, round_trip: Duration) -> (usize, f64) {
        let mut flights = Flights::default();
        let mut free = START;
        let mut flying = std::collections::VecDeque::new();
        let mut answered = 0_u32;
        while answered < 200_000 {
            for call in flights.fill() {
                free = free.max(flights.now + round_trip / 2) + service;
                flying.push_back((call, flights.now, free + round_trip / 2));
            }
            let (call, sent, arrives) = flying.pop_front().unwrap();
            flights.now = flights.now.max(arrives);
            flights.answered(call, flights.now.since(sent));
            answered += 1;
        }
        (flying.len(), f64::from(answered) / flights.now.since(START).as_secs_f64())
    }

    #[test]
    fn a_nearby_store_is_busy_and_quick() {
        let service = Duration::from_micros(16);
        let (size, rate) = run(service, Duration::from_micros(50));
        assert!(rate > 60_000.0, "{rate}");
        assert!(service * u32::try_from(size).unwrap() < 3 * TARGET, "{size}");
    }

    #[test]
    fn a_distant_store_gets_a_larger_window() {
        let (size, rate) = run(Duration::from_micros(30), Duration::from_millis(100));
        assert!(size > 1_000, "{size}");
        assert!(rate > 10_000.0, "{rate}");
    }

    /// An acquire takes three round trips of 300 ms, and a renewal one.
    #[test]
    fn longer_kinds_of_requests_are_no_delay() {
        let mut flights = Flights::default();
        let mut flying = std::collections::VecDeque::new();
        for (name, round_trips) in [("renew", 1), ("acquire", 3)].into_iter().cycle().take(1_000) {
            flights.name = name;
            flying.extend(flights.fill().into_iter().map(|call| (call, round_trips)));
            let (call, round_trips) = flying.pop_front().unwrap();
            flights.answered(call, Duration::from_millis(300) * round_trips);
        }
        assert!(flights.window.limit > 256.0, "{}", flights.window.limit);
    }

    #[test]
    fn a_slow_store_gets_the_least() {
        let (size, _) = run(Duration::from_millis(1), Duration::ZERO);
        assert!(size <= 12, "{size}");
    }

    /// Its calls share messages, each of which takes long.
    #[test]
    fn a_store_may_take_more_at_least() {
        let mut flights = Flights { window: Window::new(1, 100), ..Flights::default() };
        let mut flying = flights.fill();
        assert_eq!(flying.len(), 100);
        flights.answered(flying.remove(0), Duration::from_millis(1));
        for _ in 0..1_000 {
            flying.extend(flights.fill());
            flights.answered(flying.remove(0), Duration::from_millis(20));
        }
        flying.extend(flights.fill());
        assert_eq!(flying.len(), 100);
        for call in flying {
            flights.failed(call);
        }
        assert!(flights.window.limit <= 1.0, "{}", flights.window.limit);
    }

    #[test]
    fn failures_leave_one_call_until_answers_come() {
        let mut flights = Flights::default();
        let first = flights.fill();
        assert_eq!(first.len(), 8);
        for call in first {
            flights.failed(call);
        }
        let mut flying = flights.fill();
        assert_eq!(flying.len(), 1);
        // Slow answers too: a window of that size is no cause of a delay.
        for _ in 0..64 {
            flights.answered(flying.remove(0), Duration::from_millis(500));
            flying.extend(flights.fill());
        }
        assert!(flying.len() >= 8, "{}", flying.len());
    }

    #[test]
    fn a_few_requests_leave_beside_a_stuck_call() {
        let mut flights = Flights::default();
        for _ in 0..8 {
            let call = flights.leaves();
            flights.failed(call);
        }
        flights.leaves();
        assert!(!flights.has_room_for(9), "one of many waits for an answer");
        for _ in 0..7 {
            assert!(flights.has_room_for(1));
            flights.leaves();
        }
        assert!(!flights.has_room_for(1), "as many as in an unused window");
    }

    #[test]
    fn overtaken_calls_count_for_a_moment_only() {
        let mut flights = Flights::default();
        let stuck = flights.fill();
        flights.now = START + SILENCE.0;
        assert!(!flights.has_room());
        assert!(flights.window.probes(flights.now));
        let probe = flights.leaves();
        assert!(!flights.window.probes(flights.now), "one at a time");
        flights.answered(probe, Duration::from_millis(1));
        assert_eq!(flights.fill().len(), 8, "none of the stuck ones counts");
        for call in stuck {
            flights.failed(call);
        }
        assert!(flights.window.limit >= f64::from(LEAST_CALLS), "{}", flights.window.limit);

        // Those that left before the last answer may only be slow.
        let latest = flights.leaves();
        flights.answered(latest, Duration::from_millis(1));
        flights.fill();
        assert_eq!(flights.window.reopens_at(&flights.answers), flights.now + OVERTAKEN);
        flights.now = flights.now + OVERTAKEN;
        assert!(flights.has_room());
    }

    #[test]
    fn a_distant_store_overtakes_later() {
        let mut flights = Flights::default();
        let round_trip = Duration::from_millis(300);
        let first = flights.leaves();
        flights.now = flights.now + round_trip;
        flights.answered(first, round_trip);
        let stuck = flights.fill();
        let probe = flights.leaves();
        flights.now = flights.now + round_trip;
        flights.answered(probe, round_trip);
        assert_eq!(flights.fill().len(), 1, "{stuck:?} may be on their way");
        flights.now = flights.now + round_trip * 3;
        assert!(flights.has_room());
    }

    #[test]
    fn the_window_is_bounded() {
        let mut flights = Flights::default();
        let mut flying = std::collections::VecDeque::new();
        for _ in 0..100_000 {
            flying.extend(flights.fill());
            flights.answered(flying.pop_front().unwrap(), Duration::from_millis(1));
        }
        flying.extend(flights.fill());
        assert_eq!(flying.len(), 8192);
        for call in flying {
            flights.failed(call);
        }
        assert!(flights.window.in_flight.is_empty());
        assert!(flights.window.limit <= f64::from(LEAST_CALLS));
    }
}
