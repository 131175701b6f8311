//! The orders to the server's thread, and how it carries them out.

use std::time::Duration;

use tenure_servers::ServerError;

use super::Observed;
use crate::plan::{Act, Strike};

/// An order to the server's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum ServerOrder {
    /// Kill it. The next one has its data, or none.
    Crash {
        keeps_data: bool,
    },
    /// Start the next one.
    Start {
        keeps_data: bool,
    },
    Pause,
    Resume,
    /// Kill the primary, and wait until its replica is promoted.
    FailOver {
        lag: Duration,
    },
    /// Start the killed primary again, as a replica.
    Rejoin,
    /// Put the server's clock forward, or back if negative.
    StepClock {
        by_ms: i64,
        strike: Strike,
    },
    /// Do what an operator does.
    Begin(Act),
    /// Undo that: the fault is over.
    End(Act, Strike),
}

/// The report of the server's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct ServerReport {
    pub(in super::super) order: ServerOrder,
    /// Its time, by the boot clock.
    pub(in super::super) at: u64,
    /// True if a record of the election was lost, a replica was promoted, the clock shows another
    /// time, or an act was felt.
    pub(in super::super) had_effect: bool,
    pub(in super::super) moved: Option<Moved>,
}

/// The outcome of an order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    pub(super) had_effect: bool,
    /// The time, if not at the end of the order.
    pub(super) at: Option<u64>,
    pub(super) moved: Option<Moved>,
}

/// Another server has the record from now on, and nothing is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Moved {
    /// Its number.
    pub(in super::super) server: u32,
    /// The time at which it has stamped its past, by the boot clock, if no other server has stamped
    /// it since.
    pub(in super::super) stamped_at: Option<u64>,
}

impl Done {
    pub(super) const fn now(had_effect: bool) -> Self {
        Self { had_effect, at: None, moved: None }
    }
}

/// The store's server or file, and whether it answers.
pub(super) struct Server {
    pub(super) observed: Box<dyn Observed>,
    state: State,
    /// True if what was taken away comes back as soon as the server answers: a replica can't copy
    /// or follow a silent one.
    rejoins: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Answers,
    Paused,
    Down,
}

impl Server {
    pub(super) fn new(observed: Box<dyn Observed>) -> Self {
        Self { observed, state: State::Answers, rejoins: false }
    }

    pub(super) fn obey(&mut self, order: ServerOrder) -> Result<Done, ServerError> {
        let observed = self.observed.as_mut();
        let done = match order {
            ServerOrder::Pause => observed.pause().map(|()| Done::default())?,
            ServerOrder::Resume => observed.resume().map(|()| Done::default())?,
            ServerOrder::Crash { .. } => observed.crash().map(|()| Done::default())?,
            ServerOrder::Start { keeps_data } => Done::now(observed.starts_again(keeps_data)?),
            ServerOrder::FailOver { lag } => {
                let at = observed.fails_over(lag)?;
                // It had to answer to be asked for its replica.
                if at.is_none() && self.state == State::Paused {
                    observed.pause()?;
                }
                Done { at, ..Done::now(at.is_some()) }
            }
            ServerOrder::Rejoin => {
                self.rejoins = true;
                Done::default()
            }
            ServerOrder::StepClock { by_ms, .. } => match self.state {
                State::Answers => Done::now(observed.steps_clock(by_ms)?),
                // What is under way there can't be waited for.
                State::Paused | State::Down => Done::default(),
            },
            ServerOrder::Begin(act) => match self.state {
                State::Answers => observed.begins(act)?,
                State::Paused | State::Down if !act.needs_a_server() => observed.begins(act)?,
                State::Paused | State::Down => Done::default(),
            },
            ServerOrder::End(act, _) => Done::now(self.ends(act)?),
        };
        self.state = match order {
            ServerOrder::Pause => State::Paused,
            ServerOrder::Crash { .. } => State::Down,
            ServerOrder::Resume | ServerOrder::Start { .. } => State::Answers,
            ServerOrder::FailOver { .. } if done.had_effect => State::Answers,
            ServerOrder::FailOver { .. }
            | ServerOrder::Rejoin
            | ServerOrder::StepClock { .. }
            | ServerOrder::Begin(_)
            | ServerOrder::End(..) => self.state,
        };
        if self.state != State::Paused && std::mem::take(&mut self.rejoins) {
            self.observed.rejoins()?;
        }
        Ok(done)
    }

    /// A server that is paused answers for as long as it takes to undo an act.
    fn ends(&mut self, act: Act) -> Result<bool, ServerError> {
        let observed = self.observed.as_mut();
        match self.state {
            State::Answers => observed.ends(act),
            State::Paused | State::Down if !act.needs_a_server() => observed.ends(act),
            State::Paused => {
                observed.resume()?;
                let had_effect = observed.ends(act)?;
                observed.pause()?;
                Ok(had_effect)
            }
            State::Down => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::engines::real::steps::{Answers, Steps};
    use crate::plan::{FaultKind, What};

    /// Writes down what it is asked for.
    struct Noted(Arc<Mutex<Vec<&'static str>>>);

    impl Noted {
        fn note(&self, what: &'static str) {
            self.0.lock().expect("no panic").push(what);
        }
    }

    impl Observed for Noted {
        fn pause(&mut self) -> Result<(), ServerError> {
            self.note("pause");
            Ok(())
        }

        fn resume(&mut self) -> Result<(), ServerError> {
            self.note("resume");
            Ok(())
        }

        fn crash(&mut self) -> Result<(), ServerError> {
            self.note("crash");
            Ok(())
        }

        fn starts_again(&mut self, _: bool) -> Result<bool, ServerError> {
            self.note("start");
            Ok(false)
        }

        fn rejoins(&mut self) -> Result<(), ServerError> {
            self.note("rejoin");
            Ok(())
        }

        fn begins(&mut self, _: Act) -> Result<Done, ServerError> {
            self.note("begin");
            Ok(Done::now(true))
        }

        fn ends(&mut self, _: Act) -> Result<bool, ServerError> {
            self.note("end");
            Ok(true)
        }

        fn steps(&mut self, _: &Answers) -> Result<Steps, ServerError> {
            Ok(Steps::default())
        }
    }

    const ACT: Act = Act::LockRow;
    const BEGIN: ServerOrder = ServerOrder::Begin(ACT);
    const END: ServerOrder = ServerOrder::End(
        ACT,
        Strike { index: 0, kind: FaultKind::LockRow, what: What::Operator(ACT), node: None },
    );

    /// The result of the orders: the calls, and whether the last order had an effect.
    fn calls(orders: &[ServerOrder]) -> (Vec<&'static str>, bool) {
        let noted = Arc::default();
        let mut server = Server::new(Box::new(Noted(Arc::clone(&noted))));
        let mut had_effect = false;
        for order in orders {
            had_effect = server.obey(*order).expect("carried out").had_effect;
        }
        let calls = noted.lock().expect("no panic").clone();
        (calls, had_effect)
    }

    #[test]
    fn acts_begin_only_at_a_server_that_answers() {
        assert_eq!(calls(&[BEGIN]), (vec!["begin"], true));
        assert_eq!(calls(&[ServerOrder::Pause, BEGIN]), (vec!["pause"], false));
        let crash = ServerOrder::Crash { keeps_data: true };
        assert_eq!(calls(&[crash, BEGIN]), (vec!["crash"], false));
        let start = ServerOrder::Start { keeps_data: true };
        assert_eq!(calls(&[crash, start, BEGIN]), (vec!["crash", "start", "begin"], true));
    }

    #[test]
    fn a_failover_without_a_replica_ends_no_stall() {
        let fails_over = ServerOrder::FailOver { lag: Duration::ZERO };
        assert_eq!(calls(&[fails_over, BEGIN]), (vec!["begin"], true));
        let paused = calls(&[ServerOrder::Pause, fails_over, BEGIN]);
        assert_eq!(paused, (vec!["pause", "pause"], false));
    }

    #[test]
    fn acts_end_at_a_paused_server_and_not_without_one() {
        assert_eq!(calls(&[BEGIN, END]), (vec!["begin", "end"], true));
        let paused = calls(&[BEGIN, ServerOrder::Pause, END]);
        assert_eq!(paused, (vec!["begin", "pause", "resume", "end", "pause"], true));
        let down = calls(&[BEGIN, ServerOrder::Crash { keeps_data: true }, END]);
        assert_eq!(down, (vec!["begin", "crash"], false));
    }

    #[test]
    fn what_was_taken_away_comes_back_to_a_server_that_is_not_silent() {
        let (pause, rejoin) = (ServerOrder::Pause, ServerOrder::Rejoin);
        assert_eq!(calls(&[rejoin]).0, ["rejoin"]);
        let resumed = calls(&[pause, rejoin, ServerOrder::Resume, pause, ServerOrder::Resume]).0;
        assert_eq!(resumed, ["pause", "resume", "rejoin", "pause", "resume"]);
        let crash = ServerOrder::Crash { keeps_data: true };
        assert_eq!(calls(&[pause, rejoin, crash]).0, ["pause", "crash", "rejoin"]);
    }

    #[test]
    fn a_disk_is_filled_whatever_the_server_does() {
        let act = Act::FillDisk;
        let strike = Strike { index: 0, kind: act.kind(), what: What::Operator(act), node: None };
        let (begin, end) = (ServerOrder::Begin(act), ServerOrder::End(act, strike));
        let crash = ServerOrder::Crash { keeps_data: true };
        assert_eq!(calls(&[crash, begin, end]), (vec!["crash", "begin", "end"], true));
        let paused = calls(&[ServerOrder::Pause, begin, end]);
        assert_eq!(paused, (vec!["pause", "begin", "end"], true));
    }
}
