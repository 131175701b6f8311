//! The requests of `tenure doctor`: not a part of the interface for programs.

use std::path::Path;

use super::rights::{Concern, concerns};
use super::store::Sqlite;

impl Sqlite {
    /// The file.
    #[doc(hidden)]
    pub fn path(&self) -> &Path {
        &self.0.config.path
    }

    /// The rights that let other users of the host stop or decide elections.
    #[doc(hidden)]
    pub fn concerns(&self) -> Vec<Concern> {
        concerns(&self.0.config)
    }
}
