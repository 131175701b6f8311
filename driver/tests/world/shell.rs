//! The shell of a process, and wrong ones.

use std::time::Duration;

use tenure_core::Instant;
use tenure_driver::Event;

use super::{Due, Key, World};

/// The shell's way to read its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shell {
    /// For each event, after it was taken. Suspends go first.
    Right,
    /// Once for all that is ready, before it is taken.
    ReadsOnce,
    /// A suspend goes after the event that was taken after it.
    ResumesLate,
}

impl World {
    /// The clock of a process.
    pub(super) fn local(&self, index: usize) -> Instant {
        self.now + self.processes[index].ahead
    }

    /// A process takes what has reached it, unless it is paused.
    pub(super) fn goes_on(&mut self, index: usize) {
        let now = self.local(index);
        let process = &mut self.processes[index];
        if self.now < process.paused_until || process.has_stopped {
            return;
        }
        let reads_once = self.plan.shell == Shell::ReadsOnce;
        let is_early = reads_once && process.paused_from > process.took_at;
        let read_at = if is_early { process.paused_from } else { now };
        let was_suspended = std::mem::take(&mut process.was_suspended);
        let is_late = self.plan.shell == Shell::ResumesLate;
        if was_suspended && !is_late {
            self.handles(index, read_at, Event::Resumed);
        }
        while let Some(event) = self.processes[index].inbox.pop_front() {
            self.handles(index, read_at, event);
        }
        self.processes[index].took_at = now;
        self.rests(index);
        if was_suspended && is_late && !self.processes[index].has_stopped {
            self.handles(index, read_at, Event::Resumed);
            self.rests(index);
        }
    }

    fn handles(&mut self, index: usize, now: Instant, event: Event<Key>) {
        let effects = self.processes[index].handle(now, event, &mut self.draw);
        for (action, after, due) in effects {
            self.hash = self.hash.rotate_left(5) ^ action;
            let is_call = matches!(due, Some(Due::Arrives { .. })) && !self.is_calm();
            let is_slow = is_call && self.draw.one_in(self.plan.slow_one_in);
            let more = if is_slow { self.draw.duration(0, 4_000) } else { Duration::ZERO };
            if let Some(due) = due {
                self.put(self.now + after + more, due);
            }
        }
        if self.plan.seed.is_multiple_of(3) {
            self.store.sticks(&mut self.draw);
        }
    }

    /// The deadlines that have come, until there is none.
    fn rests(&mut self, index: usize) {
        let now = self.local(index);
        let mut steps = 0_usize;
        while self.processes[index].driver.deadline().is_some_and(|at| at <= now)
            && !self.processes[index].has_stopped
        {
            self.handles(index, now, Event::Due);
            // What a carried out action has caused goes first.
            while let Some(event) = self.processes[index].inbox.pop_front() {
                self.handles(index, now, event);
            }
            steps += 1;
            assert!(steps < 1_000, "a turn does not end: {:?}", self.plan);
        }
        let process = &mut self.processes[index];
        process.check_rest(now);
        if let Some(at) = process.driver.deadline().filter(|at| *at < process.wakes_at) {
            process.wakes_at = at;
            let at = at - process.ahead;
            self.put(at.max(self.now), Due::GoesOn { process: index });
        }
    }
}
