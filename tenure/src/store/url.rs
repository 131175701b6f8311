//! Any store by its URL.

use super::purge::{PURGE, purging};
use super::{AnyStore, Memory};
use crate::SettingError;
use crate::settings::{Configured, Given, Hosts, Mistake, Path, Scheme, Table};

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
    /// | `kubernetes` | Leases of Kubernetes | `kubernetes` |
    /// | `mysql`, `mariadb` | tables in MariaDB or MySQL | `mysql` |
    /// | `sqlite` | a file, on Linux | `sqlite` |
    ///
    /// With the parameter `purge=30d`, drivers [purge](Self::purging) the store at that
    /// [age](super::PurgeAge). The rest is read by the `from_url` of that store's configuration,
    /// such as `RedisConfig::from_url`. Connects to nothing yet, and needs no runtime yet.
    ///
    /// ```
    /// use tenure::{Candidate, store::AnyStore};
    ///
    /// let store = AnyStore::from_url("memory:")?;
    /// let builder = Candidate::builder(store, "nightly-report");
    /// # drop(builder);
    ///
    /// let error = AnyStore::from_url("mssql://app:hunter2@db/app").unwrap_err().to_string();
    /// assert!(error.contains("known are memory, redis") && !error.contains("hunter2"));
    /// # Ok::<(), tenure::SettingError>(())
    /// ```
    ///
    /// # Errors
    /// If the scheme is unknown, or of a store that this program was built without, or the store's
    /// own configuration refuses the rest. The error shows nothing of the text, which may hold a
    /// password.
    pub fn from_url(url: &str) -> Result<Self, SettingError> {
        Mistake::refuse(URL, url)?;
        let scheme = url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        if scheme.as_deref() == Some("rediss+fred") {
            return Err(fred_lacks("encryption", "rediss+fred", "rediss"));
        }
        let open = SCHEMES.iter().find(|(known, _)| Some(*known) == scheme.as_deref());
        let (_, open) = open.ok_or_else(|| {
            let known: Vec<_> = SCHEMES.iter().map(|(scheme, _)| *scheme).collect();
            let known = known.join(", ");
            let reason = format!("it has an unknown scheme, or none; known are {known}");
            SettingError::about(URL, reason, "write redis://127.0.0.1:6379, for example")
        })?;
        open(url)
    }
}

/// A URL's name in errors if its store is not known.
const URL: &str = "the store's URL";

type Opened = Result<AnyStore, SettingError>;

type Open = fn(&str) -> Opened;

const SCHEMES: [(&str, Open); 16] = [
    ("memory", memory),
    ("redis", redis),
    ("rediss", redis),
    ("redis+sentinel", redis),
    ("rediss+sentinel", redis),
    ("redis+cluster", redis),
    ("rediss+cluster", redis),
    ("redis+fred", fred),
    ("postgres", postgres),
    ("postgresql", postgres),
    ("etcd", etcd),
    ("etcds", etcd),
    ("sqlite", sqlite),
    ("kubernetes", kubernetes),
    ("mysql", mysql),
    ("mariadb", mysql),
];

/// Opens the store of a configuration, with the setting that all stores have.
fn opened<C: Configured>(url: &str, store: impl FnOnce(C) -> AnyStore) -> Opened {
    let mut given = Given::of_url(C::TABLE, &[&PURGE.row], url)?;
    let age = given.take(&PURGE)?;
    let config = C::read(&mut given)?;
    given.finish()?;
    let store = store(config);
    match age {
        Some(age) => purging(store, age).map_err(|fault| given.refuse(&PURGE.row, fault)),
        None => Ok(store),
    }
}

struct NoSettings;

impl Configured for NoSettings {
    const TABLE: &'static Table = &Table {
        store: "memory",
        schemes: &[Scheme {
            names: &["memory"],
            encrypted: None,
            form: ":",
            example: ":?purge=30d",
            hosts: Hosts::None("it has more than its scheme"),
            path: Path::None,
        }],
        settings: &[],
        foreign: &[],
        prefixes: &[],
    };

    fn read(_: &mut Given) -> Result<Self, SettingError> {
        Ok(Self)
    }
}

fn memory(url: &str) -> Opened {
    opened(url, |NoSettings| AnyStore::new(Memory::new()))
}

/// fred's store lacks what the URL asks for, and that of redis-rs has it.
fn fred_lacks(lacks: &str, scheme: &str, instead: &str) -> SettingError {
    SettingError::about(
        URL,
        format!("the store fred has no {lacks}, which the store redis has"),
        format!(
            "begin the URL with {instead} in place of {scheme}, and turn on the feature \"redis\" of tenure"
        ),
    )
}

/// The functions for stores that this program was built without: which feature has them, and which
/// one to turn on.
macro_rules! not_built {
    ($($built:literal, $feature:literal: $name:ident)*) => {
        $(#[cfg(not(feature = $built))]
        pub(super) fn $name(_: &str) -> Opened {
            let reason = format!("this program was built without the store {}", $feature);
            let remedy = format!("turn on the feature {:?} of tenure", $feature);
            Err(SettingError::about(URL, reason, remedy))
        })*
    };
}

not_built! {
    "redis-without-tls", "redis": redis
    "fred", "fred": fred
    "postgres", "postgres": postgres
    "etcd", "etcd": etcd
    "sqlite", "sqlite": sqlite
    "kubernetes", "kubernetes": kubernetes
    "mysql", "mysql": mysql
}

#[cfg(feature = "redis-without-tls")]
fn redis(url: &str) -> Opened {
    use super::redis::{Redis, RedisConfig};

    opened(url, |config: RedisConfig| AnyStore::new(Redis::new(config)))
}

#[cfg(feature = "fred")]
fn fred(url: &str) -> Opened {
    use super::redis::{Fred, RedisConfig};

    let (_, rest) = url.split_once(':').unwrap_or_default();
    let url = super::Secret::new(format!("redis:{rest}"));
    let mut waits = false;
    let store = opened(url.reveal(), |config: RedisConfig| {
        waits = config.waits_for_replicas();
        AnyStore::new(Fred::new(config))
    })?;
    if waits {
        return Err(fred_lacks("parameter \"replica_acks\"", "redis+fred", "redis"));
    }
    Ok(store)
}

#[cfg(feature = "postgres")]
fn postgres(url: &str) -> Opened {
    use super::postgres::{Postgres, PostgresConfig};

    opened(url, |config: PostgresConfig| AnyStore::new(Postgres::new(config)))
}

#[cfg(feature = "etcd")]
fn etcd(url: &str) -> Opened {
    use super::etcd::{Etcd, EtcdConfig};

    opened(url, |config: EtcdConfig| AnyStore::new(Etcd::new(config)))
}

#[cfg(feature = "kubernetes")]
fn kubernetes(url: &str) -> Opened {
    use super::kubernetes::{Kubernetes, KubernetesConfig};

    opened(url, |config: KubernetesConfig| AnyStore::new(Kubernetes::new(config)))
}

#[cfg(feature = "mysql")]
fn mysql(url: &str) -> Opened {
    use super::mysql::{Mysql, MysqlConfig};

    opened(url, |config: MysqlConfig| AnyStore::new(Mysql::new(config)))
}

#[cfg(all(feature = "sqlite", target_os = "linux"))]
fn sqlite(url: &str) -> Opened {
    use super::sqlite::{Sqlite, SqliteConfig};

    opened(url, |config: SqliteConfig| AnyStore::new(Sqlite::new(config)))
}

#[cfg(all(feature = "sqlite", not(target_os = "linux")))]
fn sqlite(_: &str) -> Opened {
    let remedy = "on this system, name another one, such as redis://127.0.0.1:6379";
    Err(SettingError::about(URL, "the store sqlite exists on Linux only", remedy))
}
