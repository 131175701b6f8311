//! Evidence that the checks catch faults: controls that must fail, planted mutants, faults without
//! effect, and other algorithms under the same plans.

pub mod audited;
pub mod compare;
pub mod controls;
pub mod effects;
#[cfg(feature = "cli")]
pub mod mutants;
pub mod situations;
mod stage;

pub use stage::Stage;
