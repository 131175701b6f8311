//! What can be wrong with a plan.

use std::fmt::Display;

use tenure_core::ConfigError;

use super::FaultKind;

/// Why a plan can't be carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// It is not JSON, or not a plan.
    #[error("line {line}, column {column}, field {field:?}: {what}")]
    Syntax {
        /// Where, counted from one.
        line: usize,
        /// Where, counted from one.
        column: usize,
        /// The field, as a path from the plan's root.
        field: String,
        /// What is wrong.
        what: String,
    },
    /// A value is out of its bounds.
    #[error("field {field:?} is {value}, and must be {bound}")]
    OutOfBounds {
        /// The field, as a path from the plan's root.
        field: String,
        /// Its value.
        value: String,
        /// What it may be.
        bound: String,
    },
    /// The settings of a candidate can't hold.
    #[error("the settings of node {node} can't hold")]
    Settings {
        /// The candidate.
        node: usize,
        /// Why.
        #[source]
        why: ConfigError,
    },
    /// The engine can't carry out a fault.
    #[error("fault {index} ({kind}): the {engine} engine {why}")]
    Unsupported {
        /// Which fault, counted from zero.
        index: usize,
        /// Its kind.
        kind: FaultKind,
        /// The engine.
        engine: &'static str,
        /// What the engine can't do.
        why: &'static str,
    },
}

impl PlanError {
    pub(super) fn out_of_bounds(field: impl Display, value: impl Display, bound: &str) -> Self {
        Self::OutOfBounds {
            field: field.to_string(),
            value: value.to_string(),
            bound: bound.to_owned(),
        }
    }
}
