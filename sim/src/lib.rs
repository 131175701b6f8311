//! The simulator that tries to break tenure's promises.
//!
//! A [`plan`] says what goes wrong in a run; an engine carries it out and writes a [`trace`];
//! [`judge::properties`] judge it in true time, which nobody inside the simulation can read; [`judge::sometimes`]
//! conditions say whether the run went where it gets interesting. The [`engines::turmoil`] engine runs the
//! shipped driver, the shipped Redis adapter and the shipped Lua scripts over simulated TCP against a
//! simulated [`engines::redis`].
//!
//! Not guaranteed: that what holds here holds on a real machine. The simulation knows the faults of
//! [`plan::FaultKind`] and no others.

pub mod engines;
pub mod evidence;
pub mod judge;
mod kit;
pub mod plan;
pub mod report;
pub mod search;
pub mod trace;

#[cfg(feature = "turmoil")]
pub use engines::turmoil::spawn;
#[cfg(feature = "conformance")]
pub use kit::conformance;
pub use kit::simulation::{self, Simulation};

/// What `docs/testing-your-code.md` shows is compiled, and run.
#[cfg(all(doctest, feature = "conformance"))]
#[doc = include_str!("../../docs/testing-your-code.md")]
struct TestingYourCode;
