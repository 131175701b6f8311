//! The largest fault or error that each promise tolerates. The tolerance certificate finds the
//! largest magnitude of each by bisection, and compares it with a formula.
//!
//! A [`Magnitude`] is the size of one fault or error: a clock's rate, a pause, a step. Its plans
//! are the worst case for the promise, so that only the magnitude decides. The certificate bisects
//! it to the last plan that holds and the first that breaks, in steps of the plan's own units. The
//! frontier must agree with the formula. A lower frontier is a broken promise; a higher one means
//! that the formula could promise more, or that the plans are not the worst case.
//!
//! Not guaranteed: that two faults together are tolerated because each of them is. Most of them use
//! up the same stop margin. Nor that the plans are the worst possible ones; but if their frontier
//! agrees with the formula, no worse ones are needed to reach it.

mod bisect;
mod certificate;
mod formula;
mod magnitudes;
mod promise;
pub mod search;
mod stage;

pub use certificate::{Certificate, Row, certify};
pub use formula::Bounds;
pub use magnitudes::{ALL, Magnitude, Side, Unit};
pub use promise::Promise;

use crate::engines::EngineError;
use crate::plan::PlanError;

/// The shortest TTL of a certificate: for a shorter one, a plan's millisecond is too coarse.
pub const TTL_LEAST_MS: u64 = 1_000;

/// The reason why there is no certificate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToleranceError {
    /// The settings contradict each other.
    #[error("invalid settings: {0}")]
    Settings(#[from] Box<tenure_core::ConfigError>),
    /// The TTL is too short.
    #[error("the TTL is {ttl_ms} ms, and must be at least {TTL_LEAST_MS} ms")]
    Ttl {
        /// The TTL.
        ttl_ms: u64,
    },
    /// A plan can't be carried out with those settings.
    #[error("{what}: {why}")]
    Plan {
        /// The magnitude or search that the plan belongs to.
        what: &'static str,
        /// The reason.
        #[source]
        why: PlanError,
    },
    /// A run did not complete.
    #[error("{what}: {why}")]
    Engine {
        /// The magnitude or search that the run belongs to.
        what: &'static str,
        /// The reason.
        #[source]
        why: EngineError,
    },
}
