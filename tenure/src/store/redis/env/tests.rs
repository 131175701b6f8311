use std::collections::BTreeMap;

use super::*;
use crate::store::credentials::Identity;

const PREFIXES: [&str; 2] = ["A_", "B_"];

fn from(variables: &[(&str, &str)]) -> Result<RedisConfig, RedisEnvError> {
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
    let Identity { username, password } = config.login.at_once().unwrap();
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
fn credentials_go_to_their_own_host_only() {
    let password = |variables: &[(&str, &str)]| {
        let Identity { username, password } = from(variables).unwrap().login.at_once().unwrap();
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

#[test]
fn errors_name_the_variable_and_the_bound_and_no_password() {
    let hush = ("A_PASSWORD", "hush");
    for (variables, expected) in [
        (&[][..], "no server is named: set A_HOST or B_HOST, to 127.0.0.1, for example"),
        (
            &[("A_PORT", "7"), hush],
            "no server is named: set A_HOST or B_HOST, to 127.0.0.1, for example",
        ),
        (
            &[("A_HOST", ""), ("B_HOST", "h"), hush],
            "no server is named: set A_HOST (which is set, and empty) or B_HOST, to 127.0.0.1, for example",
        ),
        (
            &[("A_HOST", "h"), ("B_PORT", "tcp://10.0.0.1:6379"), hush],
            "B_PORT is \"***\"; it must be a port from 1 to 65535, such as 6379",
        ),
        (
            &[("A_HOST", "h"), ("A_PORT", "0")],
            "A_PORT is \"0\"; it must be a port from 1 to 65535, such as 6379",
        ),
        (
            &[("A_HOST", "h:7"), hush],
            "A_HOST is \"h:7\"; it must be a host's name or address, such as 127.0.0.1; the port has a \
             variable of its own",
        ),
        (
            &[("A_HOST", "redis://hush")],
            "A_HOST is \"***\"; it must be a host's name or address, such as 127.0.0.1; the port has a \
             variable of its own",
        ),
        (
            &[("A_HOST", "u:hush@h")],
            "A_HOST is \"***\"; it must be a host's name or address, such as 127.0.0.1; the port has a \
             variable of its own",
        ),
        (
            &[("A_HOST", "h"), ("B_TLS", "maybe"), hush],
            "B_TLS is \"maybe\"; it must be true, yes, on or 1, or else false, no, off or 0",
        ),
        (
            &[("A_HOST", "h"), ("B_PREFIX", "{x}")],
            "B_PREFIX can't be used: the prefix has 3 bytes; it must have 1 to 128, and no braces: set prefix to \
             tenure, for example",
        ),
        (
            &[("A_HOST", "h"), ("A_USERNAME", "me"), ("B_PASSWORD", "hush")],
            "A_USERNAME is set, and A_PASSWORD is not: set both, or neither",
        ),
        (
            &[("A_SENTINEL_NAME", "main")],
            "A_SENTINEL_NAME is set, and A_SENTINEL_HOST or B_SENTINEL_HOST is not: set both, or neither",
        ),
        (
            &[("A_HOST", "h"), ("A_SENTINEL_PORT", "7")],
            "A_SENTINEL_PORT is set, and A_SENTINEL_HOST or B_SENTINEL_HOST is not: set both, or neither",
        ),
        (
            &[("B_SENTINEL_HOST", "s"), hush],
            "B_SENTINEL_HOST is set, and A_SENTINEL_NAME or B_SENTINEL_NAME is not: set both, or neither",
        ),
        (
            &[("B_SENTINEL_HOST", "s"), ("B_SENTINEL_NAME", "main"), ("B_HOST", "h"), hush],
            "B_HOST and B_SENTINEL_HOST are both set, and elections are kept at one of them: unset the other",
        ),
        (
            &[("B_SENTINEL_HOST", "s,,t"), ("B_SENTINEL_NAME", "main")],
            "B_SENTINEL_HOST is \"s,,t\"; it must be hosts separated by commas, each with a port or none, such as \
             10.0.0.1,10.0.0.2:26379",
        ),
        (
            &[("B_SENTINEL_HOST", "s,t,S:26379"), ("B_SENTINEL_NAME", "main")],
            "B_SENTINEL_HOST can't be used: hosts 1 and 3 of the list are the same; list each of them once, \
             since more than half of those listed decide",
        ),
        (
            &[("B_SENTINEL_HOST", "s:x"), ("B_SENTINEL_NAME", "main")],
            "B_SENTINEL_HOST is \"s:x\"; it must be a port from 1 to 65535, such as 6379",
        ),
    ] {
        refuses(variables, expected);
    }
}

fn refuses(variables: &[(&str, &str)], expected: &str) {
    let error = from(variables).unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert!(!format!("{error:?}").contains("hush"), "{error:?}");
}

#[test]
fn mistakes_and_unreadable_files_are_named() {
    let hush = ("A_PASSWORD", "hush");
    for (variables, expected) in [
        (
            &[("A_HOST", "h"), ("A_PASSWORD_FILE", "/no/such"), hush][..],
            "A_PASSWORD and A_PASSWORD_FILE are both set: unset one of them",
        ),
        (
            &[("A_HOST", "h"), ("A_PASSWORD_FILE", "/no/such")],
            "A_PASSWORD_FILE can't be used: the password's file \"/no/such\" can't be read (No such file or directory (os \
             error 2)): name one that this process may read",
        ),
        (
            &[("A_HOST", "h"), ("A_PASSWORD", "hush\n")],
            "A_PASSWORD is \"***\": a control character, such as a line break, would be a part of it: leave that out",
        ),
        (
            &[("A_HOST", "h"), ("A_PASSWORD", "'hush'")],
            "A_PASSWORD is \"***\": quotes around it would be a part of it: leave them out",
        ),
        (
            &[("A_HOST", "h"), ("A_USERNAME", " me"), hush],
            "A_USERNAME is \" me\": white space at its beginning or end would be a part of it: leave that out",
        ),
        (
            &[("A_HOST", "h"), ("B_PREFIX", "\u{feff}app")],
            "B_PREFIX is \"\\u{feff}app\": the byte order mark (U+FEFF) would be a part of it: save its file without one",
        ),
    ] {
        refuses(variables, expected);
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStringExt;
    let broken = |_: &str| Some(OsString::from_vec(vec![0xff]));
    let error = RedisConfig::from_variables(&PREFIXES, broken).unwrap_err();
    assert_eq!(
        error.to_string(),
        "A_HOST is not UTF-8; it must be text: unset it, or set it to text"
    );
}
