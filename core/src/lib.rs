//! The candidate's state machine of tenure's leader election.
//!
//! **What is not guaranteed**: a check of leadership says nothing about the moment after the check.
//! Only a resource that compares fencing tokens closes that gap; the stop margin narrows it.
//!
//! This crate decides; it does nothing. It has no I/O, no clock, no allocation and no dependency
//! (but serde, for the feature of that name). A driver hands it inputs together with the time at
//! which it read its clock, and carries out the outputs. The whole surface is one alphabet in and
//! one alphabet out, so that a run can be logged, fuzzed, replayed and explored:
//!
//! ```
//! use core::time::Duration;
//! use tenure_core::{Candidate, Config, Input, Instant, NameId, Output, Pending, Reply, Seed, Token};
//!
//! let mut candidate = Candidate::new(Config::normal(), NameId::from_bits(1), Seed::new(42));
//! let start = Instant::from_nanos(1_000);
//! candidate.handle(start, Input::Campaign);
//! // It wants to ask the store for the lease, and does so as soon as a request may leave.
//! assert_eq!(candidate.pending(), Some(Pending::Acquire));
//! candidate.handle(start, Input::Admitted);
//! let Some(Output::Send { id, .. }) = candidate.poll() else { panic!("asks the store for the lease") };
//!
//! let token = Token::new(7).expect("not zero");
//! let granted = Reply::Granted { token };
//! let later = start + Duration::from_millis(2);
//! candidate.handle(later, Input::Reply { id, result: Ok(granted) });
//! assert!(candidate.claim(later).is_some());
//!
//! // Nobody has to tell the candidate that its time is over, no timer has to fire.
//! assert!(candidate.claim(later + Duration::from_secs(15)).is_none());
//! ```
//!
//! [`contract`] is the other half of the argument: the store contract as code. Stores written
//! against it, the memory store and the simulators run it; adapters are compared with it.

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod alphabet;
mod candidate;
mod claim;
mod config;
pub mod contract;
mod id;
mod number;
mod random;
mod record;
mod request;
#[cfg(feature = "serde")]
mod serialized;
mod stage;
mod time;
#[cfg(feature = "serde")]
mod transition;

pub use alphabet::{
    Event, Input, OtherSettings, Output, Pending, StepDownReason, Unknown, Watched,
};
pub use candidate::Candidate;
pub use claim::Claim;
pub use config::{Config, ConfigBuilder, ConfigError, Explanation, Remedy, RenewErrorPolicy};
pub use id::{HolderId, NameId, RequestId, Seed, Stamp, Token};
pub use number::TokenError;
pub use record::{Asked, Mark, Reservation, Wish};
pub use request::{Acquire, Loss, Reply, Request, Sight, UnwatchedPast, WatchedStamp};
pub use stage::Stage;
pub use time::Instant;
#[cfg(feature = "serde")]
pub use transition::Transition;
