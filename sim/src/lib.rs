//! The simulator that tries to break tenure's promises.
//!
//! A [`plan`] contains the faults of a run; an engine carries it out and writes a [`trace`];
//! [`judge::properties`] judge the trace in true time, which no simulated process can read;
//! [`judge::sometimes`] conditions count the situations that a campaign should have met. The
//! [`engines::turmoil`] engine runs the shipped driver, the shipped Redis adapter and the shipped
//! Lua scripts over simulated TCP against a simulated [`engines::redis`].
//!
//! Not guaranteed: that a promise that holds here holds on a real machine. The simulation has the
//! faults of [`plan::FaultKind`] and no others.

#![cfg_attr(docsrs, feature(doc_cfg))]
// A browser runs, judges, draws and shrinks plans. What else there is would double the time of that build.
#![cfg_attr(
    target_family = "wasm",
    allow(dead_code, unused_imports, unused_macros, reason = "what is left out uses the rest")
)]

#[cfg(not(target_family = "wasm"))]
pub mod audit;
pub mod engines;
pub mod evidence;
pub mod judge;
#[cfg(not(target_family = "wasm"))]
mod kit;
pub mod plan;
pub mod report;
pub mod search;
pub mod trace;

#[cfg(feature = "turmoil")]
pub use engines::turmoil::spawn;
#[cfg(feature = "conformance")]
pub use kit::conformance;
#[cfg(not(target_family = "wasm"))]
pub use kit::simulation::{self, Simulation};

/// Compiles and runs the code in `docs/testing-your-code.md`.
#[cfg(all(doctest, feature = "conformance"))]
#[doc = include_str!("../../docs/testing-your-code.md")]
struct TestingYourCode;

/// Compiles and runs the code in `docs/simulating-your-code.md`.
#[cfg(all(doctest, feature = "turmoil"))]
#[doc = include_str!("../../docs/simulating-your-code.md")]
struct SimulatingYourCode;

/// Compiles and runs the code in `docs/testing-your-store.md`.
#[cfg(all(doctest, feature = "conformance"))]
#[doc = include_str!("../../docs/testing-your-store.md")]
struct TestingYourStore;
