//! What a run is judged by: properties that must hold, conditions that must have been met, and margins.

pub mod margin;
mod outcome;
pub mod properties;
pub mod sometimes;

pub use outcome::{Judging, Outcome};
