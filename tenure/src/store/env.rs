//! The store that environment variables name.

use std::ffi::OsString;

use super::{AnyStore, PurgeAge, PurgeAgeError, StoreUrlError};

/// The variable that has the store's URL.
const STORE: &str = "TENURE_STORE";
/// The variable that has the age at which drivers purge it.
const PURGE: &str = "TENURE_PURGE";
/// What it says to read Redis' variables.
const BY_VARIABLES: &str = "redis";
/// Variables of tenure's own that name a Redis server. `REDIS_HOST` alone is not among them: it may be the
/// application's cache, and a candidate at another store than the others' would be a second leader.
const REDIS: [&str; 2] = ["TENURE_REDIS_HOST", "TENURE_REDIS_SENTINEL_HOST"];

impl AnyStore {
    /// The store that environment variables name; see [`from_variables`](Self::from_variables).
    ///
    /// # Errors
    /// As for [`from_variables`](Self::from_variables).
    pub fn from_env() -> Result<Self, StoreEnvError> {
        Self::from_variables(|name| std::env::var_os(name))
    }

    /// Reads variables through `lookup`:
    ///
    /// - `TENURE_STORE`: the store's URL, see [`from_url`](Self::from_url). The word `redis` alone means that
    ///   `TENURE_REDIS_HOST` and the variables beside it name the server, or else `REDIS_HOST` and those beside it, as
    ///   `RedisConfig::from_env` reads them;
    /// - without it, `TENURE_REDIS_HOST` or `TENURE_REDIS_SENTINEL_HOST` means the same as that word;
    /// - `TENURE_PURGE`: the [age](PurgeAge) at which drivers [purge](Self::purging) it, such as `30d`.
    ///
    /// A variable that is set and empty counts as not set. All candidates of an election must be given the same store:
    /// those of two stores know nothing of each other.
    ///
    /// ```
    /// use tenure::store::{AnyStore, StoreEnvError};
    ///
    /// let store = AnyStore::from_variables(|name| (name == "TENURE_STORE").then(|| "memory:".into()))?;
    /// # drop(store);
    /// # Ok::<(), StoreEnvError>(())
    /// ```
    ///
    /// # Errors
    /// If no store is named, or two are, or the one that is named can't be used. The error names the variable, and
    /// never shows a URL or a password.
    pub fn from_variables(
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, StoreEnvError> {
        let age = purge_age(&lookup)?;
        let store = Self::named(lookup)?;
        match age {
            None => Ok(store),
            Some(_) if store.purges().is_some() => Err(StoreEnvError::PurgeTwice),
            Some(age) => Ok(store.purging(age)),
        }
    }

    fn named(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, StoreEnvError> {
        let set = |name: &&str| lookup(name).is_some_and(|value| !value.is_empty());
        let named = lookup(STORE).filter(|value| !value.is_empty());
        let other = REDIS.into_iter().find(set);
        match (named, other) {
            (None, None) => Err(StoreEnvError::NotSet),
            (None, Some(_)) => by_variables(lookup),
            (Some(named), other) => {
                let named = named.into_string().map_err(|_| StoreEnvError::NotUnicode)?;
                match other {
                    _ if named == BY_VARIABLES => by_variables(lookup),
                    Some(other) => Err(StoreEnvError::Contradiction { other }),
                    None => Self::from_url(&named).map_err(StoreEnvError::Refused),
                }
            }
        }
    }
}

fn purge_age(
    lookup: &impl Fn(&str) -> Option<OsString>,
) -> Result<Option<PurgeAge>, StoreEnvError> {
    let Some(value) = lookup(PURGE).filter(|value| !value.is_empty()) else { return Ok(None) };
    // What is not UTF-8 is no age either.
    let age = value.to_string_lossy().parse().map_err(StoreEnvError::Purge)?;
    Ok(Some(age))
}

/// Why the variables that name a store were refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreEnvError {
    /// No variable names a store.
    #[error(
        "no store is named: set TENURE_STORE to its URL, such as redis://127.0.0.1:6379, or \
         TENURE_REDIS_HOST to the host of a Redis server"
    )]
    NotSet,
    /// The URL is not text.
    #[error("TENURE_STORE is not UTF-8; it must be a URL, such as redis://127.0.0.1:6379")]
    NotUnicode,
    /// Two stores are named.
    #[error(
        "TENURE_STORE and {other} are both set: unset one of them, or set TENURE_STORE to redis to use {other}"
    )]
    Contradiction {
        /// The other variable.
        other: &'static str,
    },
    /// The age is none, or too short or too long.
    #[error("TENURE_PURGE can't be used: {0}")]
    Purge(PurgeAgeError),
    /// Two ages are set.
    #[error(
        "TENURE_PURGE is set, and TENURE_STORE has the parameter \"purge\" too: leave one of them"
    )]
    PurgeTwice,
    /// The URL can't be used.
    #[error("TENURE_STORE can't be used: {0}")]
    Refused(StoreUrlError),
    /// A variable of Redis can't be used.
    #[cfg(any(feature = "redis", feature = "fred"))]
    #[error(transparent)]
    Redis(#[from] super::redis::RedisEnvError),
}

#[cfg(feature = "redis")]
fn by_variables(lookup: impl Fn(&str) -> Option<OsString>) -> Result<AnyStore, StoreEnvError> {
    use super::redis::{Redis, RedisConfig};

    let config = RedisConfig::from_variables(&RedisConfig::PREFIXES, lookup)?;
    Ok(AnyStore::new(Redis::new(config)))
}

#[cfg(not(feature = "redis"))]
fn by_variables(_: impl Fn(&str) -> Option<OsString>) -> Result<AnyStore, StoreEnvError> {
    Err(StoreEnvError::Refused(StoreUrlError::NotBuilt { store: "redis", feature: "redis" }))
}
