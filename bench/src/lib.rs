//! Benchmarks of tenure against real servers, and their common parts.
//!
//! A time in microseconds says as much about the machine, and who else is using it, as about the
//! code. The result of a benchmark here is therefore a *ratio*: two things measured side by side,
//! in turns so short that both meet the same machine. Criterion's own figures are printed too; they
//! are for looking, not for judging.
//!
//! How to run what, and how to read it, is in `bench/README.md`, the figures in
//! `docs/performance.md`.

mod chart;
mod comparison;
mod elections;
mod percentiles;
mod quantiles;
mod report;
mod session;

pub use chart::{Chart, Line, Scale, page};
pub use comparison::{Comparison, Side};
pub use elections::{Elections, HOLDER, Lease, METADATA, NAME, Operation, TTL};
pub use percentiles::Percentiles;
pub use quantiles::Quantiles;
pub use report::Report;
pub use session::{Outcome, Session, one_thread};
