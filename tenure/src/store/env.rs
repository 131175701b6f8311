//! The store that environment variables name.

use std::ffi::OsString;

use super::AnyStore;
use super::purge::{PURGE, purging};
use crate::SettingError;
#[cfg(feature = "redis-without-tls")]
use crate::settings::Configured;
use crate::settings::values::parsed;
use crate::settings::{Fault, Row, Setting, Variables};

/// The store's URL.
pub(crate) const STORE: Setting<String> = Setting::only_variable("STORE", parsed)
    .must("a URL, or redis", "redis://127.0.0.1:6379")
    .default("the server that `TENURE_REDIS_HOST` or `TENURE_REDIS_SENTINEL_HOST` names")
    .about("the store's URL, or `redis` for the [variables of Redis](redis.md#connect)")
    .secret();
pub(crate) const ROWS: [&Row; 2] = [&STORE.row, &PURGE.row];
/// The word for Redis' variables.
const BY_VARIABLES: &str = "redis";
/// Variables of tenure's own that name a Redis server. `REDIS_HOST` alone is not among them: it may
/// be the application's cache, and a candidate at another store than the others' would be a second
/// leader.
const REDIS: [&str; 2] = ["TENURE_REDIS_HOST", "TENURE_REDIS_SENTINEL_HOST"];

impl AnyStore {
    /// The store that environment variables name; see [`from_variables`](Self::from_variables).
    ///
    /// # Errors
    /// As for [`from_variables`](Self::from_variables).
    pub fn from_env() -> Result<Self, SettingError> {
        Self::from_variables(|name| std::env::var_os(name))
    }

    /// Reads variables through `lookup`:
    ///
    /// - `TENURE_STORE`: the store's URL, see [`from_url`](Self::from_url). The word `redis` alone
    ///   means that `TENURE_REDIS_HOST` and the variables beside it name the server, or else
    ///   `REDIS_HOST` and those beside it, as `RedisConfig::from_env` reads them;
    /// - without it, `TENURE_REDIS_HOST` or `TENURE_REDIS_SENTINEL_HOST` means the same as that
    ///   word;
    /// - `TENURE_PURGE`: the [age](super::PurgeAge) at which drivers [purge](Self::purging) it,
    ///   such as `30d`.
    ///
    /// A variable that is set and empty counts as not set. All candidates of an election must be
    /// given the same store: those of two stores know nothing of each other.
    ///
    /// ```
    /// use tenure::{SettingError, store::AnyStore};
    ///
    /// let store = AnyStore::from_variables(|name| (name == "TENURE_STORE").then(|| "memory:".into()))?;
    /// # drop(store);
    /// # Ok::<(), SettingError>(())
    /// ```
    ///
    /// # Errors
    /// If no store is named, or two are, or the one that is named can't be used. The error names
    /// the variable, and never shows a URL or a password.
    pub fn from_variables(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, SettingError> {
        let variables = Variables { prefixes: &["TENURE_"], lookup: &lookup };
        let mut given = variables.given(&ROWS);
        let age = given.take(&PURGE)?;
        let is_set = |name: &&str| lookup(name).is_some_and(|value| !value.is_empty());
        let other = REDIS.into_iter().find(is_set);
        let store = match (given.take_verbatim(&STORE)?, other) {
            (None, None) => Err(given.refuse(&STORE.row, Fault::mend(
                "no store is named",
                "set TENURE_STORE to its URL, such as redis://127.0.0.1:6379, or TENURE_REDIS_HOST to the host of a Redis \
                 server",
            ))),
            (None, Some(_)) => by_variables(lookup),
            (Some(named), _) if named == BY_VARIABLES => by_variables(lookup),
            (Some(_), Some(other)) => Err(given.refuse(&STORE.row, Fault::mend(
                format!("{other} is set too"),
                format!("unset one of them, or set TENURE_STORE to redis to use {other}"),
            ))),
            (Some(named), None) => Self::from_url(&named).map_err(|error| error.within("TENURE_STORE")),
        }?;
        match age {
            None => Ok(store),
            Some(_) if store.purges().is_some() => Err(given.refuse(
                &PURGE.row,
                Fault::mend(
                    "TENURE_STORE has the parameter \"purge\" too",
                    "leave one of them out",
                ),
            )),
            Some(age) => purging(store, age).map_err(|fault| given.refuse(&PURGE.row, fault)),
        }
    }
}

/// The variables of tenure's own that name a Redis server, or say how to use it.
#[cfg(feature = "redis-without-tls")]
pub(crate) fn redis_variables() -> Vec<String> {
    let rows = super::redis::RedisConfig::TABLE.settings;
    let names = rows.iter().filter_map(|row| row.variable);
    names.map(|name| format!("TENURE_REDIS_{name}")).collect()
}

#[cfg(not(feature = "redis-without-tls"))]
pub(crate) fn redis_variables() -> Vec<String> {
    Vec::new()
}

#[cfg(feature = "redis-without-tls")]
fn by_variables(lookup: impl Fn(&str) -> Option<OsString>) -> Result<AnyStore, SettingError> {
    use super::redis::{Redis, RedisConfig};

    let config = RedisConfig::from_variables(RedisConfig::TABLE.prefixes, lookup)?;
    Ok(AnyStore::new(Redis::new(config)))
}

#[cfg(not(feature = "redis-without-tls"))]
fn by_variables(_: impl Fn(&str) -> Option<OsString>) -> Result<AnyStore, SettingError> {
    super::url::redis("redis:")
}
