//! Judging a run: properties that must hold, conditions that must have been met, and safety
//! margins.

mod asker;
pub mod finding;
pub mod margin;
mod outcome;
pub mod properties;
mod recent;
pub mod sometimes;
mod state;
pub mod turnover;

pub use outcome::{Judging, Outcome, Which};
pub use state::{Leader, State};
