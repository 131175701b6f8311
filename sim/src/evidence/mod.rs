//! Evidence that the checks catch faults: controls that must fail, planted mutants, faults without
//! effect, and other algorithms under the same plans.

#[cfg(not(target_family = "wasm"))]
pub mod audited;
pub mod compare;
#[cfg(not(target_family = "wasm"))]
pub mod controls;
#[cfg(not(target_family = "wasm"))]
pub mod effects;
#[cfg(feature = "cli")]
pub mod mutants;
#[cfg(not(target_family = "wasm"))]
pub mod situations;
mod stage;

pub use stage::Stage;
