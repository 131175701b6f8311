use super::*;
use crate::store::Key;
use crate::store::credentials::{Identity, Login};

fn read(url: &str) -> RedisConfig {
    RedisConfig::from_url(url).unwrap()
}

/// The user and the password of the next connection.
fn login(login: &Login) -> (Option<String>, Option<String>) {
    let Identity { username, password } = login.at_once();
    (username, password.map(|password| password.reveal().to_owned()))
}

fn addresses(listed: &[(&str, u16)]) -> Vec<Address> {
    listed.iter().map(|&(host, port)| Address::new(host, port)).collect()
}

#[test]
fn reads_every_part_of_a_url() {
    let config =
        read("redis://me:p%40ss@example.org:7000/3?prefix=app&replica_acks=2&replica_wait_ms=50");
    assert_eq!(config.servers, Servers::One(Address::new("example.org", 7000)));
    assert_eq!(config.database, 3);
    assert_eq!(RedisConfig::new("h", 1).database(3).unwrap().database, 3);
    assert_eq!(login(&config.login), (Some("me".into()), Some("p@ss".into())));
    assert_eq!((config.replicas.least, config.replicas.within.as_millis()), (2, 50));
    assert_eq!(config.record(&Key::new("a:b").unwrap()), "{app}:leader:a:b");
    assert_eq!(config.past(), "{app}:past");
    assert!(!format!("{config:?}").contains("p@ss"));
    assert_eq!(read("redis://[::1]").servers, Servers::One(Address::new("::1", 6379)));
}

#[test]
fn reads_lists_of_sentinels_and_of_nodes() {
    let config = read(
        "redis+sentinel://me:a,b@h1,h2:7,[::1]:8/main/3?sentinel_username=s&sentinel_password=t",
    );
    let listed = addresses(&[("h1", 26379), ("h2", 7), ("::1", 8)]);
    assert_eq!(config.servers, Servers::Sentinels { listed, primary: "main".into() });
    assert_eq!(config.database, 3);
    assert_eq!(login(&config.login), (Some("me".into()), Some("a,b".into())));
    assert_eq!(login(&config.sentinel_login), (Some("s".into()), Some("t".into())));
    let config = read("redis+cluster://h1:1,h2?prefix=app");
    let listed = addresses(&[("h1", 1), ("h2", 6379)]);
    assert_eq!(config.servers, Servers::Cluster { listed });
    assert_eq!(
        config.clone().database(3).unwrap_err().to_string(),
        "database is \"3\": a cluster has no database but 0; set database to 0, for example"
    );
    assert_eq!(config.prefix, "app");
}
