//! The simulator that tries to break tenure's promises.
//!
//! A [`plan`] says what goes wrong in a run; an engine carries it out and writes a [`trace`];
//! [`properties`] judge it in true time, which nobody inside the simulation can read; [`sometimes`]
//! conditions say whether the run went where it gets interesting. The [`turmoil_engine`] runs the
//! shipped driver, the shipped Redis adapter and the shipped Lua scripts over simulated TCP against a
//! simulated [`redis`].
//!
//! Not guaranteed: that what holds here holds on a real machine. The simulation knows the faults of
//! [`plan::FaultKind`] and no others.

pub mod campaign;
pub mod clock;
pub mod compare;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod controls;
pub mod draw;
pub mod effects;
pub mod engine;
pub mod exhaustive;
pub mod json;
pub mod margin;
pub mod model_engine;
#[cfg(feature = "cli")]
pub mod mutants;
pub mod plan;
pub mod properties;
#[cfg(feature = "turmoil")]
pub mod redis;
pub mod report;
pub mod shrink;
pub mod simulation;
pub mod sometimes;
pub mod sweep;
pub mod told;
pub mod tolerance;
pub mod trace;
#[cfg(feature = "turmoil")]
pub mod turmoil_engine;

pub use simulation::Simulation;
#[cfg(feature = "turmoil")]
pub use turmoil_engine::spawn;

/// What `docs/testing-your-code.md` shows is compiled, and run.
#[cfg(all(doctest, feature = "conformance"))]
#[doc = include_str!("../../docs/testing-your-code.md")]
struct TestingYourCode;
