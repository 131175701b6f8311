//! A configuration from one line of text.

use std::time::Duration;

use percent_encoding::percent_decode_str;

use super::config::EtcdConfig;
use super::config_error::EtcdConfigError;
use crate::store::credentials::{self, CredentialsError};
use crate::store::host;
use crate::store::{Secret, TextError};
use crate::tls::{TlsConfig, TlsError, files};

const PORT: u16 = 2379;

impl EtcdConfig {
    /// Reads `etcd://[user[:password]@]host[:port][,host[:port]..][/prefix][?election_timeout_ms=1000]`.
    ///
    /// `password_file` names a file with the password, see [`credentials_file`](Self::credentials_file), in place of a
    /// password.
    ///
    /// With the scheme `etcds` connections are encrypted. Then `ca` names the file of the authorities to
    /// trust, instead of the system's; `cert` and `key`, those of the client's own certificate; `server_name`, the name
    /// that the servers' certificates have.
    ///
    /// Each parameter may be given once. All files are read at once, and again for each connection.
    ///
    /// # Errors
    /// If the text has another form, or a file can't be read. The error names the part at fault and
    /// never shows the text, which may hold a password.
    pub fn from_url(url: &str) -> Result<Self, EtcdConfigError> {
        is_clean("the etcd URL", url)?;
        let (scheme, rest) = url.split_once("://").ok_or(EtcdConfigError::Syntax)?;
        let encrypted = match scheme {
            "etcd" => false,
            "etcds" => true,
            _ => return Err(EtcdConfigError::Scheme),
        };
        let authority_ends = rest.find(['/', '?']).unwrap_or(rest.len());
        if rest[authority_ends..].contains('@') {
            return Err(EtcdConfigError::Unescaped);
        }
        if rest.contains('#') {
            return Err(EtcdConfigError::Fragment);
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, authority),
        };
        let mut endpoints = (1..).zip(hosts.split(',')).map(|(number, text)| host(number, text));
        let (name, port) = endpoints.next().ok_or(EtcdConfigError::Syntax)??;
        let mut config = Self::new(name, port);
        for endpoint in endpoints {
            let (name, port) = endpoint?;
            config = config.endpoint(name, port);
        }
        if !prefix.is_empty() {
            let prefix = decoded(prefix);
            is_clean("the etcd URL's prefix", &prefix)?;
            config = config.prefix(prefix)?;
        }
        let mut parameters = Parameters::read(query, encrypted)?;
        config = parameters.login(config, user)?;
        if let Some(timeout) = parameters.election_timeout {
            config = config.election_timeout(timeout)?;
        }
        if encrypted {
            config.tls = Some(parameters.tls()?);
        }
        Ok(config)
    }
}

#[derive(Default)]
struct Parameters {
    election_timeout: Option<Duration>,
    password_file: Option<String>,
    ca: Option<String>,
    cert: Option<String>,
    key: Option<String>,
    server_name: Option<String>,
}

impl Parameters {
    fn read(query: &str, encrypted: bool) -> Result<Self, EtcdConfigError> {
        let mut read = Self::default();
        let mut timeout = None;
        for (number, pair) in (1..).zip(query.split('&').filter(|pair| !pair.is_empty())) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, place) = match name {
                "election_timeout_ms" => ("election_timeout_ms", &mut timeout),
                "password_file" => ("password_file", &mut read.password_file),
                "ca" => ("ca", &mut read.ca),
                "cert" => ("cert", &mut read.cert),
                "key" => ("key", &mut read.key),
                "server_name" => ("server_name", &mut read.server_name),
                _ => return Err(EtcdConfigError::Parameter { number }),
            };
            if !encrypted && !matches!(name, "election_timeout_ms" | "password_file") {
                return Err(EtcdConfigError::NotEncrypted { name });
            }
            if place.replace(decoded(value)).is_some() {
                return Err(EtcdConfigError::Doubled { name });
            }
        }
        if let Some(timeout) = timeout {
            let millis = timeout.parse().map_err(|_| EtcdConfigError::Number)?;
            read.election_timeout = Some(Duration::from_millis(millis));
        }
        Ok(read)
    }

    /// With the user, and the password that stands beside it or in a file.
    fn login(
        &mut self,
        config: EtcdConfig,
        user: Option<&str>,
    ) -> Result<EtcdConfig, EtcdConfigError> {
        let (name, password) = match user.map(|user| user.split_once(':').ok_or(user)) {
            None => (None, None),
            Some(Ok((name, password))) => (Some(name), Some(password)),
            Some(Err(name)) => (Some(name), None),
        };
        match (name, password, self.password_file.take()) {
            (_, Some(_), Some(_)) => Err(EtcdConfigError::TwoPasswords),
            (Some(name), Some(password), None) => {
                Ok(config.credentials(decoded(name), Secret::new(decoded(password))))
            }
            (Some(name), None, Some(path)) => {
                has_password(&path)?;
                Ok(config.credentials_file(decoded(name), path))
            }
            (None, None, None) => Ok(config),
            (Some(_), None, None) => Err(EtcdConfigError::Syntax),
            (None, _, _) => Err(EtcdConfigError::NoUser),
        }
    }

    fn tls(self) -> Result<TlsConfig, EtcdConfigError> {
        let missing = |missing, needed_by| EtcdConfigError::Missing { missing, needed_by };
        let mut tls = match self.ca {
            Some(path) => TlsConfig::with_ca_file(path).map_err(in_file("ca"))?,
            None => TlsConfig::system()?,
        };
        match (self.cert, self.key) {
            (Some(cert), Some(key)) => {
                files::read(cert.as_ref())
                    .map_err(|source| EtcdConfigError::File { parameter: "cert", source })?;
                tls = tls.client_certificate_files(cert, key).map_err(in_file("key"))?;
            }
            (None, None) => {}
            (Some(_), None) => return Err(missing("key", "\"cert\"")),
            (None, Some(_)) => return Err(missing("cert", "\"key\"")),
        }
        match self.server_name {
            Some(name) => tls.server_name(name).map_err(|error| match error {
                // Its text would show the name.
                TlsError::ServerName { .. } => EtcdConfigError::ServerName,
                error => error.into(),
            }),
            None => Ok(tls),
        }
    }
}

/// Whether that file has a password now.
fn has_password(path: &str) -> Result<(), EtcdConfigError> {
    credentials::from_file(path.as_ref()).map(drop).map_err(|error| match error {
        CredentialsError::File { source, .. } => {
            EtcdConfigError::File { parameter: "password_file", source }
        }
        _ => EtcdConfigError::PasswordFile,
    })
}

/// The error about the file that a parameter names, without the file's name.
fn in_file(parameter: &'static str) -> impl Fn(TlsError) -> EtcdConfigError {
    move |error| match error.without_path() {
        Ok(error) => EtcdConfigError::Tls(error),
        Err(source) => EtcdConfigError::File { parameter, source },
    }
}

/// `host`, `host:port`, `[address]` or `[address]:port`.
fn host(number: usize, text: &str) -> Result<(&str, u16), EtcdConfigError> {
    let ends = text.rfind(']').map_or(0, |bracket| bracket + 1);
    let (host, port) = match text[ends..].rsplit_once(':') {
        Some((before, port)) => (&text[..ends + before.len()], Some(port)),
        None => (text, None),
    };
    if host.is_empty() {
        return Err(EtcdConfigError::NoHost { number });
    }
    let host = host::host(host).ok_or(EtcdConfigError::Host { number })?;
    let Some(port) = port else { return Ok((host, PORT)) };
    match port.parse() {
        Ok(known) if known > 0 => Ok((host, known)),
        Ok(_) | Err(_) => Err(EtcdConfigError::Port { number }),
    }
}

fn is_clean(what: &'static str, text: &str) -> Result<(), EtcdConfigError> {
    TextError::check(text).map_err(|why| EtcdConfigError::Text { what, why })
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_part() {
        let url = "etcd://me:p%40ss@h1,h2:7000,[::1]:7001/services/app?election_timeout_ms=500";
        let config = EtcdConfig::from_url(url).unwrap();
        assert_eq!(config.endpoints, ["h1:2379", "h2:7000", "[::1]:7001"]);
        assert!(config.login.has_password() && format!("{config:?}").contains("\"me\""));
        assert_eq!(config.prefix, "services/app");
        assert_eq!(config.election_timeout, Duration::from_millis(500));
        assert!(!format!("{config:?}").contains("p@ss"));
        let shown = |config: EtcdConfig| format!("{config:?}");
        let least = EtcdConfig::from_url("etcd://h/").unwrap();
        assert_eq!(shown(least), shown(EtcdConfig::new("h", 2379)));
    }

    #[test]
    fn errors_name_the_part_and_hide_the_rest() {
        for (url, expected) in [
            ("hush", "the etcd URL can't be read"),
            ("etcd://hush@h", "the etcd URL can't be read"),
            ("http://u:hush@h", "the etcd URL's scheme must be"),
            ("u:hush@etcd://h", "the etcd URL's scheme must be"),
            ("etcd://u:hush", "the port of the etcd URL's endpoint 1 must be"),
            ("etcd://u:hush:2379", "the host of the etcd URL's endpoint 1 is neither a name nor"),
            ("etcd://h,[::1", "the host of the etcd URL's endpoint 2 is neither a name nor"),
            ("etcd://[::1]hush:1", "the host of the etcd URL's endpoint 1 is neither a name nor"),
            (
                "etcd://u:hush@h:2379:1",
                "the host of the etcd URL's endpoint 1 is neither a name nor",
            ),
            (
                "etcd://u:hush@h/app#x",
                "the etcd URL has a #, which in a name, a password or a prefix",
            ),
            ("etcd://h#hush", "the etcd URL has a #"),
            ("etcd://u:hush@h/app\n", "the etcd URL can't be used: a control character"),
            ("etcd://u:hush@h/%22app%22", "the etcd URL's prefix can't be used: quotes around it"),
            ("etcd://u:hush?x@h", "the etcd URL has an @ behind its first / or ?"),
            ("etcd://u:h/hush/leader@h", "the etcd URL has an @ behind its first / or ?"),
            ("etcd://u:h?hush=1@h", "the etcd URL has an @ behind its first / or ?"),
            ("etcd://u:hush@", "the etcd URL's endpoint 1 has no host"),
            ("etcd://u:hush@h,:7", "the etcd URL's endpoint 2 has no host"),
            ("etcd://u:hush@h:0", "the port of the etcd URL's endpoint 1 must be"),
            ("etcd://u:hush@h:x", "the port of the etcd URL's endpoint 1 must be"),
            ("etcd://u:hush@h/a/leader", "part 2 of the prefix"),
            ("etcd://u:hush@h?hush=3", "parameter 1 of the etcd URL is unknown"),
            ("etcd://u:hush@h?ca=hush", "the etcd URL has the parameter \"ca\", and its scheme"),
            ("etcds://u:hush@h?ca=f&key=k&ca=hush", "the etcd URL has the parameter \"ca\" twice"),
            (
                "etcd://h?election_timeout_ms=500&election_timeout_ms=500",
                "the etcd URL has the parameter \"election_timeout_ms\" twice",
            ),
            (
                "etcd://u:hush@h?election_timeout_ms=hush",
                "the etcd URL's election_timeout_ms must be",
            ),
            ("etcd://u:hush@h?election_timeout_ms=1", "the election timeout is 1ms"),
            (
                "etcd://u:hush@h?password_file=hush",
                "the etcd URL has a password, and the parameter",
            ),
            (
                "etcd://h?password_file=hush",
                "the etcd URL has the parameter \"password_file\", and no",
            ),
            (
                "etcd://hush@h?password_file=/no/hush",
                "the file that the etcd URL's parameter \"pass",
            ),
            (
                "etcd://hush@h?password_file=/dev/null",
                "the file that the etcd URL's parameter \"pass",
            ),
            ("etcds://u:hush@h?ca=/no/hush", "the file that the etcd URL's parameter \"ca\" names"),
        ] {
            let error = EtcdConfig::from_url(url).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{url}: {error}");
            assert!(!format!("{error:?} {error}").contains("hush"));
        }
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
