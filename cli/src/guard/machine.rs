//! The guard as a state machine without clock, processes and sockets.
//!
//! **Guarantee**: from the spawn of the command until its group is empty, a timer of the kernel is
//! armed for `hard_at`; the group is killed by the first wake-up at or after `kill_at`; a group
//! that was asked to end is never let go on; no second command starts before the first one's group
//! is empty.
//!
//! **Not guaranteed**: that the guard wakes up. The kernel's timer is for that.

use std::time::Duration;

use tenure::Instant;

use super::message::{Deadlines, Ending, Order, Report};

/// An input of the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Order(Order),
    /// The supervisor is gone, and with it the knowledge of the lease.
    SupervisorGone,
    /// The command was started, in that process.
    Spawned(i32),
    /// It could not be started.
    NotSpawned(i32),
    /// The command's process was stopped by that signal.
    LeaderStopped(i32),
    /// The command's process has ended, and is not reaped yet.
    LeaderExited(Ending),
    /// No child is left.
    Empty,
    /// Time has passed.
    Wake,
}

/// An action of the guard. Actions are carried out in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Have the kernel kill this process then.
    Arm(Instant),
    Disarm,
    /// Start the command; [`Input::Spawned`] or [`Input::NotSpawned`] follows.
    Spawn {
        token: u64,
        foreground: bool,
    },
    /// Send that signal to the group.
    Signal(i32),
    /// Kill the group.
    Kill,
    /// Let the number of the command's process be used again.
    Reap,
    Report(Report),
    Quit,
}

pub(crate) const INT: i32 = 2;
pub(crate) const TERM: i32 = 15;
pub(crate) const CONT: i32 = 18;

/// The guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    state: State,
    supervisor: Supervisor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Supervisor {
    There,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// The command is being spawned.
    Starting {
        until: Deadlines,
    },
    Running {
        until: Deadlines,
    },
    /// The group was asked to end.
    Ending {
        until: Deadlines,
        /// The end of its time, whatever renewals say.
        kill_at: Instant,
    },
    /// The group was killed, and the command's process has not ended yet.
    Killed,
    /// The command's process has ended, and the rest of its group was killed.
    Emptying,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self { state: State::Idle, supervisor: Supervisor::There }
    }

    /// The next instant at which time alone changes something.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Running { until } => Some(until.term_at),
            State::Ending { until, kill_at } => Some(kill_at.min(until.kill_at)),
            State::Idle | State::Starting { .. } | State::Killed | State::Emptying => None,
        }
    }

    /// True if children may be left that are to be killed and reaped.
    pub(crate) fn is_emptying(&self) -> bool {
        matches!(self.state, State::Emptying)
    }

    /// True if a command's process is there that has not been reaped.
    pub(crate) fn has_leader(&self) -> bool {
        match self.state {
            State::Running { .. } | State::Ending { .. } | State::Killed => true,
            State::Idle | State::Starting { .. } | State::Emptying => false,
        }
    }

    pub(crate) fn handle(&mut self, now: Instant, input: Input) -> Vec<Action> {
        if input == Input::SupervisorGone {
            self.supervisor = Supervisor::Gone;
        }
        match self.state {
            State::Idle => self.idle(now, input),
            State::Starting { until } => self.starting(until, input),
            State::Running { until } => self.running(now, until, input),
            State::Ending { until, kill_at } => self.ending(now, until, kill_at, input),
            State::Killed => self.killed(input),
            State::Emptying => self.emptying(input),
        }
    }

    fn idle(&mut self, now: Instant, input: Input) -> Vec<Action> {
        match input {
            Input::Order(Order::Start { until, .. }) if now >= until.term_at => {
                vec![Action::Report(Report::Late)]
            }
            Input::Order(Order::Start { token, until, foreground }) => {
                self.state = State::Starting { until };
                // First: from the spawn on, this process may be paused.
                vec![Action::Arm(until.hard_at), Action::Spawn { token, foreground }]
            }
            Input::SupervisorGone => vec![Action::Quit],
            Input::Order(Order::Until(_) | Order::Stop { .. } | Order::Signal(_))
            | Input::Spawned(_)
            | Input::NotSpawned(_)
            | Input::LeaderStopped(_)
            | Input::LeaderExited(_)
            | Input::Empty
            | Input::Wake => vec![],
        }
    }

    fn starting(&mut self, until: Deadlines, input: Input) -> Vec<Action> {
        match input {
            Input::Spawned(pid) => {
                self.state = State::Running { until };
                vec![Action::Report(Report::Started(pid))]
            }
            Input::NotSpawned(error) => {
                self.state = State::Idle;
                vec![Action::Disarm, Action::Report(Report::Failed(error))]
            }
            // The spawn is carried out before anything else is read.
            Input::Order(_)
            | Input::SupervisorGone
            | Input::LeaderStopped(_)
            | Input::LeaderExited(_)
            | Input::Empty
            | Input::Wake => vec![],
        }
    }

    fn running(&mut self, now: Instant, until: Deadlines, input: Input) -> Vec<Action> {
        match input {
            Input::Order(Order::Until(until)) => {
                self.state = State::Running { until };
                armed(now, until, self.wake_running(now, until))
            }
            Input::Order(Order::Stop { grace }) => self.ask_to_end(until, now + grace),
            Input::Order(Order::Signal(signal)) => vec![Action::Signal(signal)],
            Input::SupervisorGone => self.kill(),
            Input::LeaderStopped(signal) => vec![Action::Report(Report::Stopped(signal))],
            Input::LeaderExited(ending) => self.leader_exited(ending),
            Input::Wake => self.wake_running(now, until),
            Input::Order(Order::Start { .. })
            | Input::Spawned(_)
            | Input::NotSpawned(_)
            | Input::Empty => vec![],
        }
    }

    fn wake_running(&mut self, now: Instant, until: Deadlines) -> Vec<Action> {
        let due = if now >= until.kill_at {
            self.kill()
        } else if now >= until.term_at {
            self.ask_to_end(until, until.kill_at)
        } else {
            return vec![];
        };
        [vec![Action::Report(Report::Ending)], due].concat()
    }

    fn ending(
        &mut self,
        now: Instant,
        until: Deadlines,
        kill_at: Instant,
        input: Input,
    ) -> Vec<Action> {
        match input {
            Input::Order(Order::Until(until)) => {
                self.state = State::Ending { until, kill_at };
                armed(now, until, self.wake_ending(now, until, kill_at))
            }
            Input::Order(Order::Stop { grace }) => {
                self.state = State::Ending { until, kill_at: kill_at.min(now + grace) };
                vec![]
            }
            Input::Order(Order::Signal(signal)) => vec![Action::Signal(signal)],
            Input::SupervisorGone => self.kill(),
            Input::LeaderStopped(signal) => vec![Action::Report(Report::Stopped(signal))],
            Input::LeaderExited(ending) => self.leader_exited(ending),
            Input::Wake => self.wake_ending(now, until, kill_at),
            Input::Order(Order::Start { .. })
            | Input::Spawned(_)
            | Input::NotSpawned(_)
            | Input::Empty => vec![],
        }
    }

    fn wake_ending(&mut self, now: Instant, until: Deadlines, kill_at: Instant) -> Vec<Action> {
        if now >= kill_at.min(until.kill_at) { self.kill() } else { vec![] }
    }

    fn killed(&mut self, input: Input) -> Vec<Action> {
        match input {
            Input::LeaderExited(ending) => self.leader_exited(ending),
            // SIGKILL is final. A renewal that comes now is late.
            Input::Order(_)
            | Input::SupervisorGone
            | Input::Spawned(_)
            | Input::NotSpawned(_)
            | Input::LeaderStopped(_)
            | Input::Empty
            | Input::Wake => vec![],
        }
    }

    fn emptying(&mut self, input: Input) -> Vec<Action> {
        match input {
            Input::Empty => {
                self.state = State::Idle;
                let actions = vec![Action::Disarm, Action::Report(Report::Gone)];
                match self.supervisor {
                    Supervisor::There => actions,
                    Supervisor::Gone => [actions, vec![Action::Quit]].concat(),
                }
            }
            Input::Order(_)
            | Input::SupervisorGone
            | Input::Spawned(_)
            | Input::NotSpawned(_)
            | Input::LeaderStopped(_)
            | Input::LeaderExited(_)
            | Input::Wake => vec![],
        }
    }

    /// A group that is stopped would not see SIGTERM without SIGCONT.
    fn ask_to_end(&mut self, until: Deadlines, kill_at: Instant) -> Vec<Action> {
        self.state = State::Ending { until, kill_at };
        vec![Action::Signal(TERM), Action::Signal(CONT)]
    }

    fn kill(&mut self) -> Vec<Action> {
        self.state = State::Killed;
        vec![Action::Kill]
    }

    /// Nothing may outlive the tenure, so the rest of the group is killed. That comes before the
    /// reaping: as long as the process is not reaped, no other group can have its number.
    fn leader_exited(&mut self, ending: Ending) -> Vec<Action> {
        self.state = State::Emptying;
        vec![Action::Report(Report::Exited(ending)), Action::Kill, Action::Reap]
    }
}

/// Moves the timer, unless the new deadline is over: then the guard kills by itself, and the timer
/// would kill it first.
fn armed(now: Instant, until: Deadlines, due: Vec<Action>) -> Vec<Action> {
    if now >= until.kill_at { due } else { [vec![Action::Arm(until.hard_at)], due].concat() }
}

/// The deadlines of a group that must be gone before `lease_end`, and is asked to end `grace`
/// before it is killed.
///
/// Half of what is left between `kill_at` and the lease's end is for a guard that is late, the
/// other half for the kernel.
pub(crate) fn deadlines(lease_end: Instant, margin: Duration, grace: Duration) -> Deadlines {
    let before_end = |time: Duration| {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Instant::from_nanos(lease_end.as_nanos().saturating_sub(nanos))
    };
    Deadlines {
        term_at: before_end(margin.saturating_add(grace)),
        kill_at: before_end(margin),
        hard_at: before_end(margin / 2),
    }
}

#[cfg(test)]
mod tests;
