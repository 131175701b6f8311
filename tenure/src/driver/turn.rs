//! A bound for each turn of the driver.
//!
//! A turn handles what has happened, wakes elections whose deadlines have come, and admits requests.
//! Each of these loops ends because other parts take out what it has handled. If one of them failed
//! to, the loop would never end, and with it no election of the process would ever renew again. So
//! the steps are counted: more than a turn can need are a bug. With debug assertions it stops the
//! driver, as in tests, simulations and the programs of this repository; without, the turn ends there,
//! and other tasks of the thread go on.

use std::time::Duration;

use super::HINTS;
use crate::logging::{self, LIFE};

/// A turn's least bound.
const LEAST: usize = 10_000;

/// The bound's share for each election and each thing that waits: each hint may wake all elections,
/// and few take more than two steps besides.
const EACH: usize = HINTS + 16;

/// After a turn that had to be ended.
pub(super) const REST: Duration = Duration::from_millis(10);

#[derive(Default)]
pub(super) struct Turn {
    steps: usize,
    most: usize,
}

impl Turn {
    /// A turn begins, with so many elections and things that wait.
    pub(super) fn begins(&mut self, waiting: usize) {
        *self = Self { steps: 0, most: LEAST + EACH * waiting };
    }

    pub(super) fn takes_a_step(&mut self) {
        self.steps += 1;
    }

    pub(super) fn goes_on(&self) -> bool {
        let goes_on = self.steps < self.most;
        debug_assert!(goes_on, "a turn of the driver does not end: {} steps", self.steps);
        goes_on
    }

    /// True if it had to be ended.
    pub(super) fn was_ended(&self) -> bool {
        let was_ended = self.steps >= self.most;
        if was_ended {
            logging::error!(
                target: LIFE, steps = self.steps, most = self.most,
                "a turn of the driver did not end by itself: please report this"
            );
        }
        was_ended
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::Driver;
    use super::super::admission::{Lane, Waiting};
    use super::Turn;
    use crate::runtime::TokioRuntime;
    use crate::shared::Commands;
    use crate::store::{AnyStore, Memory};

    /// An election that has ended, or never was.
    #[tokio::test]
    async fn an_id_that_was_left_in_a_queue_is_met_once() {
        let (_commands, receiver) = Commands::new();
        let store = AnyStore::new(Memory::new());
        let mut driver = Driver::new(store, Arc::new(TokioRuntime), receiver);
        for (id, waiting) in [(1, Waiting::Acquire), (2, Waiting::Look), (3, Waiting::Release)] {
            driver.world.admission.set(id, &mut None, Some(waiting), Lane::Usual);
        }
        driver.turn.begins(3);
        driver.admit();
        assert_eq!((driver.world.admission.len(), driver.turn.steps), (0, 3));
    }

    #[test]
    #[should_panic(expected = "a turn of the driver does not end")]
    fn more_steps_than_a_turn_needs_are_a_bug() {
        let mut turn = Turn::default();
        turn.begins(1);
        while turn.goes_on() {
            turn.takes_a_step();
        }
    }
}
