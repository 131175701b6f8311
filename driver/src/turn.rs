//! A bound for the steps of a driver until it comes to rest.
//!
//! A turn handles what has happened, wakes elections whose deadlines have come, and admits requests.
//! Each of these ends because other parts take out what it has handled. If one of them failed to,
//! the turn would never end, and with it no election of the process would ever renew again. So the
//! steps are counted: more than a turn can need are a bug. With debug assertions it stops the
//! driver, as in tests, simulations and the programs of this repository; without, the driver rests
//! for a moment, in which other tasks of the thread go on.

use std::time::Duration;

use tenure_core::Instant;

/// A turn's least bound.
const LEAST: usize = 10_000;

/// The bound's share for each election and each thing that waits: few take more than two steps.
const EACH: usize = 16;

/// After a turn that had to be ended.
const REST: Duration = Duration::from_millis(10);

#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    steps: usize,
    most: usize,
    /// Something was handled, or is due, and nothing says yet that no more is.
    goes_on: bool,
    /// The lateness of its first deadline was reported.
    has_reported: bool,
    rests_until: Option<Instant>,
}

impl Turn {
    /// An event has come, while there are so many elections and things that wait.
    pub(crate) fn takes_an_event(&mut self, waiting: usize) {
        self.begins(waiting);
        self.most += EACH;
    }

    /// A look for what is due: a step, whether or not there is anything.
    pub(crate) fn looks(&mut self, waiting: usize) {
        self.begins(waiting);
        self.takes_a_step();
    }

    fn begins(&mut self, waiting: usize) {
        if !self.goes_on {
            *self = Self { goes_on: true, most: LEAST + EACH * waiting, ..Self::default() };
        }
    }

    /// The event concerns so many elections.
    pub(crate) fn concerns(&mut self, elections: usize) {
        self.most += EACH * elections;
    }

    pub(crate) fn takes_a_step(&mut self) {
        self.steps += 1;
    }

    /// The steps after which it has to end, and the most that it could have needed. It begins anew
    /// after a rest then. `None` if it may go on.
    pub(crate) fn has_to_end(&mut self, now: Instant) -> Option<(usize, usize)> {
        let (steps, most) = (self.steps, self.most);
        debug_assert!(steps <= most, "a turn of the driver does not end: {steps} steps");
        if steps <= most {
            return None;
        }
        self.steps = 0;
        self.rests_until = Some(now + REST);
        Some((steps, most))
    }

    pub(crate) fn rests(&self, now: Instant) -> bool {
        self.rests_until.is_some_and(|until| now < until)
    }

    /// Nothing more is due.
    pub(crate) fn ends(&mut self) {
        *self = Self::default();
    }

    /// True if a deadline is noticed for the first time in this turn.
    pub(crate) fn is_first_deadline(&mut self) -> bool {
        !std::mem::replace(&mut self.has_reported, true)
    }

    /// The time of its next step, if it goes on: at once, unless it rests.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.goes_on.then(|| self.rests_until.unwrap_or(Instant::ORIGIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a turn of the driver does not end")]
    fn more_steps_than_a_turn_needs_are_a_bug() {
        let mut turn = Turn::default();
        while turn.has_to_end(Instant::ORIGIN).is_none() {
            turn.looks(1);
        }
    }

    #[test]
    fn each_event_may_take_some_steps() {
        let mut turn = Turn::default();
        for _ in 0..100_000 {
            turn.takes_an_event(0);
            (0..EACH).for_each(|_| turn.takes_a_step());
            assert!(turn.has_to_end(Instant::ORIGIN).is_none());
        }
        turn.ends();
        assert_eq!(turn.deadline(), None);
    }
}
