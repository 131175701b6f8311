//! Benchmarks of tenure against real servers, and what they measure with.
//!
//! A time in microseconds says as much about the machine, and who else is using it, as about the code.
//! What is judged here is therefore a *ratio*: two things measured side by side, in turns so short
//! that both meet the same machine. Criterion's own figures are printed too; they are for looking, not
//! for judging.
//!
//! How to run what, and how to read it, is in `bench/README.md`.

mod comparison;
mod quantiles;
mod report;

pub use comparison::{Comparison, Side};
pub use quantiles::Quantiles;
pub use report::Report;
