use std::collections::BTreeMap;

use super::*;
use crate::store::credentials::Identity;

const PREFIXES: [&str; 2] = ["A_", "B_"];

fn from(variables: &[(&str, &str)]) -> Result<RedisConfig, SettingError> {
    let set: BTreeMap<_, _> = variables.iter().copied().collect();
    RedisConfig::from_variables(&PREFIXES, |name| set.get(name).map(OsString::from))
}

fn servers(variables: &[(&str, &str)]) -> Servers {
    from(variables).unwrap().servers
}

fn one(host: &str, port: u16) -> Servers {
    Servers::One(Address::new(host, port))
}

#[test]
fn variables_are_looked_up_prefix_by_prefix() {
    let config = from(&[
        ("A_HOST", "one"),
        ("B_HOST", "other"),
        ("B_PORT", "7"),
        ("A_USERNAME", "me"),
        ("A_PASSWORD", "hush"),
        ("B_PASSWORD", "other"),
        ("B_PREFIX", "app"),
        ("A_TLS", "off"),
        ("B_TLS", "on"),
    ])
    .unwrap();
    assert_eq!(config.servers, one("one", 7));
    let Identity { username, password } = config.login.at_once();
    assert_eq!(username.as_deref(), Some("me"));
    assert_eq!(password.as_ref().map(Secret::reveal), Some("hush"));
    assert_eq!((&*config.prefix, config.tls.is_none()), ("app", true));
    assert!(!format!("{config:?}").contains("hush"));
}

#[test]
fn empty_variables_mean_no_value() {
    let config = from(&[
        ("A_HOST", ""),
        ("A_SENTINEL_HOST", "s1,s2,s3"),
        ("A_SENTINEL_NAME", "main"),
        ("A_SENTINEL_PORT", ""),
        ("B_SENTINEL_PORT", "7"),
        ("A_PREFIX", ""),
        ("B_PREFIX", "app"),
        ("A_TLS", ""),
        ("B_TLS", "on"),
        ("B_HOST", "other"),
    ])
    .unwrap();
    let listed = ["s1", "s2", "s3"].map(|host| Address::new(host, 26379)).to_vec();
    assert_eq!(config.servers, Servers::Sentinels { listed, primary: "main".into() });
    assert_eq!((&*config.prefix, config.tls.is_none()), ("tenure", true));
}

#[test]
fn ports_of_services_count_as_not_set() {
    for link in ["tcp://10.0.0.1:6379", "udp://10.0.0.1:6379", "sctp://[fd00::1]:6379"] {
        let set = [("A_PORT", link), ("B_PORT", "7"), ("A_SENTINEL_PORT", link), ("B_HOST", "h")];
        assert_eq!(servers(&set), one("h", 7), "{link}");
        assert_eq!(servers(&[("A_HOST", "h"), ("B_PORT", link)]), one("h", 6379), "{link}");
    }
    // Nothing else is such a port.
    from(&[("A_HOST", "h"), ("A_PORT", "http://h:7")]).unwrap_err();
    from(&[("A_HOST", "tcp://10.0.0.1")]).unwrap_err();
}

#[test]
fn credentials_go_to_their_own_host_only() {
    let password = |variables: &[(&str, &str)]| {
        let Identity { username, password } = from(variables).unwrap().login.at_once();
        assert_eq!(username.is_some(), password.is_some(), "{username:?}");
        password.map(|password| password.reveal().to_owned())
    };
    let general = [("B_HOST", "b"), ("B_USERNAME", "u"), ("B_PASSWORD", "hush")];
    assert_eq!(password(&general).as_deref(), Some("hush"));
    assert_eq!(password(&[&general[..], &[("A_HOST", "a")]].concat()), None);
    let sentinels = [("A_SENTINEL_HOST", "s"), ("A_SENTINEL_NAME", "main")];
    assert_eq!(password(&[&general[..], &sentinels].concat()), None);
    let own = [("A_HOST", "a"), ("A_USERNAME", "v"), ("A_PASSWORD", "mine")];
    assert_eq!(password(&[&general[..], &own].concat()).as_deref(), Some("mine"));
    // Another prefix's are not sent to this one's host either way.
    let others = [("B_HOST", "b"), ("A_USERNAME", "v"), ("A_PASSWORD", "mine")];
    assert_eq!(password(&others), None);
    let none = [&general[..], &[("B_USERNAME", ""), ("B_PASSWORD", "")]].concat();
    assert_eq!(password(&none), None);
}

#[test]
fn hosts_may_be_addresses() {
    assert_eq!(servers(&[("B_HOST", "10.0.0.1")]), one("10.0.0.1", 6379));
    for address in ["::1", "[::1]"] {
        assert_eq!(servers(&[("A_HOST", address)]), one("::1", 6379));
    }
}

#[test]
fn sentinels_stand_in_the_place_of_a_server() {
    let listed =
        |port| vec![Address::new("s1", port), Address::new("s2", 7), Address::new("::1", port)];
    let hosts = ("A_SENTINEL_HOST", "s1, s2:7,[::1]");
    let watched = |port| Servers::Sentinels { listed: listed(port), primary: "main".into() };
    assert_eq!(servers(&[hosts, ("B_SENTINEL_NAME", "main")]), watched(26379));
    let with_port = [hosts, ("B_SENTINEL_NAME", "main"), ("B_SENTINEL_PORT", "9")];
    assert_eq!(servers(&with_port), watched(9));
    // The variables of the whole machine do not override those of this application.
    let with_host = [hosts, ("B_SENTINEL_NAME", "main"), ("B_HOST", "general")];
    assert_eq!(servers(&with_host), watched(26379));
    let other = [("A_HOST", "own"), ("B_SENTINEL_NAME", "main"), ("B_SENTINEL_PORT", "9")];
    assert_eq!(servers(&other), one("own", 6379));
    let general = [("B_SENTINEL_HOST", "s"), ("B_SENTINEL_NAME", "main"), ("A_HOST", "own")];
    assert_eq!(servers(&general), one("own", 6379));
}

#[cfg(unix)]
#[test]
fn what_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStringExt;
    let broken = |name: &str| (name == "A_HOST").then(|| OsString::from_vec(vec![0xff]));
    let error = RedisConfig::from_variables(&PREFIXES, broken).unwrap_err();
    assert_eq!(
        error.to_string(),
        "A_HOST can't be used: it is not UTF-8; set A_HOST to 127.0.0.1, for example"
    );
}
