//! Each refusal of a store's URL or of variables says what is wrong and what to change, and shows
//! no secret. With the change, the store opens.

#![cfg(all(
    feature = "redis",
    feature = "fred",
    feature = "postgres",
    feature = "etcd",
    feature = "mysql",
    feature = "sqlite"
))]
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::error::Error;

use tenure::store::etcd::EtcdConfig;
use tenure::store::postgres::PostgresConfig;
use tenure::store::redis::RedisConfig;
use tenure::store::sqlite::SqliteConfig;
use tenure::{Candidate, SettingError, store::AnyStore};

/// The rows of a table, with what stands for characters that can't be seen and for files.
fn rows(table: &str) -> Vec<[String; 3]> {
    let ca = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/refusals/ca.pem");
    let no_pem = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let whole = |text: &str| {
        let seen = text.replace("\\n", "\n").replace("\\u{20}", " ");
        seen.replace("=CA", &format!("={ca}")).replace("NO_PEM", no_pem)
    };
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let rows: Vec<_> = lines
        .map(|line| match *line.split(" | ").collect::<Vec<_>>() {
            [refused, says, mended] => [whole(refused), says.to_owned(), whole(mended)],
            _ => panic!("no three columns: {line}"),
        })
        .collect();
    assert!(rows.len() > 30, "{}", rows.len());
    rows
}

/// The text of an error; a program that prints its sources too prints each text once.
fn said(given: &str, error: &SettingError) -> String {
    assert!(error.source().is_none(), "{given}: {error}");
    let said = error.to_string();
    assert!(!format!("{said} {error:?}").contains("hush"), "{given}: {error:?}");
    let is_shown = |value| said.contains(&format!("{value:?}"));
    assert!(error.value().is_none_or(is_shown), "{given}: {error:?}");
    for part in [error.setting(), error.reason(), error.remedy()] {
        assert!(!part.is_empty() && said.contains(part), "{given}: {error:?}");
    }
    said
}

#[test]
fn a_refused_url_opens_with_its_remedy() {
    for [refused, says, mended] in rows(include_str!("urls.txt")) {
        let said = said(&refused, &AnyStore::from_url(&refused).unwrap_err());
        assert!(said.contains(&says), "{refused}: {says:?} is not in: {said}");
        if let Err(error) = AnyStore::from_url(&mended) {
            panic!("{mended}, the remedy for {refused}, is refused too: {error}");
        }
    }
}

#[test]
fn each_store_refuses_the_schemes_of_others() {
    for url in
        ["hush", "hush://h", "http://u:hush@h", "u:hush@etcd://h", "redis//hush", "127.0.0.1"]
    {
        for (store, error) in [
            ("Redis", RedisConfig::from_url(url).unwrap_err()),
            ("PostgreSQL", PostgresConfig::from_url(url).unwrap_err()),
            ("etcd", EtcdConfig::from_url(url).unwrap_err()),
            ("SQLite", SqliteConfig::from_url(url).unwrap_err()),
        ] {
            let expected = format!("the {store} URL can't be used: its scheme must be one of ");
            assert!(said(url, &error).starts_with(&expected), "{url}: {error}");
        }
    }
    let error = RedisConfig::from_url(" redis://:hush@h").unwrap_err();
    assert!(said("a space", &error).starts_with("the Redis URL can't be used: white space"));
    // Only any store has it.
    let error = RedisConfig::from_url("redis://h?purge=30d").unwrap_err();
    assert!(said("an age", &error).contains("its parameter 1 is unknown"), "{error}");
}

fn started(variables: &str) -> Result<(), SettingError> {
    let mut set = BTreeMap::from([("TENURE_STORE", "redis"), ("TENURE_KEY", "job")]);
    set.extend(variables.split("; ").filter_map(|variable| variable.split_once('=')));
    let value = |text: &&str| text.replace("\\u{feff}", "\u{feff}").into();
    Candidate::from_variables(|name| set.get(name).map(value)).map(drop)
}

#[test]
fn refused_variables_are_accepted_with_their_remedy() {
    for [refused, says, mended] in rows(include_str!("variables.txt")) {
        let said = said(&refused, &started(&refused).unwrap_err());
        assert!(said.contains(&says), "{refused}: {says:?} is not in: {said}");
        if let Err(error) = started(&mended) {
            panic!("{mended}, the remedy for {refused}, is refused too: {error}");
        }
    }
}
