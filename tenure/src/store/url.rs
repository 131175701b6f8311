//! Any store by its URL.

use std::borrow::Cow;

use super::{AnyStore, Memory, PurgeAge, PurgeAgeError, TextError};

impl AnyStore {
    /// The store that a URL names by its scheme:
    ///
    /// | scheme | store | feature |
    /// |---|---|---|
    /// | `memory` | a new [`Memory`], as `memory:` | always on |
    /// | `redis`, `rediss`, `redis+sentinel`, `rediss+sentinel`, `redis+cluster`, `rediss+cluster` | Redis or Valkey, through redis-rs | `redis` |
    /// | `redis+fred` | one Redis or Valkey server, unencrypted, through fred | `fred` |
    /// | `postgres`, `postgresql` | a lease table | `postgres` |
    /// | `etcd`, `etcds` | etcd | `etcd` |
    /// | `sqlite` | a file, on Linux | `sqlite` |
    ///
    /// With the parameter `purge=30d`, drivers [purge](Self::purging) the store at that [age](PurgeAge). The rest is read
    /// by the `from_url` of that store's configuration, such as `RedisConfig::from_url`. Connects to nothing yet, and
    /// needs no runtime yet.
    ///
    /// ```
    /// use tenure::{Candidate, store::AnyStore};
    ///
    /// let store = AnyStore::from_url("memory:")?;
    /// let builder = Candidate::builder(store, "nightly-report");
    /// # drop(builder);
    ///
    /// let error = AnyStore::from_url("mysql://app:hunter2@db/app").unwrap_err().to_string();
    /// assert!(error.contains("known are memory, redis") && !error.contains("hunter2"));
    /// # Ok::<(), tenure::store::StoreUrlError>(())
    /// ```
    ///
    /// # Errors
    /// If the scheme is unknown, or of a store that this program was built without, or the store's own configuration
    /// refuses the rest. The error shows nothing of the text, which may hold a password.
    pub fn from_url(url: &str) -> Result<Self, StoreUrlError> {
        TextError::check(url)?;
        let (url, purges) = without_purge(url)?;
        let store = Self::opened(&url)?;
        Ok(match purges {
            Some(age) => store.purging(age),
            None => store,
        })
    }

    fn opened(url: &str) -> Opened {
        let Some((scheme, rest)) = url.split_once(':') else { return Err(StoreUrlError::Scheme) };
        let known = SCHEMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(scheme));
        let (_, kind) = known.ok_or(StoreUrlError::Scheme)?;
        match kind {
            Kind::Memory if matches!(rest, "" | "//") => Ok(Self::new(Memory::new())),
            Kind::Memory => Err(StoreUrlError::Memory),
            Kind::Redis => redis(url),
            Kind::Fred => fred(rest),
            Kind::EncryptedFred => Err(StoreUrlError::FredLacks {
                lacks: "encryption",
                scheme: "rediss+fred",
                instead: "rediss",
            }),
            Kind::Postgres => postgres(url),
            Kind::Etcd => etcd(url),
            Kind::Sqlite => sqlite(url),
        }
    }
}

/// Why a store's URL was refused. Shows nothing of the URL: in a broken one, a password may be anywhere.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreUrlError {
    /// What surely is a mistake, in the whole URL.
    #[error("the store's URL can't be read: {0}")]
    Text(#[from] TextError),
    /// No scheme, or an unknown one.
    #[error(
        "the store's URL has an unknown scheme, or none; known are {}: write redis://127.0.0.1:6379, for example",
        known()
    )]
    Scheme,
    /// The scheme of a store that is not a part of this program.
    #[error(
        "this program was built without the store {store}: turn on the feature \"{feature}\" of tenure"
    )]
    NotBuilt {
        /// The store.
        store: &'static str,
        /// The feature of the crate `tenure` that adds it.
        feature: &'static str,
    },
    /// A store of Linux on another system.
    #[error(
        "the store sqlite exists on Linux only; on this system, name another one, such as redis://127.0.0.1:6379"
    )]
    LinuxOnly,
    /// A store in memory has neither a host nor a path.
    #[error("the URL of a store in memory has more than its scheme; it must be memory:")]
    Memory,
    /// fred's store lacks what the URL asks for, and that of redis-rs has it.
    #[error(
        "the store fred has no {lacks}, which the store redis has: begin the URL with {instead} in place of \
         {scheme}, and turn on the feature \"redis\" of tenure"
    )]
    FredLacks {
        /// What it lacks.
        lacks: &'static str,
        /// The scheme that was given.
        scheme: &'static str,
        /// The scheme that would do.
        instead: &'static str,
    },
    /// The parameter `purge` has a value that it can't have.
    #[error("the store's URL can't be used: {0}")]
    Purge(#[from] PurgeAgeError),
    /// The parameter `purge` is there twice.
    #[error("the store's URL has the parameter \"purge\" twice; leave one of them")]
    PurgeTwice,
    /// The URL of a Redis store can't be used.
    #[cfg(any(feature = "redis", feature = "fred"))]
    #[error(transparent)]
    Redis(#[from] super::redis::RedisConfigError),
    /// The URL of a PostgreSQL store can't be used.
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Postgres(#[from] super::postgres::PostgresConfigError),
    /// The URL of an etcd store can't be used.
    #[cfg(feature = "etcd")]
    #[error(transparent)]
    Etcd(#[from] super::etcd::EtcdConfigError),
    /// The URL of a SQLite store can't be used.
    #[cfg(all(feature = "sqlite", target_os = "linux"))]
    #[error(transparent)]
    Sqlite(#[from] super::sqlite::SqliteUrlError),
}

enum Kind {
    Memory,
    Redis,
    Fred,
    /// Known, so that its error says what would do.
    EncryptedFred,
    Postgres,
    Etcd,
    Sqlite,
}

const SCHEMES: [(&str, Kind); 14] = [
    ("memory", Kind::Memory),
    ("redis", Kind::Redis),
    ("rediss", Kind::Redis),
    ("redis+sentinel", Kind::Redis),
    ("rediss+sentinel", Kind::Redis),
    ("redis+cluster", Kind::Redis),
    ("rediss+cluster", Kind::Redis),
    ("redis+fred", Kind::Fred),
    ("rediss+fred", Kind::EncryptedFred),
    ("postgres", Kind::Postgres),
    ("postgresql", Kind::Postgres),
    ("etcd", Kind::Etcd),
    ("etcds", Kind::Etcd),
    ("sqlite", Kind::Sqlite),
];

fn known() -> String {
    let usable = SCHEMES.iter().filter(|(_, kind)| !matches!(kind, Kind::EncryptedFred));
    usable.map(|(scheme, _)| *scheme).collect::<Vec<_>>().join(", ")
}

/// The URL without the parameter that all stores have, and its value.
fn without_purge(url: &str) -> Result<(Cow<'_, str>, Option<PurgeAge>), StoreUrlError> {
    let (address, rest) = url.split_once('?').unwrap_or((url, ""));
    let (query, fragment) = rest.split_at(rest.find('#').unwrap_or(rest.len()));
    let (mut age, mut others) = (None, Vec::new());
    for parameter in query.split('&') {
        match parameter.strip_prefix("purge=") {
            None => others.push(parameter),
            Some(_) if age.is_some() => return Err(StoreUrlError::PurgeTwice),
            Some(text) => age = Some(text.parse()?),
        }
    }
    Ok(match (age, others.join("&")) {
        (None, _) => (Cow::Borrowed(url), None),
        (age, others) if others.is_empty() => (Cow::Owned(format!("{address}{fragment}")), age),
        (age, others) => (Cow::Owned(format!("{address}?{others}{fragment}")), age),
    })
}

type Opened = Result<AnyStore, StoreUrlError>;

/// The function for a store that this program was built without.
macro_rules! not_built {
    ($name:ident($($argument:ty),*), $store:literal, $feature:literal) => {
        #[cfg(not(feature = $feature))]
        fn $name($(_: $argument),*) -> Opened {
            Err(StoreUrlError::NotBuilt { store: $store, feature: $feature })
        }
    };
}

not_built!(redis(&str), "redis", "redis");
not_built!(fred(&str), "fred", "fred");
not_built!(postgres(&str), "postgres", "postgres");
not_built!(etcd(&str), "etcd", "etcd");

#[cfg(feature = "redis")]
fn redis(url: &str) -> Opened {
    use super::redis::{Redis, RedisConfig};

    Ok(AnyStore::new(Redis::new(RedisConfig::from_url(url)?)))
}

#[cfg(feature = "fred")]
fn fred(rest: &str) -> Opened {
    use super::redis::{Fred, RedisConfig};

    let url = super::Secret::new(format!("redis:{rest}"));
    let config = RedisConfig::from_url(url.reveal())?;
    if config.waits_for_replicas() {
        let lacks = "parameter \"replica_acks\"";
        return Err(StoreUrlError::FredLacks { lacks, scheme: "redis+fred", instead: "redis" });
    }
    Ok(AnyStore::new(Fred::new(config)))
}

#[cfg(feature = "postgres")]
fn postgres(url: &str) -> Opened {
    use super::postgres::{Postgres, PostgresConfig};

    Ok(AnyStore::new(Postgres::new(PostgresConfig::from_url(url)?)))
}

#[cfg(feature = "etcd")]
fn etcd(url: &str) -> Opened {
    use super::etcd::{Etcd, EtcdConfig};

    Ok(AnyStore::new(Etcd::new(EtcdConfig::from_url(url)?)))
}

#[cfg(all(feature = "sqlite", target_os = "linux"))]
fn sqlite(url: &str) -> Opened {
    use super::sqlite::{Sqlite, SqliteConfig};

    Ok(AnyStore::new(Sqlite::new(SqliteConfig::from_url(url)?)))
}

#[cfg(not(all(feature = "sqlite", target_os = "linux")))]
fn sqlite(_: &str) -> Opened {
    Err(if cfg!(target_os = "linux") {
        StoreUrlError::NotBuilt { store: "sqlite", feature: "sqlite" }
    } else {
        StoreUrlError::LinuxOnly
    })
}
