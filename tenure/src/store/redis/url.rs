//! A configuration from one line of text.

use std::collections::BTreeMap;
use std::time::Duration;

use url::Url;

use super::config::{Address, RedisConfig, Servers, distinct};
use super::error::RedisConfigError;
use crate::store::credentials::{self, CredentialsError, Login};
use crate::store::host::host;
use crate::store::{Secret, TextError};
use crate::tls::{TlsConfig, TlsError, files};

pub(super) const PORT: u16 = 6379;
pub(super) const SENTINEL_PORT: u16 = 26379;

impl RedisConfig {
    /// Reads one of
    ///
    /// - `redis://[user:password@]host[:port][/database]`: one server;
    /// - `redis+sentinel://[user:password@]host[:port][,host[:port]..]/name[/database]`: the primary
    ///   of that name, which these sentinels watch;
    /// - `redis+cluster://[user:password@]host[:port][,host[:port]..]`: a cluster with these nodes.
    ///
    /// The user is one of the servers that elections are kept at; without a name, it is the default user.
    /// With `rediss` instead of `redis`, all connections are encrypted. Parameters, as in `?prefix=app`,
    /// each at most once:
    ///
    /// - `prefix`, see [`prefix`](Self::prefix);
    /// - `password_file`: a file with the password, see [`credentials_file`](Self::credentials_file), in place of a
    ///   password;
    /// - `replica_acks` and `replica_wait_ms`, see [`replica_acks`](Self::replica_acks);
    /// - with `rediss`, `ca`: a file with the certificate authorities to trust instead of the system's;
    ///   `cert` and `key`: those with the client's own certificate; `server_name`: the name that the
    ///   servers' certificates have, if it is not the host that is connected to;
    /// - with `+sentinel`, `sentinel_username` and `sentinel_password` or `sentinel_password_file`: the user of the
    ///   sentinels, if they have one.
    ///
    /// All files are read at once, and again for each connection.
    ///
    /// # Errors
    /// If the text has another form, gives a parameter twice, or a file can't be read. The error names the part
    /// at fault and the expected form, and shows nothing of the text, which may hold a password.
    pub fn from_url(url: &str) -> Result<Self, RedisConfigError> {
        is_clean("the Redis URL", url)?;
        let urls = one_for_each_host(url)?;
        let Some(url) = urls.first() else { return Err(RedisConfigError::NoHost) };
        if url.fragment().is_some() {
            return Err(RedisConfigError::Fragment);
        }
        let (encrypted, form) = scheme(url.scheme())?;
        let (servers, database) = servers(form, &urls)?;
        let mut parameters = Parameters::of(url, encrypted, form)?;
        let mut config = Self::at(servers);
        config.login =
            login(url, parameters.password_file(PASSWORD_FILE, url.password().is_some())?)?;
        config.sentinel_login = parameters.sentinel_login()?;
        if !database.is_empty() {
            config.database = database.parse().map_err(|_| RedisConfigError::Database)?;
        }
        if let Some(prefix) = parameters.take("prefix") {
            is_clean("the Redis URL's prefix", &prefix)?;
            config = config.prefix(prefix)?;
        }
        config = parameters.replicas(config)?;
        if encrypted {
            config.tls = Some(parameters.tls()?);
        }
        Ok(config)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    One,
    Sentinel,
    Cluster,
}

/// Whether connections are encrypted, and to what.
fn scheme(scheme: &str) -> Result<(bool, Form), RedisConfigError> {
    Ok(match scheme {
        "redis" => (false, Form::One),
        "rediss" => (true, Form::One),
        "redis+sentinel" => (false, Form::Sentinel),
        "rediss+sentinel" => (true, Form::Sentinel),
        "redis+cluster" => (false, Form::Cluster),
        "rediss+cluster" => (true, Form::Cluster),
        _ => return Err(RedisConfigError::Scheme),
    })
}

/// URLs have no lists of hosts: each host is read as a URL of its own.
fn one_for_each_host(text: &str) -> Result<Vec<Url>, RedisConfigError> {
    let parsed = |url: &str| Url::parse(url).map_err(RedisConfigError::Syntax);
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(RedisConfigError::Scheme);
    };
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // First: what is before it is then a part of a password, and no host that could be read.
    if tail.contains('@') {
        return Err(RedisConfigError::StrayAt);
    }
    // A password may have commas.
    let (user, hosts) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
    hosts.split(',').map(|host| parsed(&format!("{scheme}://{user}{host}{tail}"))).collect()
}

/// Where elections are kept, and the part of the path that is left for the database.
fn servers(form: Form, urls: &[Url]) -> Result<(Servers, &str), RedisConfigError> {
    let path = urls.first().map_or("", Url::path);
    let path = path.strip_prefix('/').unwrap_or(path);
    let listed = |port| {
        urls.iter().map(|url| address(url, port)).collect::<Result<_, _>>().and_then(distinct)
    };
    match (form, urls) {
        (Form::One, [url]) => Ok((Servers::One(address(url, PORT)?), path)),
        (Form::One, _) => Err(RedisConfigError::Hosts { hosts: urls.len() }),
        (Form::Sentinel, _) => {
            let listed = listed(SENTINEL_PORT)?;
            let (primary, database) = path.split_once('/').unwrap_or((path, ""));
            if primary.is_empty() {
                return Err(RedisConfigError::NoPrimary);
            }
            Ok((Servers::Sentinels { listed, primary: decoded(primary) }, database))
        }
        (Form::Cluster, _) if matches!(path, "" | "0") => {
            Ok((Servers::Cluster { listed: listed(PORT)? }, ""))
        }
        (Form::Cluster, _) => Err(RedisConfigError::ClusterDatabase),
    }
}

fn address(url: &Url, port: u16) -> Result<Address, RedisConfigError> {
    let named = url.host_str().filter(|host| !host.is_empty()).ok_or(RedisConfigError::NoHost)?;
    let named = decoded(named);
    let host = host(&named).ok_or(RedisConfigError::Host)?;
    match url.port() {
        Some(0) => Err(RedisConfigError::Syntax(url::ParseError::InvalidPort)),
        given => Ok(Address::new(host, given.unwrap_or(port))),
    }
}

fn is_clean(what: &'static str, text: &str) -> Result<(), RedisConfigError> {
    TextError::check(text).map_err(|why| RedisConfigError::Text { what, why })
}

const PASSWORD_FILE: &str = "password_file";
const SENTINEL_PASSWORD_FILE: &str = "sentinel_password_file";

fn login(url: &Url, file: Option<String>) -> Result<Login, RedisConfigError> {
    let username = decoded(url.username());
    match (url.password(), file) {
        (Some(password), _) => Ok(Login::fixed(username, Secret::new(decoded(password)))),
        (None, Some(path)) => Ok(Login::file(username, path)),
        (None, None) if username.is_empty() => Ok(Login::default()),
        (None, None) => Err(RedisConfigError::NoPassword),
    }
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// The parameters behind the `?`, each at most once.
struct Parameters(BTreeMap<&'static str, String>);

impl Parameters {
    fn of(url: &Url, encrypted: bool, form: Form) -> Result<Self, RedisConfigError> {
        let always = &["prefix", PASSWORD_FILE, "replica_acks", "replica_wait_ms"][..];
        let with_tls = &["ca", "cert", "key", "server_name"][..];
        let with_sentinels =
            &["sentinel_username", "sentinel_password", SENTINEL_PASSWORD_FILE][..];
        let known = [
            always,
            if encrypted { with_tls } else { &[] },
            if form == Form::Sentinel { with_sentinels } else { &[] },
        ]
        .concat();
        let mut set = BTreeMap::new();
        for (name, value) in url.query_pairs() {
            let name = known.iter().find(|known| **known == name);
            let name = *name.ok_or(RedisConfigError::Parameter)?;
            if set.insert(name, value.into_owned()).is_some() {
                return Err(RedisConfigError::Doubled { name });
            }
        }
        Ok(Self(set))
    }

    fn take(&mut self, name: &'static str) -> Option<String> {
        self.0.remove(name)
    }

    /// Two parameters of which each needs the other.
    fn both(
        &mut self,
        one: &'static str,
        other: &'static str,
    ) -> Result<Option<(String, String)>, RedisConfigError> {
        match (self.take(one), self.take(other)) {
            (Some(first), Some(second)) => Ok(Some((first, second))),
            (Some(_), None) => Err(RedisConfigError::Missing { missing: other, needed_by: one }),
            (None, Some(_)) => Err(RedisConfigError::Missing { missing: one, needed_by: other }),
            (None, None) => Ok(None),
        }
    }

    fn sentinel_login(&mut self) -> Result<Login, RedisConfigError> {
        let (name, password) = ("sentinel_username", "sentinel_password");
        let username = self.take(name).unwrap_or_default();
        let own = self.take(password);
        let file = self.password_file(SENTINEL_PASSWORD_FILE, own.is_some())?;
        match (own, file) {
            (Some(password), _) => Ok(Login::fixed(username, Secret::new(password))),
            (None, Some(path)) => Ok(Login::file(username, path)),
            (None, None) if username.is_empty() => Ok(Login::default()),
            (None, None) => Err(RedisConfigError::Missing { missing: password, needed_by: name }),
        }
    }

    /// The file that a parameter names, which has a password now; not besides another password.
    fn password_file(
        &mut self,
        name: &'static str,
        has_other: bool,
    ) -> Result<Option<String>, RedisConfigError> {
        let Some(path) = self.take(name) else { return Ok(None) };
        if has_other {
            return Err(RedisConfigError::TwoPasswords { parameter: name });
        }
        match credentials::from_file(path.as_ref()) {
            Ok(_) => Ok(Some(path)),
            Err(CredentialsError::File { source, .. }) => {
                Err(RedisConfigError::File { name, source })
            }
            Err(_) => Err(RedisConfigError::PasswordFile { name }),
        }
    }

    fn replicas(&mut self, mut config: RedisConfig) -> Result<RedisConfig, RedisConfigError> {
        let (acks, wait) = ("replica_acks", "replica_wait_ms");
        if self.0.contains_key(wait) && !self.0.contains_key(acks) {
            return Err(RedisConfigError::Missing { missing: acks, needed_by: wait });
        }
        if let Some(value) = self.take(acks) {
            config = config.replica_acks(number(acks, &value, u16::MAX)?);
        }
        if let Some(value) = self.take(wait) {
            let wait: u32 = number(wait, &value, u32::MAX)?;
            config = config.replica_wait(Duration::from_millis(wait.into()));
        }
        Ok(config)
    }

    fn tls(&mut self) -> Result<TlsConfig, RedisConfigError> {
        let mut tls = match self.take("ca") {
            Some(path) => TlsConfig::with_ca_file(path).map_err(in_file("ca"))?,
            None => TlsConfig::system()?,
        };
        if let Some((cert, key)) = self.both("cert", "key")? {
            is_there("cert", &cert)?;
            tls = tls.client_certificate_files(cert, key).map_err(in_file("key"))?;
        }
        match self.take("server_name") {
            Some(name) => tls.server_name(name).map_err(|error| match error {
                // Its text would show the name.
                TlsError::ServerName { .. } => RedisConfigError::ServerName,
                error => error.into(),
            }),
            None => Ok(tls),
        }
    }
}

fn number<T: std::str::FromStr + Into<u32>>(
    name: &'static str,
    value: &str,
    most: T,
) -> Result<T, RedisConfigError> {
    value.parse().map_err(|_| RedisConfigError::Number { name, most: most.into() })
}

fn is_there(name: &'static str, path: &str) -> Result<(), RedisConfigError> {
    let read = files::read(path.as_ref());
    read.map(drop).map_err(|source| RedisConfigError::File { name, source })
}

/// The error about the file that a parameter names, without the file's name.
fn in_file(name: &'static str) -> impl Fn(TlsError) -> RedisConfigError {
    move |error| match error.without_path() {
        Ok(error) => RedisConfigError::Tls(error),
        Err(source) => RedisConfigError::File { name, source },
    }
}

#[cfg(test)]
mod tests;
