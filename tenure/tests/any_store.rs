//! Stores by URL and by environment variables.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use tenure::SettingError;
use tenure::store::{AnyStore, PurgeAge, Store};

/// URLs with their stores, and whether this program was built with them.
const URLS: [(&str, &str, bool); 17] = [
    ("memory:", "memory", true),
    ("memory://", "memory", true),
    ("redis://127.0.0.1", "redis", cfg!(feature = "redis-without-tls")),
    ("REDIS://127.0.0.1", "redis", cfg!(feature = "redis-without-tls")),
    ("rediss://:hunter2@h1/3", "redis", cfg!(feature = "redis-without-tls")),
    ("redis+sentinel://h1,h2,h3/main", "redis", cfg!(feature = "redis-without-tls")),
    ("redis+cluster://h1,h2,h3", "redis", cfg!(feature = "redis-without-tls")),
    ("redis+fred://h1:6379/3?prefix=app", "fred", cfg!(feature = "fred")),
    ("postgres://app:hunter2@h1/app", "postgres", cfg!(feature = "postgres")),
    ("postgresql://app@h1", "postgres", cfg!(feature = "postgres")),
    ("etcd://h1,h2,h3/billing", "etcd", cfg!(feature = "etcd")),
    ("etcd://app:hunter2@h1", "etcd", cfg!(feature = "etcd")),
    ("mysql://app:hunter2@h1/app", "mysql", cfg!(feature = "mysql")),
    ("mariadb://app@h1/app", "mysql", cfg!(feature = "mysql")),
    ("sqlite:///tmp/elections.db", "sqlite", HAS_SQLITE),
    ("sqlite:///a%20b", "sqlite", HAS_SQLITE),
    ("sqlite:///a?share_with_group=true", "sqlite", HAS_SQLITE),
];

const HAS_SQLITE: bool = cfg!(all(feature = "sqlite", target_os = "linux"));

/// Everything that an error shows, with the errors behind it.
fn shown(error: &dyn Error) -> String {
    let behind = error.source().map(shown).unwrap_or_default();
    format!("{error}\n{error:?}\n{behind}")
}

#[test]
fn the_scheme_names_the_store() {
    for (url, store, is_built) in URLS {
        // Refused for another reason.
        if url.starts_with("rediss") && !cfg!(feature = "tls") {
            continue;
        }
        match AnyStore::from_url(url) {
            Ok(opened) => assert!(is_built && opened.traits().name == store, "{url}: {opened:?}"),
            Err(error) => {
                let expected = format!(
                    "the store's URL can't be used: this program was built without the store {store}; turn on the \
                     feature {store:?} of tenure"
                );
                assert!(!is_built && error.to_string() == expected, "{url}: {error}");
            }
        }
    }
}

#[test]
fn unknown_schemes_list_the_known_ones() {
    let known = "the store's URL can't be used: it has an unknown scheme, or none; known are memory, redis, rediss, \
        redis+sentinel, rediss+sentinel, redis+cluster, rediss+cluster, redis+fred, postgres, \
        postgresql, etcd, etcds, sqlite, kubernetes, mysql, mariadb; write redis://127.0.0.1:6379, for example";
    for url in
        ["", "hunter2", "app:hunter2@h1", "mssql://app:hunter2@h1/a", "redis+hunter2://h1", "://"]
    {
        let error = AnyStore::from_url(url).unwrap_err();
        assert_eq!(error.to_string(), known, "{url:?}");
        assert!(!shown(&error).contains("hunter2"));
    }
}

const DAY: Duration = Duration::from_secs(24 * 3_600);

#[test]
fn the_age_of_a_purge_is_read_from_the_url() {
    let age = |url: &str| AnyStore::from_url(url).map(|store| store.purges());
    assert_eq!(age("memory:").unwrap(), None);
    for (url, days) in [("memory:?purge=30d", 30), ("memory://?purge=24h", 1)] {
        assert_eq!(age(url).unwrap().unwrap().get(), days * DAY, "{url}");
    }
}

#[cfg(feature = "redis-without-tls")]
#[test]
fn the_age_of_a_purge_stands_beside_other_parameters() {
    for url in [
        "redis://h1/0?purge=2d&prefix=app",
        "redis://h1/0?prefix=app&purge=2d",
        "redis://h1/0?purge=2d",
    ] {
        let store = AnyStore::from_url(url).unwrap();
        assert_eq!(store.purges().map(PurgeAge::get), Some(2 * DAY), "{url}");
    }
}

#[test]
fn the_age_of_a_purge_is_read_from_the_environment() {
    let age = |store: &str, purge: &str| {
        let lookup = |name: &str| match name {
            "TENURE_STORE" => Some(store.into()),
            "TENURE_PURGE" => Some(purge.into()),
            _ => None,
        };
        AnyStore::from_variables(lookup).map(|store| store.purges().map(PurgeAge::get))
    };
    assert_eq!(age("memory:", "").unwrap(), None);
    assert_eq!(age("memory:", "30d").unwrap(), Some(30 * DAY));
}

/// The named store.
fn named(variables: &[(&str, &str)]) -> Result<&'static str, SettingError> {
    let variables: BTreeMap<_, _> = variables.iter().copied().collect();
    let lookup = |name: &str| variables.get(name).map(Into::into);
    Ok(AnyStore::from_variables(lookup)?.traits().name)
}

#[test]
fn the_environment_names_the_store() {
    assert_eq!(named(&[("TENURE_STORE", "memory:")]).unwrap(), "memory");
    // That of the application, which may be a cache.
    let cache = ("REDIS_HOST", "cache");
    assert_eq!(named(&[("TENURE_STORE", "memory:"), cache]).unwrap(), "memory");
    for nothing in [&[][..], &[cache], &[("TENURE_STORE", "")], &[("TENURE_REDIS_HOST", "")]] {
        let error = named(nothing).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "TENURE_STORE is missing: no store is named; set TENURE_STORE to its URL, such as"
            ),
            "{error}"
        );
    }
}

#[cfg(feature = "redis-without-tls")]
#[test]
fn variables_of_redis_name_the_store() {
    assert_eq!(named(&[("TENURE_REDIS_HOST", "h1")]).unwrap(), "redis");
    let sentinels =
        [("TENURE_REDIS_SENTINEL_HOST", "h1,h2,h3"), ("TENURE_REDIS_SENTINEL_NAME", "main")];
    assert_eq!(named(&sentinels).unwrap(), "redis");
    let word = ("TENURE_STORE", "redis");
    assert_eq!(named(&[word, ("REDIS_HOST", "h1")]).unwrap(), "redis");
    assert_eq!(named(&[word, ("TENURE_REDIS_HOST", "h1")]).unwrap(), "redis");
}

#[cfg(not(feature = "redis-without-tls"))]
#[test]
fn variables_of_redis_need_its_feature() {
    for variables in [("TENURE_REDIS_HOST", "h1"), ("TENURE_STORE", "redis")] {
        let error = named(&[variables]).unwrap_err().to_string();
        assert!(error.contains("turn on the feature \"redis\""), "{error}");
    }
}
