//! A configuration from a URL.

use super::config::{ELECTION_TIMEOUT, ENDPOINTS, EtcdConfig, PREFIX};
use crate::SettingError;
use crate::settings::values::flag;
use crate::settings::{Configured, Given, Hosts, Path, Scheme, Setting, Table};
use crate::store::common::{
    CA, CERT, KEY, LoginSettings, PASSWORD, PASSWORD_FILE, SERVER_NAME, TlsSettings, USER,
};

const TLS: Setting<bool> = Setting::part("tls", flag)
    .with("etcds")
    .default("off")
    .about("whether connections are encrypted");

const LOGIN: LoginSettings = LoginSettings { user: USER, password: PASSWORD, file: PASSWORD_FILE };
const NAME_IN_CERTIFICATES: Setting<String> = SERVER_NAME.with("etcds");
const ENCRYPTION: TlsSettings = TlsSettings {
    on: &TLS.row,
    ca: CA.with("etcds"),
    cert: CERT.with("etcds"),
    key: KEY.with("etcds"),
    server_name: Some(NAME_IN_CERTIFICATES),
};

static TABLE: Table = Table {
    store: "etcd",
    schemes: &[Scheme {
        names: &["etcd"],
        encrypted: Some("etcds"),
        form: "://[user:password@]host[:port][,host[:port]..][/prefix]",
        example: "://127.0.0.1:2379",
        hosts: Hosts::List("list of hosts"),
        path: Path::Pieces(&["prefix"]),
    }],
    settings: &[
        &ENDPOINTS.row,
        &USER.row,
        &PASSWORD.row,
        &PASSWORD_FILE.row,
        &PREFIX.row,
        &ELECTION_TIMEOUT.row,
        &TLS.row,
        &ENCRYPTION.ca.row,
        &ENCRYPTION.cert.row,
        &ENCRYPTION.key.row,
        &NAME_IN_CERTIFICATES.row,
    ],
    foreign: &[],
    prefixes: &[],
};

impl EtcdConfig {
    /// Reads `etcd://[user:password@]host[:port][,host[:port]..][/prefix][?parameters]`, or with
    /// the scheme `etcds`, which encrypts connections; the table of `docs/stores/etcd.md` has the
    /// parameters, each at most once. All files are read at once, and again for each connection.
    ///
    /// # Errors
    /// If the text has another form, or a file can't be read.
    pub fn from_url(url: &str) -> Result<Self, SettingError> {
        Self::of_url(url)
    }
}

impl Configured for EtcdConfig {
    const TABLE: &'static Table = &TABLE;

    fn read(given: &mut Given) -> Result<Self, SettingError> {
        let endpoints = given.need(&ENDPOINTS)?;
        let mut config =
            Self::at(endpoints.into_iter().map(|(host, port)| (host, port.unwrap_or(2379))));
        if !given.has(&USER.row) {
            for row in [&PASSWORD.row, &PASSWORD_FILE.row] {
                if given.has(row) {
                    return Err(given.lacks(&USER.row, row));
                }
            }
        }
        config.login = LOGIN.read(given)?;
        if let Some(prefix) = given.take(&PREFIX)? {
            config.prefix = prefix;
        }
        if let Some(timeout) = given.take(&ELECTION_TIMEOUT)? {
            config.election_timeout = timeout;
        }
        if given.take(&TLS)? == Some(true) {
            config.tls = Some(ENCRYPTION.read(given)?);
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn reads_every_part() {
        let url = "etcd://me:p%40ss@h1,h2:7000,[::1]:7001/services/app?election_timeout_ms=500";
        let config = EtcdConfig::from_url(url).unwrap();
        assert_eq!(config.endpoints, ["h1:2379", "h2:7000", "[::1]:7001"]);
        assert_eq!(config.login.at_once().username.as_deref(), Some("me"));
        assert_eq!(config.prefix, "services/app");
        assert_eq!(config.election_timeout, Duration::from_millis(500));
        assert!(!format!("{config:?}").contains("p@ss"));
        let shown = |config: EtcdConfig| format!("{config:?}");
        let least = EtcdConfig::from_url("etcd://h/").unwrap();
        assert_eq!(shown(least), shown(EtcdConfig::new("h", 2379)));
    }

    /// The password is not shown for any missing, repeated or misplaced part.
    #[test]
    fn no_broken_url_is_echoed() {
        let whole = "etcds://worker:HUSH-HUSH@h1:2379,h2/billing?ca=/c&election_timeout_ms=500";
        let marks =
            ["", "/", "?", "@", ":", "://", "#", "&", "=", "%", "[", "]", ",", "\n", "leader"];
        let mut refused = 0;
        for from in 0..whole.len() {
            for to in [from, from + 1, from + 3, whole.len()] {
                for mark in marks {
                    let Some(rest) = whole.get(to..) else { continue };
                    let url = [&whole[..from], mark, rest].concat();
                    let Err(error) = EtcdConfig::from_url(&url) else { continue };
                    let shown = format!("{error} {error:?}");
                    assert!(!shown.contains("HUSH") && !shown.contains('\n'), "{url}: {shown}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 1_000, "{refused}");
    }
}
