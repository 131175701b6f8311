//! How many calls may be in flight at once.
//!
//! Enough to keep the store busy, and no more: each call that the store has not begun yet stands in front of the
//! next release and the next urgent renewal. The window follows the delay that it causes, as LEDBAT does (S. Shalunov
//! and others, RFC 6817, 2012): it grows while answers come within a target of the shortest time that was seen, and
//! shrinks while they take longer. A store behind a long network so gets a larger window than one nearby.

use std::time::Duration;

/// Keeps any store on the same network busy.
const LEAST: f64 = 8.0;
/// At a round trip of 300 ms, some 25,000 calls a second.
const MOST: f64 = 8192.0;
/// How much longer than the shortest time an answer may take because of the requests in front of it.
const TARGET: Duration = Duration::from_millis(5);

pub(super) struct Window {
    limit: f64,
    in_flight: usize,
    /// The shortest time of an answer since a request has failed last.
    shortest: Option<Duration>,
    /// A moving average of the times of answers, in seconds.
    usual: f64,
}

impl Default for Window {
    fn default() -> Self {
        Self { limit: LEAST, in_flight: 0, shortest: None, usual: 0.0 }
    }
}

impl Window {
    /// Whether one of so many waiting requests may leave. A few may always leave beside the others: with few elections,
    /// a call that is stuck must not hold back the renewals of all.
    #[allow(clippy::cast_precision_loss, reason = "counts of calls and requests")]
    pub(super) fn has_room_for(&self, waiting: usize) -> bool {
        (waiting as f64) <= LEAST && (self.in_flight as f64) < LEAST || self.has_room()
    }

    #[allow(clippy::cast_precision_loss, reason = "a count of calls in flight")]
    fn has_room(&self) -> bool {
        (self.in_flight as f64) < self.limit
    }

    pub(super) fn began(&mut self) {
        self.in_flight += 1;
    }

    pub(super) fn answered(&mut self, took: Duration) {
        let was_full = !self.has_room();
        self.in_flight = self.in_flight.saturating_sub(1);
        let Some(shortest) = self.shortest else {
            self.shortest = Some(took);
            self.usual = took.as_secs_f64();
            return;
        };
        let shortest = shortest.min(took);
        self.shortest = Some(shortest);
        self.usual += (took.as_secs_f64() - self.usual) / 8.0;
        // Times vary with their length on most networks.
        let target = TARGET.max(shortest / 2).as_secs_f64();
        let room = (target - (self.usual - shortest.as_secs_f64())) / target;
        // A window that is not used says nothing about a larger one.
        let step = if room < 0.0 {
            room.max(-1.0) / 2.0
        } else if was_full {
            room
        } else {
            0.0
        };
        let least = LEAST.min(self.limit + 1.0);
        self.limit = (self.limit + step).clamp(least, MOST);
    }

    /// The connection may be another one from now on, perhaps to another server. Or a store that pauses still has to
    /// carry out all that was given up: so few calls follow until it answers, and the shortest time is measured anew
    /// with few in front.
    pub(super) fn failed(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.shortest = None;
        self.limit = (self.limit / 2.0).max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a store that takes `service` for each request, one after the other, behind a network with that round trip,
    /// with as many requests as the window admits. Returns the window and the rate a second.
    fn run(window: &mut Window, service: Duration, round_trip: Duration) -> (usize, f64) {
        let (mut now, mut free) = (Duration::ZERO, Duration::ZERO);
        let mut flying: std::collections::VecDeque<(Duration, Duration)> =
            std::collections::VecDeque::new();
        let mut answered = 0_u32;
        while answered < 200_000 {
            while window.has_room() {
                window.began();
                free = free.max(now + round_trip / 2) + service;
                flying.push_back((now, free + round_trip / 2));
            }
            let (sent, arrives) = flying.pop_front().unwrap();
            now = now.max(arrives);
            window.answered(now.saturating_sub(sent));
            answered += 1;
        }
        (flying.len(), f64::from(answered) / now.as_secs_f64())
    }

    #[test]
    fn a_nearby_store_is_busy_and_quick() {
        let service = Duration::from_micros(16);
        let (size, rate) = run(&mut Window::default(), service, Duration::from_micros(50));
        assert!(rate > 60_000.0, "{rate}");
        assert!(service * u32::try_from(size).unwrap() < 3 * TARGET, "{size}");
    }

    #[test]
    fn a_distant_store_gets_a_larger_window() {
        let (size, rate) =
            run(&mut Window::default(), Duration::from_micros(30), Duration::from_millis(100));
        assert!(size > 1_000, "{size}");
        assert!(rate > 10_000.0, "{rate}");
    }

    #[test]
    fn a_slow_store_gets_the_least() {
        let (size, _) = run(&mut Window::default(), Duration::from_millis(1), Duration::ZERO);
        assert!(size <= 12, "{size}");
    }

    #[test]
    fn failures_leave_one_call_until_answers_come() {
        let mut window = Window::default();
        let fill = |window: &mut Window| {
            while window.has_room() {
                window.began();
            }
            window.in_flight
        };
        assert_eq!(fill(&mut window), 8);
        for _ in 0..8 {
            window.failed();
        }
        assert_eq!(fill(&mut window), 1);
        // Slow answers too: a window of that size is no cause of a delay.
        for _ in 0..64 {
            window.answered(Duration::from_millis(500));
            fill(&mut window);
        }
        assert!(window.in_flight >= 8, "{}", window.in_flight);
    }

    #[test]
    fn a_few_requests_leave_beside_a_stuck_call() {
        let mut window = Window::default();
        for _ in 0..8 {
            window.began();
            window.failed();
        }
        window.began();
        assert!(!window.has_room_for(9), "one of many waits for an answer");
        for _ in 0..7 {
            assert!(window.has_room_for(1));
            window.began();
        }
        assert!(!window.has_room_for(1), "as many as in an unused window");
    }

    #[test]
    fn the_window_is_bounded() {
        let mut window = Window::default();
        let mut most = 0;
        for _ in 0..100_000 {
            while window.has_room() {
                window.began();
            }
            most = most.max(window.in_flight);
            window.answered(Duration::from_millis(1));
        }
        assert_eq!(most, 8192);
        for _ in 0..most {
            window.failed();
        }
        assert_eq!(window.in_flight, 0);
        assert!(window.limit <= LEAST);
    }
}
