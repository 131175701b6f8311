use super::*;
use crate::store::Key;
use crate::store::credentials::Identity;

fn read(url: &str) -> RedisConfig {
    RedisConfig::from_url(url).unwrap()
}

/// The user and the password of the next connection.
fn login(login: &Login) -> (Option<String>, Option<String>) {
    let Identity { username, password } = login.at_once().unwrap();
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
    assert_eq!(config.prefix, "app");
}

/// What is wrong, and how its error begins.
const REFUSED: [(&str, &str); 43] = [
    (
        "127.0.0.1",
        "the Redis URL has another scheme, or none; expected is redis://[user:password@]host",
    ),
    ("u:hush@h", "the Redis URL has another scheme, or none; expected is redis://"),
    ("redis//x", "the Redis URL has another scheme, or none; expected is redis://"),
    ("http://u:hush@h", "the Redis URL has another scheme, or none; expected is redis://"),
    ("hush://h", "the Redis URL has another scheme, or none; expected is redis://"),
    (
        "redis://u:hush@h:99999",
        "the Redis URL can't be read (invalid port number); expected is redis://",
    ),
    ("redis://u:hush", "the Redis URL can't be read (invalid port number); expected is redis://"),
    ("redis://", "the Redis URL names no host; expected is redis://"),
    ("redis://u:12/hush@h", "the Redis URL has an @ after its hosts"),
    ("redis://u:12?hush@h", "the Redis URL has an @ after its hosts"),
    ("redis://u:12#hush", "the Redis URL has a #"),
    (
        "redis://:hush@h?password_file=hush",
        "the Redis URL has a password, and the parameter \"password_file\"",
    ),
    (
        "redis://u@h?password_file=/no/hush",
        "the file that the Redis URL's \"password_file\" names can't be read",
    ),
    (
        "redis://u@h?password_file=/dev/null",
        "the file that the Redis URL's \"password_file\" names can't be read",
    ),
    (
        "redis+sentinel://h/m?sentinel_password=hush&sentinel_password_file=hush",
        "the Redis URL has a password, and the parameter \"sentinel_password_file\" too",
    ),
    ("redis://u%3Ahush", "the Redis URL has a host that is neither a name nor an address"),
    ("redis://u:1@h%23hush", "the Redis URL has a host that is neither a name nor an address"),
    ("redis://[::1", "the Redis URL can't be read"),
    ("redis://h:2379:1", "the Redis URL can't be read (invalid port number)"),
    ("redis://h:0", "the Redis URL can't be read (invalid port number)"),
    (
        "redis://:hush@h/1\n",
        "the Redis URL can't be used: a control character, such as a line break",
    ),
    ("\"redis://:hush@h\"", "the Redis URL can't be used: quotes around it would be a part of it"),
    ("redis://h?prefix='hush'", "the Redis URL's prefix can't be used: quotes around it"),
    ("redis://hush@h", "the Redis URL names a user without a password"),
    ("redis+cluster://u:hush@h1,:7", "the Redis URL can't be read"),
    ("redis+cluster://h1,,h2", "the Redis URL names no host"),
    ("redis+cluster://u:hush@h1,h2,H1", "hosts 1 and 3 of the list are the same"),
    ("redis+sentinel://[::1],h2,[0:0::1]:26379/main", "hosts 1 and 3 of the list are the same"),
    ("redis://u:hush@h1,h2", "the Redis URL names 2 hosts; for more than one"),
    ("redis+sentinel://u:hush@h", "the name of the primary that the sentinels watch is"),
    ("redis://u:1/hush", "the Redis URL's database must be a number from 0 to 255"),
    ("redis+sentinel://u:hush@h/main/x", "the Redis URL's database must be a number"),
    ("redis+cluster://u:hush@h/hush", "a cluster has no database but 0"),
    (
        "redis://u:hush@h?prefix={hush}",
        "the prefix has 6 bytes; it must have 1 to 128, and no braces",
    ),
    (
        "redis://u:hush@h?replica_acks=hush",
        "the Redis URL's replica_acks must be a number from 0 to 65535",
    ),
    (
        "redis://u:hush@h?replica_wait_ms=7",
        "the Redis URL has no parameter \"replica_acks\", which \"replica_wait_ms\" needs",
    ),
    ("redis://u:hush@h?hush=3", "the Redis URL has an unknown parameter; known are \"prefix\""),
    ("redis://u:hush@h?ca=f", "the Redis URL has an unknown parameter"),
    ("redis+cluster://u:hush@h?sentinel_password=hush", "the Redis URL has an unknown parameter"),
    (
        "redis+sentinel://h/main?sentinel_password=hush&prefix=a&sentinel%5Fpassword=hush",
        "the Redis URL has its parameter \"sentinel_password\" twice",
    ),
    (
        "redis+sentinel://h/main?sentinel_username=hush",
        "the Redis URL has no parameter \"sentinel_password\", which \"sentinel_username\" needs",
    ),
    (
        "rediss://u:hush@h?ca=/no/hush",
        "the file that the Redis URL's \"ca\" names can't be read: No such",
    ),
    ("rediss://u:hush@h?cert=c", "the Redis URL has no parameter \"key\", which \"cert\" needs"),
];

#[test]
fn errors_name_the_part_and_show_none_of_it() {
    for (url, expected) in REFUSED {
        let error = RedisConfig::from_url(url).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{url}: {error}");
        assert!(!format!("{error} {error:?}").contains("hush"), "{url}: {error:?}");
    }
}
