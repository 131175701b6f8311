//! A violation of a row of the contract.

use std::fmt;

use super::Row;

/// A violation of a row by a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The row.
    pub row: Row,
    /// The store's own name.
    pub store: &'static str,
    /// A description.
    pub what: String,
    /// The requests and answers, in order.
    pub transcript: Vec<String>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the store {:?} violates {}: {}", self.store, self.row, self.what)?;
        writeln!(f, "the row says: {}", self.row.about())?;
        write!(f, "requests and answers:")?;
        self.transcript.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl std::error::Error for Broken {}
