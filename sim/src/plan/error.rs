//! The errors of a plan.

use std::fmt::Display;

use tenure_core::ConfigError;

use super::FaultKind;

/// The reason why a plan can't be carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// It is not JSON, or not a plan.
    #[error("line {line}, column {column}, field {field:?}: {what}")]
    Syntax {
        /// The line, counted from one.
        line: usize,
        /// The column, counted from one.
        column: usize,
        /// The field, as a path from the plan's root.
        field: String,
        /// A description.
        what: String,
    },
    /// A value is out of its bounds.
    #[error("field {field:?} is {value}, and must be {bound}")]
    OutOfBounds {
        /// The field, as a path from the plan's root.
        field: String,
        /// Its value.
        value: String,
        /// The values that are permitted.
        bound: String,
    },
    /// The settings of a candidate contradict each other.
    #[error("the settings of node {node} contradict each other")]
    Settings {
        /// The candidate.
        node: usize,
        /// The reason.
        #[source]
        why: Box<ConfigError>,
    },
    /// The engine can't carry out a fault.
    #[error("fault {index} ({kind}): the {engine} engine {why}")]
    Unsupported {
        /// The index of the fault, counted from zero.
        index: usize,
        /// Its kind.
        kind: FaultKind,
        /// The engine.
        engine: &'static str,
        /// The reason.
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
