//! The tolerance certificate: how far each thing may go wrong before a promise breaks, found by bisection
//! and compared with what a formula says.
//!
//! A [`Magnitude`] is one thing that can be more or less wrong: a clock's rate, a pause, a step. Its plans
//! are staged as badly as they can be for the promise, so that nothing but the magnitude is left to
//! chance. The certificate bisects it to the last plan that holds and the first that breaks, in steps of
//! the plan's own units, and the frontier must lie where the formula says: neither sooner, which would be
//! a broken promise, nor later, which would be a formula that says less than it could, or a stage that is
//! not the worst one.
//!
//! Not guaranteed: that two things together are tolerated because each of them is. Most of them use up the
//! same stop margin. Nor that a stage is the worst there is; that its frontier lies at the formula shows
//! that none worse is needed to reach it.

mod bisect;
mod certificate;
mod formula;
mod magnitudes;
mod promise;
pub mod search;
mod stage;

pub use certificate::{Certificate, Row, certify};
pub use formula::Bounds;
pub use magnitudes::{ALL, Magnitude, Side, Unit, UnknownMagnitude};
pub use promise::Promise;

use crate::engines::EngineError;
use crate::plan::PlanError;

/// The shortest TTL of a certificate: with less of it, a plan's millisecond is too coarse.
pub const TTL_LEAST_MS: u64 = 1_000;

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToleranceError {
    /// The settings can't hold.
    #[error("the settings can't hold: {0}")]
    Settings(#[from] tenure_core::ConfigError),
    /// The TTL is too short.
    #[error("the TTL is {ttl_ms} ms, and must be at least {TTL_LEAST_MS} ms")]
    Ttl {
        /// What it was set to.
        ttl_ms: u64,
    },
    /// A plan can't be carried out with those settings.
    #[error("{what}: {why}")]
    Plan {
        /// What it was made for.
        what: &'static str,
        /// What is wrong with it.
        #[source]
        why: PlanError,
    },
    /// A run did not come to its end.
    #[error("{what}: {why}")]
    Engine {
        /// What it was made for.
        what: &'static str,
        /// Why.
        #[source]
        why: EngineError,
    },
}
