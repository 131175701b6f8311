//! The driver of tenure's leader elections as a state machine: many candidates over one store.
//!
//! It decides which request leaves next and when, how many calls are in flight, when a request is
//! given up, which elections a hint wakes, and when an election has ended. It does nothing: it has
//! no I/O, no async, no clock and no randomness of its own, and knows no store. A *shell* hands it
//! [events](Event), each with the time at which it was taken, and carries out its
//! [actions](Action):
//!
//! ```
//! use std::time::Duration;
//! use tenure_core::{Config, Instant, NameId, Reply, Seed, Token};
//! use tenure_driver::{Action, Driver, Event, InCall, Join, Outcome};
//!
//! let mut driver = Driver::new(InCall::default());
//! let (start, election, key) = (Instant::from_nanos(1_000), 1, "job");
//! let (config, name, seed) = (Config::normal(), NameId::from_bits(1), Seed::new(42));
//! driver.handle(start, Event::Join(Box::new(Join { election, key, config, name, seed, phase: 0 })));
//! assert_eq!(driver.poll(), Some(Action::Subscribe("job")));
//! while driver.poll().is_some() {}
//!
//! // Nothing else has happened: what is due is done now.
//! assert!(driver.deadline().is_some_and(|at| at <= start));
//! driver.handle(start, Event::Due);
//! let mut actions = std::iter::from_fn(|| driver.poll());
//! let Some(Action::Call(call, _)) = actions.find(|action| matches!(action, Action::Call(..))) else {
//!     panic!("asks the store for the lease")
//! };
//!
//! let granted = Outcome::Answered(Reply::Granted { token: Token::FIRST });
//! driver.handle(start + Duration::from_millis(2), Event::Called(call, vec![granted]));
//! while driver.poll().is_some() {}
//! let claim = driver.candidate(election).and_then(|one| one.claim(start + Duration::from_secs(1)));
//! assert!(claim.is_some());
//! ```
//!
//! **What is not guaranteed**: anything, with a shell that reads the clock too early. [`Driver`]
//! says what a shell must do.

mod admission;
mod alphabet;
mod calls;
mod driver;
mod election;
mod outage;
mod spread;
mod subscriptions;
mod timers;
mod turn;
mod world;

pub use admission::LEAST_CALLS;
pub use alphabet::{
    Action, CallId, Command, DescribeOutcome, ElectionId, Event, InCall, Join, LostWork, News,
    ObserverId, Outcome, Outgoing, Question, QuestionId, Verdict,
};
pub use driver::Driver;
pub use outage::Outage;
