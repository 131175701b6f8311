//! Each refusal of a store's URL or variables says what to change, and to which value. With it, the store opens.

#![cfg(all(
    feature = "redis",
    feature = "fred",
    feature = "postgres",
    feature = "etcd",
    feature = "sqlite"
))]
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;

use tenure::store::{AnyStore, StoreEnvError};

/// A file that is no certificate.
const NO_PEM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");

/// URLs that are refused; words of the error; and a URL with the change that these words name.
const URLS: &[(&str, &str, &str)] = &[
    ("mysql://h", "write redis://127.0.0.1:6379, for example", "redis://127.0.0.1:6379"),
    ("memory://h", "it must be memory:", "memory:"),
    ("memory:?purge=soon", "such as 30d", "memory:?purge=30d"),
    ("memory:?purge=1h&purge=2h", "leave one of them", "memory:?purge=1h"),
    ("rediss+fred://h", "begin the URL with rediss in place of rediss+fred", "rediss://h"),
    (
        "redis+fred://h?replica_acks=1",
        "no parameter \"replica_acks\", which the store redis has: begin the URL with redis in place of redis+fred",
        "redis://h?replica_acks=1",
    ),
    ("\"redis://h\"", "leave them out", "redis://h"),
    ("redis://u%3Ap", "such as db-1, 10.0.0.7 or [::1]", "redis://db-1"),
    ("redis://h?prefix='app'", "leave them out", "redis://h?prefix=app"),
    ("redis:h", "redis://127.0.0.1:6379, for example", "redis://127.0.0.1:6379"),
    ("redis://", "redis://127.0.0.1:6379, for example", "redis://127.0.0.1:6379"),
    ("redis://p/w:x@h", "/ is written %2F", "redis://p%2Fw:x@h"),
    ("redis://:p/w@h", "/ is written %2F", "redis://:p%2Fw@h"),
    ("redis://h/0#x", "written %23", "redis://:%23@h/0"),
    ("redis://u@h", "if that user needs none, give any", "redis://u:any@h"),
    ("redis+sentinel://h,h/m", "list each of them once", "redis+sentinel://h,i/m"),
    (
        "redis://h,i",
        "as in redis+cluster://10.0.0.1,10.0.0.2,10.0.0.3",
        "redis+cluster://10.0.0.1,10.0.0.2,10.0.0.3",
    ),
    ("redis+sentinel://h", "such as mymaster", "redis+sentinel://h/mymaster"),
    ("redis://h/x", "such as /0", "redis://h/0"),
    ("redis+cluster://h/1", "leave the part after the hosts out", "redis+cluster://h"),
    ("redis://h?prefix={", "set prefix to tenure, for example", "redis://h?prefix=tenure"),
    ("redis://h?replica_acks=all", "such as replica_acks=1", "redis://h?replica_acks=1"),
    ("redis://h?size=3", "leave any other out", "redis://h"),
    ("redis://h?prefix=a&prefix=b", "leave one of them", "redis://h?prefix=a"),
    ("redis://h?replica_wait_ms=5", "or leave \"replica_wait_ms\" out", "redis://h"),
    ("rediss://h?ca=/no/such", "such as ca=/etc/ssl/ca", "rediss://h?ca=CA"),
    ("redis://u:p@h?password_file=CA", "leave one of them", "redis://u:p@h"),
    ("rediss://h?ca=NO_PEM", "one begins with -----BEGIN CERTIFICATE-----", "rediss://h?ca=CA"),
    (
        "rediss://h?ca=CA&server_name=*",
        "such as redis.example.org",
        "rediss://h?ca=CA&server_name=redis.example.org",
    ),
    (
        "postgres://",
        "it must be postgres://user:password@host:5432/database",
        "postgres://user:password@host:5432/database",
    ),
    ("postgres://u:a?b@h", "must be postgres://user:password@host", "postgres://u:a%3Fb@h"),
    ("postgres://u@a%3Ab", "such as db-1, 10.0.0.7 or [::1]", "postgres://u@[::1]"),
    ("postgres://u@h/db#x", "written %23", "postgres://u@h/db%23x"),
    ("postgres://u@h1,h2", "name the primary", "postgres://u@h1"),
    ("postgres://u@%2Frun", "name a host or an address", "postgres://u@127.0.0.1"),
    ("postgres://u@h?channel_binding=require", "leave it out", "postgres://u@h"),
    ("postgres://u@h?size=3", "leave any other out", "postgres://u@h"),
    ("postgres://u@h?table=a&table=b", "leave one of them", "postgres://u@h?table=a"),
    ("postgres://u@h?table='", "such as app_leases", "postgres://u@h?table=app_leases"),
    (
        "postgres://u@h?sslrootcert=CA&sslmode=prefer",
        "such as sslmode=verify-full",
        "postgres://u@h?sslrootcert=CA&sslmode=verify-full",
    ),
    (
        "postgres://u@h?sslrootcert=CA&sslmode=disable",
        "write sslmode=verify-full to encrypt",
        "postgres://u@h?sslrootcert=CA&sslmode=verify-full",
    ),
    (
        "postgres://u@h?sslrootcert=/no/such",
        "name one that this process may read",
        "postgres://u@h?sslrootcert=CA",
    ),
    (
        "postgres://u@h?sslrootcert=NO_PEM",
        "-----BEGIN CERTIFICATE-----",
        "postgres://u@h?sslrootcert=CA",
    ),
    ("etcd:h", "such as etcd://127.0.0.1:2379", "etcd://127.0.0.1:2379"),
    ("etcd://u:a/b@h", "/ is written %2F", "etcd://u:a%2Fb@h"),
    ("etcd://u:p:2379", "after an @ if there is a password", "etcd://u:p@h:2379"),
    ("etcd://h/a#b", "written %23", "etcd://h/a%23b"),
    ("etcd://h,", "such as etcd://127.0.0.1:2379", "etcd://127.0.0.1:2379"),
    ("etcd://h:0", "must be from 1 to 65535", "etcd://h:65535"),
    ("etcd://h/leader", "as in services/app", "etcd://h/services/app"),
    (
        "etcd://h?election_timeout_ms=1",
        "which is 1000 unless it was changed",
        "etcd://h?election_timeout_ms=1000",
    ),
    ("etcd://h?election_timeout_ms=x", "such as 1000", "etcd://h?election_timeout_ms=1000"),
    ("etcd://h?size=3", "leave any other out", "etcd://h"),
    ("etcds://h?ca=CA&ca=CA", "leave one of them", "etcds://h?ca=CA"),
    ("etcd://h?ca=CA", "write etcds://", "etcds://h?ca=CA"),
    ("etcds://h?ca=/no/such", "name one that this process may read", "etcds://h?ca=CA"),
    ("etcd://u:p@h?password_file=/no/such", "leave one of them", "etcd://u:p@h"),
    ("etcd://h?password_file=/no/such", "as in etcd://worker@127.0.0.1:2379", "etcd://h"),
    ("postgres://u:p@h?password_file=/no/such", "leave one of them", "postgres://u:p@h"),
    ("postgres://u@h?sslcert=CA", "or leave \"sslcert\" out", "postgres://u@h"),
    ("sqlite:", "sqlite:///path/file.db", "sqlite:///path/file.db"),
    ("sqlite://file.db", "sqlite:///path/file.db", "sqlite:///path/file.db"),
    ("sqlite:///a#b", "is written %23", "sqlite:///a%23b"),
    ("sqlite:///a?size=3", "leave any other out", "sqlite:///a"),
    (
        "sqlite:///a?share_with_group=1",
        "as in share_with_group=true",
        "sqlite:///a?share_with_group=true",
    ),
];

/// With files in place of `CA` and `NO_PEM`.
fn with_files(url: &str) -> String {
    url.replace("=CA", &format!("={}", ca().display())).replace("NO_PEM", NO_PEM)
}

fn ca() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/remedies.pem"))
}

#[test]
fn a_refused_url_opens_with_its_remedy() {
    for (refused, words, mended) in URLS {
        let error = AnyStore::from_url(&with_files(refused)).unwrap_err().to_string();
        assert!(error.contains(words), "{refused}: {words:?} is not in: {error}");
        if let Err(error) = AnyStore::from_url(&with_files(mended)) {
            panic!("{mended}, the remedy for {refused}, is refused too: {error}");
        }
    }
}

type Variables = &'static [(&'static str, &'static str)];

/// Variables that are refused; words of the error; and those that these words name.
const VARIABLES: &[(Variables, &str, Variables)] = &[
    (
        &[],
        "set TENURE_STORE to its URL, such as redis://127.0.0.1:6379",
        &[("TENURE_STORE", "redis://127.0.0.1:6379")],
    ),
    (
        &[("TENURE_STORE", "redis")],
        "set TENURE_REDIS_HOST or REDIS_HOST, to 127.0.0.1, for example",
        &[("TENURE_STORE", "redis"), ("REDIS_HOST", "127.0.0.1")],
    ),
    (
        &[("TENURE_STORE", "memory:"), ("TENURE_REDIS_HOST", "h")],
        "or set TENURE_STORE to redis",
        &[("TENURE_STORE", "redis"), ("TENURE_REDIS_HOST", "h")],
    ),
    (
        &[("TENURE_STORE", "memory:"), ("TENURE_PURGE", "30")],
        "such as 30d",
        &[("TENURE_STORE", "memory:"), ("TENURE_PURGE", "30d")],
    ),
    (
        &[("TENURE_STORE", "memory:?purge=1h"), ("TENURE_PURGE", "30d")],
        "leave one of them",
        &[("TENURE_STORE", "memory:"), ("TENURE_PURGE", "30d")],
    ),
    (
        &[("TENURE_STORE", "redis//h")],
        "TENURE_STORE can't be used: the store's URL has an unknown scheme",
        &[("TENURE_STORE", "redis://h")],
    ),
    (
        &[("TENURE_REDIS_HOST", "h:1")],
        "such as 127.0.0.1; the port has a variable of its own",
        &[("TENURE_REDIS_HOST", "127.0.0.1"), ("TENURE_REDIS_PORT", "1")],
    ),
    (
        &[("TENURE_STORE", "\u{feff}redis://h")],
        "save its file without one",
        &[("TENURE_STORE", "redis://h")],
    ),
    (
        &[("TENURE_REDIS_HOST", "h"), ("TENURE_REDIS_PORT", "x")],
        "such as 6379",
        &[("TENURE_REDIS_HOST", "h"), ("TENURE_REDIS_PORT", "6379")],
    ),
    (
        &[("TENURE_REDIS_HOST", "h"), ("TENURE_REDIS_SENTINEL_HOST", "s")],
        "unset the other",
        &[("TENURE_REDIS_HOST", "h")],
    ),
    (
        &[("TENURE_REDIS_SENTINEL_HOST", "s"), ("TENURE_REDIS_SENTINEL_NAME", "")],
        "is not: set both, or neither",
        &[("TENURE_REDIS_SENTINEL_HOST", "s"), ("TENURE_REDIS_SENTINEL_NAME", "mymaster")],
    ),
    (
        &[("TENURE_REDIS_SENTINEL_HOST", ","), ("TENURE_REDIS_SENTINEL_NAME", "m")],
        "such as 10.0.0.1,10.0.0.2:26379",
        &[
            ("TENURE_REDIS_SENTINEL_HOST", "10.0.0.1,10.0.0.2:26379"),
            ("TENURE_REDIS_SENTINEL_NAME", "m"),
        ],
    ),
    (
        &[("TENURE_REDIS_HOST", "h"), ("TENURE_REDIS_TLS", "x")],
        "or else false, no, off or 0",
        &[("TENURE_REDIS_HOST", "h"), ("TENURE_REDIS_TLS", "off")],
    ),
    (
        &[("TENURE_REDIS_HOST", "h"), ("TENURE_REDIS_PREFIX", "{")],
        "set prefix to tenure, for example",
        &[("TENURE_REDIS_HOST", "h"), ("TENURE_REDIS_PREFIX", "tenure")],
    ),
];

fn opened(variables: Variables) -> Result<AnyStore, StoreEnvError> {
    let variables: BTreeMap<_, _> = variables.iter().copied().collect();
    AnyStore::from_variables(|name| variables.get(name).map(Into::into))
}

/// A program that prints an error and its sources prints each text once.
#[test]
fn a_refused_url_is_explained_once() {
    for variables in [
        &[("TENURE_STORE", "redis://p/w@h")][..],
        &[("TENURE_STORE", "memory:"), ("TENURE_PURGE", "30")],
    ] {
        let error = opened(variables).unwrap_err();
        assert!(error.source().is_none(), "{error}: {:?}", error.source());
    }
}

#[test]
fn refused_variables_open_with_their_remedy() {
    for (refused, words, mended) in VARIABLES {
        let error = opened(refused).unwrap_err().to_string();
        assert!(error.contains(words), "{refused:?}: {words:?} is not in: {error}");
        if let Err(error) = opened(mended) {
            panic!("{mended:?}, the remedy for {refused:?}, is refused too: {error}");
        }
    }
}
