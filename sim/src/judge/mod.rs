//! Judging a run: properties that must hold, conditions that must have been met, and safety margins.

pub mod finding;
pub mod margin;
mod outcome;
pub mod properties;
pub mod sometimes;
pub mod turnover;

pub use outcome::{Judging, Outcome, Which};
