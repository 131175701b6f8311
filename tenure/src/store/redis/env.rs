//! A configuration from environment variables.

mod error;

use std::ffi::OsString;
use std::net::IpAddr;

use super::config::{Address, RedisConfig, Servers, distinct};
use super::error::RedisConfigError;
use super::url::{PORT, SENTINEL_PORT};
use crate::store::credentials::{self, Login};
use crate::store::host::host;
use crate::store::{Secret, TextError, shown};
use crate::tls::TlsConfig;
pub use error::RedisEnvError;

impl RedisConfig {
    /// The prefixes of the variables that [`from_env`](Self::from_env) reads.
    pub(in crate::store) const PREFIXES: [&str; 2] = ["TENURE_REDIS_", "REDIS_"];

    /// Reads variables such as `TENURE_REDIS_HOST`, and in place of each one that is not set, variables such as
    /// `REDIS_HOST`; see [`from_variables`](Self::from_variables).
    ///
    /// # Errors
    /// As for [`from_variables`](Self::from_variables).
    pub fn from_env() -> Result<Self, RedisEnvError> {
        Self::from_env_prefixed(&Self::PREFIXES)
    }

    /// The same with other prefixes, for programs that have variables such as `MUTEX_REDIS_HOST` already.
    ///
    /// # Errors
    /// As for [`from_variables`](Self::from_variables).
    pub fn from_env_prefixed(prefixes: &[&str]) -> Result<Self, RedisEnvError> {
        Self::from_variables(prefixes, |name| std::env::var_os(name))
    }

    /// Reads variables through `lookup`. Each is looked up under the first prefix, then under the next. The
    /// first that is set counts; one that is set and empty means that there is no value. User and password are
    /// only looked up under the prefix of the host: those of one server are not sent to another.
    ///
    /// - `HOST`, `PORT`: the server; the port is 6379 if not set;
    /// - `SENTINEL_HOST`, `SENTINEL_PORT`, `SENTINEL_NAME`: instead of a server, the sentinels, separated by commas,
    ///   each with a port of its own or else this one (26379), and the name of the primary that they watch;
    /// - `USERNAME`, `PASSWORD`: the user; a password alone is the default user's. In place of a password,
    ///   `PASSWORD_FILE` names a file with it, see [`credentials_file`](Self::credentials_file);
    /// - `PREFIX`: see [`prefix`](Self::prefix);
    /// - `TLS`: `true`, `yes`, `on` or `1` to encrypt all connections, trusting the system's certificate authorities
    ///   (or those in the file that `SSL_CERT_FILE` names); `false`, `no`, `off` or `0` not to encrypt.
    ///
    /// If both a host and a sentinel's are set, that of the earlier prefix counts. The other settings have no
    /// variables.
    ///
    /// ```
    /// # use tenure::store::redis::{RedisConfig, RedisEnvError};
    /// # fn main() -> Result<(), RedisEnvError> {
    /// let set = |name: &str| (name == "APP_REDIS_HOST").then(|| "redis.example.org".into());
    /// let config = RedisConfig::from_variables(&["APP_REDIS_", "REDIS_"], set)?;
    /// # drop(config);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If a value is none of these, or surely is [a mistake](TextError), or values do not go together. The error names
    /// the variable, and never shows a password.
    pub fn from_variables(
        prefixes: &[&str],
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, RedisEnvError> {
        let variables = Variables { prefixes, lookup };
        let (servers, rank) = variables.servers()?;
        let mut config = Self::at(servers);
        config.login = variables.login(rank)?;
        if let Some(prefix) = variables.find("PREFIX")? {
            config = config.prefix(&prefix.value).map_err(|source| prefix.refused(source))?;
        }
        if let Some(tls) = variables.find("TLS")?
            && tls.is_on()?
        {
            let source = |source| RedisEnvError::Tls { variable: tls.name, source };
            config.tls = Some(TlsConfig::system().map_err(source)?);
        }
        Ok(config)
    }
}

struct Variables<'a, L> {
    prefixes: &'a [&'a str],
    lookup: L,
}

/// A variable that is set.
struct Variable {
    name: String,
    value: String,
    /// Which of the prefixes it has.
    rank: usize,
}

impl<L: Fn(&str) -> Option<OsString>> Variables<'_, L> {
    fn find(&self, what: &str) -> Result<Option<Variable>, RedisEnvError> {
        (0..self.prefixes.len()).find_map(|rank| self.set(rank, what)).unwrap_or(Ok(None))
    }

    /// A variable under that prefix, if it is set: to a value, or to nothing.
    fn set(&self, rank: usize, what: &str) -> Option<Result<Option<Variable>, RedisEnvError>> {
        let name = format!("{}{what}", self.prefixes[rank]);
        let value = (self.lookup)(&name)?;
        Some(match value.into_string() {
            Ok(value) if value.is_empty() => Ok(None),
            Ok(value) => Variable { name, value, rank }.checked(what == PASSWORD).map(Some),
            Err(_) => Err(RedisEnvError::NotUnicode { variable: name }),
        })
    }

    /// The servers, and the rank of the prefix that names them.
    fn servers(&self) -> Result<(Servers, usize), RedisEnvError> {
        let (host, sentinels) = (self.find("HOST")?, self.find("SENTINEL_HOST")?);
        match (host, sentinels) {
            (Some(host), Some(sentinels)) if host.rank == sentinels.rank => {
                let (one, other) = (host.name, sentinels.name);
                Err(RedisEnvError::Contradiction { one, other })
            }
            (Some(host), Some(sentinels)) if host.rank > sentinels.rank => {
                self.sentinels(&sentinels)
            }
            (Some(host), Some(_)) => self.one(&host),
            (None, Some(sentinels)) => self.sentinels(&sentinels),
            (host, None) => {
                // Those of a later prefix than the host's belong to the program's other server.
                let last = host.as_ref().map_or(usize::MAX, |host| host.rank);
                for what in ["SENTINEL_NAME", "SENTINEL_PORT"] {
                    if let Some(useless) = self.find(what)?.filter(|found| found.rank <= last) {
                        return Err(self.missing("SENTINEL_HOST", Some(&useless)));
                    }
                }
                self.one(&host.ok_or_else(|| self.missing("HOST", None))?)
            }
        }
    }

    fn one(&self, host: &Variable) -> Result<(Servers, usize), RedisEnvError> {
        let port = self.port("PORT", PORT)?;
        if let Ok(Some(of_port)) = self.find("PORT")
            && of_port.rank > host.rank
        {
            let (host, port) = (&*host.name, &*of_port.name);
            tracing::warn!(
                host,
                port,
                "the port comes from another prefix than the host: set the host's own if it differs"
            );
        }
        Ok((Servers::One(Address::new(host.as_host(&host.value)?, port)), host.rank))
    }

    fn sentinels(&self, hosts: &Variable) -> Result<(Servers, usize), RedisEnvError> {
        let Some(primary) = self.find("SENTINEL_NAME")? else {
            return Err(self.missing("SENTINEL_NAME", Some(hosts)));
        };
        let port = self.port("SENTINEL_PORT", SENTINEL_PORT)?;
        let listed = hosts.value.split(',').map(|text| hosts.as_address(text.trim(), port));
        let listed =
            distinct(listed.collect::<Result<_, _>>()?).map_err(|why| hosts.refused(why))?;
        Ok((Servers::Sentinels { listed, primary: primary.value }, hosts.rank))
    }

    fn login(&self, rank: usize) -> Result<Login, RedisEnvError> {
        let username = self.of_host("USERNAME", rank)?;
        let password = self.of_host(PASSWORD, rank)?;
        let file = self.of_host("PASSWORD_FILE", rank)?;
        let name = || username.as_ref().map_or_else(String::new, |name| name.value.clone());
        match (password, file) {
            (Some(one), Some(other)) => {
                Err(RedisEnvError::TwoPasswords { one: one.name, other: other.name })
            }
            (Some(password), None) => Ok(Login::fixed(name(), Secret::new(password.value))),
            (None, Some(file)) => match credentials::from_file(file.value.as_ref()) {
                Ok(_) => Ok(Login::file(name(), file.value)),
                Err(source) => Err(RedisEnvError::PasswordFile { variable: file.name, source }),
            },
            (None, None) => match username {
                None => Ok(Login::default()),
                Some(username) => {
                    let variables = format!("{}{PASSWORD}", self.prefixes[rank]);
                    Err(RedisEnvError::Incomplete { variables, needed_by: username.name })
                }
            },
        }
    }

    /// A variable that belongs to the host, which has that prefix.
    fn of_host(&self, what: &str, rank: usize) -> Result<Option<Variable>, RedisEnvError> {
        let own = self.set(rank, what);
        if own.is_none()
            && let Ok(Some(unused)) = self.find(what)
        {
            let (unused, instead) = (&*unused.name, format!("{}{what}", self.prefixes[rank]));
            tracing::warn!(
                unused,
                instead,
                "a variable is not used, since the host is named under another prefix: set the same one \
                 under that prefix, empty if there is none"
            );
        }
        own.unwrap_or(Ok(None))
    }

    fn port(&self, what: &str, default: u16) -> Result<u16, RedisEnvError> {
        self.find(what)?.map_or(Ok(default), |port| port.as_port(&port.value))
    }

    fn missing(&self, what: &str, needed_by: Option<&Variable>) -> RedisEnvError {
        let name = |(rank, prefix)| match self.set(rank, what) {
            Some(Ok(None)) => format!("{prefix}{what} (which is set, and empty)"),
            Some(_) | None => format!("{prefix}{what}"),
        };
        let names: Vec<_> = self.prefixes.iter().enumerate().map(name).collect();
        let variables = names.join(" or ");
        match needed_by.map(|variable| variable.name.clone()) {
            Some(needed_by) => RedisEnvError::Incomplete { variables, needed_by },
            None => RedisEnvError::NoHost { variables },
        }
    }
}

/// The variable that no error shows.
const PASSWORD: &str = "PASSWORD";

impl Variable {
    fn is(&self, must: &'static str) -> RedisEnvError {
        RedisEnvError::Value { variable: self.name.clone(), value: shown(&self.value), must }
    }

    /// The variable, unless its value surely is a mistake.
    fn checked(self, is_secret: bool) -> Result<Self, RedisEnvError> {
        match TextError::check(&self.value) {
            Ok(()) => Ok(self),
            Err(why) => {
                let value = if is_secret { "***".to_owned() } else { shown(&self.value) };
                Err(RedisEnvError::Text { variable: self.name, value, why })
            }
        }
    }

    fn refused(&self, source: RedisConfigError) -> RedisEnvError {
        RedisEnvError::Refused { variable: self.name.clone(), source }
    }

    fn as_port(&self, text: &str) -> Result<u16, RedisEnvError> {
        let port = text.parse().ok().filter(|port| *port > 0);
        port.ok_or_else(|| self.is("a port from 1 to 65535, such as 6379"))
    }

    fn as_host(&self, text: &str) -> Result<String, RedisEnvError> {
        let address = text.parse::<IpAddr>().is_ok().then_some(text);
        let found = address.or_else(|| host(text)).map(str::to_owned);
        found.ok_or_else(|| {
            self.is(
                "a host's name or address, such as 127.0.0.1; the port has a variable of its own",
            )
        })
    }

    /// A host, perhaps with a port of its own.
    fn as_address(&self, text: &str, port: u16) -> Result<Address, RedisEnvError> {
        let (host, port) = match text.rsplit_once(':') {
            _ if text.parse::<IpAddr>().is_ok() || text.ends_with(']') => (text, port),
            Some((host, port)) => (host, self.as_port(port)?),
            None => (text, port),
        };
        let host = self.as_host(host);
        let host = host.map_err(|_| self.is("hosts separated by commas, each with a port or none, such as 10.0.0.1,10.0.0.2:26379"));
        Ok(Address::new(host?, port))
    }

    fn is_on(&self) -> Result<bool, RedisEnvError> {
        match &*self.value.to_ascii_lowercase() {
            "true" | "yes" | "on" | "1" => Ok(true),
            "false" | "no" | "off" | "0" => Ok(false),
            _ => Err(self.is("true, yes, on or 1, or else false, no, off or 0")),
        }
    }
}

#[cfg(test)]
mod tests;
