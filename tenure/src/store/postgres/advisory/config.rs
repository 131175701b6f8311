//! The lock of each election, and what the end of its session means.

use std::collections::BTreeMap;

use super::number::LockNumber;
use crate::store::postgres::config::PostgresConfig;
use crate::store::{Key, LimitError};

/// Where a PostgreSQL server is, how to use it, and which lock belongs to which election.
///
/// ```
/// use tenure::store::postgres::{AdvisoryConfig, PostgresConfig};
///
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let postgres = PostgresConfig::from_url("postgres://app:secret@db.example.org/app")?;
/// let config = AdvisoryConfig::new(postgres)
///     // What the old program calls `pg_advisory_lock(4711)` for.
///     .lock("nightly-report", 4711)?
///     // And `pg_advisory_lock(17, 1)`.
///     .lock("clean-up", (17, 1))?;
/// assert_eq!(config.number("nightly-report")?.to_string(), "(4711)");
/// # Ok(())
/// # }
/// # example().unwrap();
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct AdvisoryConfig {
    pub(in crate::store::postgres) postgres: PostgresConfig,
    locks: BTreeMap<Key, LockNumber>,
    pub(in crate::store::postgres) takeover: Takeover,
}

/// When a lease whose holder's session has ended may be granted to another candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Takeover {
    /// Once it was released or has run out, as with any other store.
    #[default]
    Quarantined,
    /// As soon as the lock is free, within about a second. The previous leader may not know yet that its
    /// session has ended, and lead at the same time until its next renewal: promise G1 is given up, and
    /// only fencing (G3, G4) is left. Every candidate of an election must have the same setting.
    Immediate,
}

impl AdvisoryConfig {
    /// That server, with locks by the elections' names, and quarantined takeovers.
    pub fn new(postgres: PostgresConfig) -> Self {
        Self { postgres, locks: BTreeMap::new(), takeover: Takeover::default() }
    }

    /// Sets the number of an election's lock. Default: [`LockNumber::of`] its name.
    ///
    /// # Errors
    /// If the key is too short or too long, or another election has that lock.
    pub fn lock(
        mut self,
        key: impl AsRef<str>,
        number: impl Into<LockNumber>,
    ) -> Result<Self, AdvisoryConfigError> {
        let (key, number) = (Key::new(key)?, number.into());
        if let Some((other, _)) =
            self.locks.iter().find(|&(other, &lock)| lock == number && *other != key)
        {
            return Err(AdvisoryConfigError::SameLock { number, key, other: other.clone() });
        }
        self.locks.insert(key, number);
        Ok(self)
    }

    /// When to take over from a leader whose session has ended. Default: quarantined.
    pub fn takeover(mut self, takeover: Takeover) -> Self {
        self.takeover = takeover;
        self
    }

    /// The number of an election's lock, for programs and people that use the lock alone.
    ///
    /// # Errors
    /// If the key is too short or too long.
    pub fn number(&self, key: impl AsRef<str>) -> Result<LockNumber, LimitError> {
        Ok(self.number_of(&Key::new(key)?))
    }

    pub(super) fn number_of(&self, key: &Key) -> LockNumber {
        let given = self.locks.get(key).copied();
        given.unwrap_or_else(|| LockNumber::of(&self.postgres.table, key))
    }
}

/// Why a lock was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdvisoryConfigError {
    /// The election's name can't be one.
    #[error(transparent)]
    Key(#[from] LimitError),
    /// Both elections would exclude each other.
    #[error("the lock {number} is that of the election {other:?}; {key:?} needs one of its own")]
    SameLock {
        /// The lock.
        number: LockNumber,
        /// The election that was to have it too.
        key: Key,
        /// The election that has it.
        other: Key,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> AdvisoryConfig {
        AdvisoryConfig::new(PostgresConfig::new("localhost", 5432, "app"))
    }

    #[test]
    fn elections_cannot_share_a_lock() {
        let error = config().lock("a", 42).unwrap().lock("b", 42).unwrap_err().to_string();
        assert_eq!(error, r#"the lock (42) is that of the election "a"; "b" needs one of its own"#);
        // The same lock again, another one for the same election, and a pair that only looks the same.
        let config = config().lock("a", 42).unwrap().lock("a", 42).unwrap().lock("a", 43).unwrap();
        let config = config.lock("b", 42).unwrap().lock("c", (0, 42)).unwrap();
        assert_eq!(config.number("a").unwrap(), 43.into());
        config.lock("", 1).unwrap_err();
    }
}
