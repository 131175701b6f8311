//! Broken URLs: no error of a store shows what stood in one, since it may be a password.

use std::error::Error;
use std::fmt::Write;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use tenure::store::AnyStore;
use tenure::store::etcd::EtcdConfig;
use tenure::store::postgres::PostgresConfig;
use tenure::store::redis::RedisConfig;
use tenure::store::sqlite::SqliteConfig;

/// Letters and digits that no parser writes in another way.
const SECRET: &str = "hunter2";

/// URLs as they should be, or nearly so; `*` is the secret.
const URLS: [&str; 14] = [
    "redis://app:*@h1:6379/3?prefix=app&replica_acks=1&replica_wait_ms=50",
    "redis://:*@h1?prefix={app}",
    "redis+sentinel://app:*@h1,h2:26379,[::1]/main/3?sentinel_username=a&sentinel_password=*",
    "redis+cluster://app:*@h1,h2,h3",
    "redis+fred://app:*@h1:6379/3?prefix=app",
    "postgres://app:*@h1:5432/elections?schema=a&table=b",
    "postgresql://app:*@h1/elections?sslmode=disable",
    "postgres://h1/elections?user=app&password=*",
    "mysql://app:*@h1:3306/elections?table=b&ssl-mode=disabled",
    "etcd://app:*@h1,h2:2379,h3/billing",
    "etcd://*?x@h1",
    "sqlite:///var/lib/*/elections.db",
    "*",
    "app:*@h1",
];

/// Everything that an error shows, with the errors behind it.
fn shown(error: &dyn Error) -> String {
    let mut shown = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        writeln!(shown, "{error} {error:?} {error:#?}").unwrap();
        next = error.source();
    }
    shown
}

/// A parser's objection to a text.
type Parser = fn(&str) -> Option<String>;

const PARSERS: [(&str, Parser); 5] = [
    ("any", |url| AnyStore::from_url(url).err().map(|error| shown(&error))),
    ("redis", |url| RedisConfig::from_url(url).err().map(|error| shown(&error))),
    ("postgres", |url| PostgresConfig::from_url(url).err().map(|error| shown(&error))),
    ("etcd", |url| EtcdConfig::from_url(url).err().map(|error| shown(&error))),
    ("sqlite", |url| SqliteConfig::from_url(url).err().map(|error| shown(&error))),
];

fn nothing_is_shown(url: &[String]) -> Result<(), String> {
    let url = url.concat();
    for (store, says) in PARSERS {
        if let Some(shown) = says(&url).filter(|shown| shown.contains(SECRET)) {
            return Err(format!("{store}: {url:?}: {shown}"));
        }
    }
    Ok(())
}

/// A text's characters, among which the secret is one.
fn letters(url: &str) -> Vec<String> {
    let secret = |letter| if letter == '*' { SECRET.to_owned() } else { String::from(letter) };
    url.chars().map(secret).collect()
}

/// Harm to a URL on its way through shells, templates and hands.
#[derive(Clone, Debug)]
enum Harm {
    Lost(Index),
    Cut(Index),
    Doubled(Index, Index),
    Moved(Index, Index),
    Added(Index, String),
}

impl Harm {
    fn any() -> impl Strategy<Value = Self> {
        let letter = select(letters(":/?#@%[]{}&=+, \"'\\\n\0ä*1"));
        prop_oneof![
            4 => any::<Index>().prop_map(Self::Lost),
            1 => any::<Index>().prop_map(Self::Cut),
            2 => any::<(Index, Index)>().prop_map(|(from, to)| Self::Doubled(from, to)),
            2 => any::<(Index, Index)>().prop_map(|(from, to)| Self::Moved(from, to)),
            4 => (any::<Index>(), letter).prop_map(|(at, letter)| Self::Added(at, letter)),
        ]
    }

    fn befalls(&self, url: &mut Vec<String>) {
        if url.is_empty() {
            return;
        }
        let at = |index: &Index| index.index(url.len());
        match self {
            Self::Lost(index) => drop(url.remove(at(index))),
            Self::Cut(index) => url.truncate(at(index)),
            Self::Doubled(one, other) => {
                let (one, other) = (at(one), at(other));
                let part = url[one.min(other)..=one.max(other)].to_vec();
                url.splice(other..other, part);
            }
            Self::Moved(from, to) => {
                let (from, to) = (at(from), at(to));
                let letter = url.remove(from);
                url.insert(to.min(url.len()), letter);
            }
            Self::Added(index, letter) => url.insert(at(index), letter.clone()),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_error_shows_what_stood_in_a_url(
        url in select(URLS.to_vec()),
        harms in proptest::collection::vec(Harm::any(), 0..6),
    ) {
        let mut url = letters(url);
        for harm in &harms {
            harm.befalls(&mut url);
        }
        nothing_is_shown(&url).map_err(TestCaseError::fail)?;
    }
}

/// A host is shown when it can't be reached. What has a colon in it may be a user and a password.
#[test]
fn no_password_is_taken_for_a_host() {
    for url in [
        "etcd://worker:*:2379",
        "etcd://h1,worker:*:2379",
        "redis://worker:*:6379",
        "redis://worker%3A*:6379",
        "redis+cluster://h1,worker%3A*",
        "postgres://app@worker:*:5432/elections",
        "postgres://app@worker%3A*:5432/elections",
    ] {
        let url = letters(url);
        assert!(AnyStore::from_url(&url.concat()).is_err(), "{url:?}");
        nothing_is_shown(&url).unwrap();
    }
}

/// With certificates too, which take longer to load.
#[test]
fn no_error_shows_the_names_of_files() {
    for url in [
        "rediss://app:*@h1?ca=/*",
        "rediss://app:*@h1?server_name=*%20",
        "rediss://app:*@h1?cert=/*&key=/*",
        "postgres://app:*@h1/elections?sslmode=verify-full&sslrootcert=/*",
        "postgres://app:*@h1/elections?sslmode=*",
        "etcds://app:*@h1/billing?ca=/*",
    ] {
        nothing_is_shown(&letters(url)).unwrap();
    }
}
