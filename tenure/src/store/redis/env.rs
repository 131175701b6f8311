//! A configuration from environment variables.

use std::ffi::OsString;
use std::net::IpAddr;

use super::config::{Address, Login, Servers};
use super::url::{PORT, SENTINEL_PORT};
use super::{RedisConfig, RedisConfigError};
use crate::store::Secret;
use crate::tls::{TlsConfig, TlsError};

impl RedisConfig {
    /// Reads `TENURE_REDIS_HOST` and its like, and in place of each one that is not set `REDIS_HOST` and
    /// its like; see [`from_variables`](Self::from_variables).
    ///
    /// # Errors
    /// As for [`from_variables`](Self::from_variables).
    pub fn from_env() -> Result<Self, RedisEnvError> {
        Self::from_env_prefixed(&["TENURE_REDIS_", "REDIS_"])
    }

    /// The same with other prefixes, for those who have `MUTEX_REDIS_HOST` and its like already.
    ///
    /// # Errors
    /// As for [`from_variables`](Self::from_variables).
    pub fn from_env_prefixed(prefixes: &[&str]) -> Result<Self, RedisEnvError> {
        Self::from_variables(prefixes, |name| std::env::var_os(name))
    }

    /// Reads variables from wherever they are. Each is looked for under the first prefix, then under the
    /// next, and an empty one is none:
    ///
    /// | variable | says |
    /// |---|---|
    /// | `HOST`, `PORT` | where the server is; the port is 6379 if not set |
    /// | `SENTINEL_HOST`, `SENTINEL_PORT`, `SENTINEL_NAME` | in its place: the sentinels, separated by commas, each with a port of its own or else this one (26379), and the name of the primary that they watch |
    /// | `USERNAME`, `PASSWORD` | the user; a password alone is the default user's |
    /// | `PREFIX` | see [`prefix`](Self::prefix) |
    /// | `TLS` | `true`, `yes`, `on` or `1` to encrypt all connections, believing the system's certificate authorities (or those in the file that `SSL_CERT_FILE` names); `false`, `no`, `off` or `0` not to |
    ///
    /// If both a host and a sentinel's are set, that of the earlier prefix counts. What has no variable is
    /// up to the code.
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
    /// If a value is none of these, or values do not go together. The error names the variable, and never
    /// shows a password.
    pub fn from_variables(
        prefixes: &[&str],
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, RedisEnvError> {
        let variables = Variables { prefixes, lookup };
        let mut config = Self::at(variables.servers()?);
        config.login = variables.login()?;
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
        for (rank, prefix) in self.prefixes.iter().enumerate() {
            let name = format!("{prefix}{what}");
            let Some(value) = (self.lookup)(&name).filter(|value| !value.is_empty()) else {
                continue;
            };
            return match value.into_string() {
                Ok(value) => Ok(Some(Variable { name, value, rank })),
                Err(_) => Err(RedisEnvError::NotUnicode { variable: name }),
            };
        }
        Ok(None)
    }

    fn servers(&self) -> Result<Servers, RedisEnvError> {
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
                for what in ["SENTINEL_NAME", "SENTINEL_PORT"] {
                    if let Some(useless) = self.find(what)? {
                        return Err(self.missing("SENTINEL_HOST", Some(&useless)));
                    }
                }
                self.one(&host.ok_or_else(|| self.missing("HOST", None))?)
            }
        }
    }

    fn one(&self, host: &Variable) -> Result<Servers, RedisEnvError> {
        let port = self.port("PORT", PORT)?;
        Ok(Servers::One(Address::new(host.as_host(&host.value)?, port)))
    }

    fn sentinels(&self, hosts: &Variable) -> Result<Servers, RedisEnvError> {
        let Some(primary) = self.find("SENTINEL_NAME")? else {
            return Err(self.missing("SENTINEL_NAME", Some(hosts)));
        };
        let port = self.port("SENTINEL_PORT", SENTINEL_PORT)?;
        let listed = hosts.value.split(',').map(|text| hosts.as_address(text.trim(), port));
        Ok(Servers::Sentinels { listed: listed.collect::<Result<_, _>>()?, primary: primary.value })
    }

    fn login(&self) -> Result<Login, RedisEnvError> {
        let (username, password) = (self.find("USERNAME")?, self.find("PASSWORD")?);
        if let (Some(username), None) = (&username, &password) {
            return Err(self.missing("PASSWORD", Some(username)));
        }
        let username = username.map(|username| username.value);
        Ok(Login { username, password: password.map(|password| Secret::new(password.value)) })
    }

    fn port(&self, what: &str, default: u16) -> Result<u16, RedisEnvError> {
        self.find(what)?.map_or(Ok(default), |port| port.as_port(&port.value))
    }

    fn missing(&self, what: &str, needed_by: Option<&Variable>) -> RedisEnvError {
        let names: Vec<_> = self.prefixes.iter().map(|prefix| format!("{prefix}{what}")).collect();
        let variables = names.join(" or ");
        match needed_by.map(|variable| variable.name.clone()) {
            Some(needed_by) => RedisEnvError::Incomplete { variables, needed_by },
            None => RedisEnvError::NoHost { variables },
        }
    }
}

impl Variable {
    fn is(&self, must: &'static str) -> RedisEnvError {
        // Somebody may have put a whole URL here, with a password in it.
        let value = if self.value.contains('@') { "***" } else { &self.value };
        RedisEnvError::Value { variable: self.name.clone(), value: value.to_owned(), must }
    }

    fn refused(&self, source: RedisConfigError) -> RedisEnvError {
        RedisEnvError::Refused { variable: self.name.clone(), source }
    }

    fn as_port(&self, text: &str) -> Result<u16, RedisEnvError> {
        let port = text.parse().ok().filter(|port| *port > 0);
        port.ok_or_else(|| self.is("a port from 1 to 65535"))
    }

    fn as_host(&self, text: &str) -> Result<String, RedisEnvError> {
        let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        let is_name = |text: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-._".contains(c))
        };
        if is_name(text) || text.parse::<IpAddr>().is_ok() {
            return Ok(text.to_owned());
        }
        Err(self.is("a host's name or address, which has a variable of its own for the port"))
    }

    /// A host, perhaps with a port of its own.
    fn as_address(&self, text: &str, port: u16) -> Result<Address, RedisEnvError> {
        let (host, port) = match text.rsplit_once(':') {
            _ if text.parse::<IpAddr>().is_ok() || text.ends_with(']') => (text, port),
            Some((host, port)) => (host, self.as_port(port)?),
            None => (text, port),
        };
        let host = self.as_host(host);
        let host = host.map_err(|_| self.is("hosts separated by commas, each with a port or none"));
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

/// Why environment variables make no configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedisEnvError {
    /// A value can't be read.
    #[error("{variable} is {value:?}; it must be {must}")]
    Value {
        /// The variable.
        variable: String,
        /// What it says, unless there is an `@` in it.
        value: String,
        /// What it may say.
        must: &'static str,
    },
    /// A value is not text.
    #[error("{variable} is not UTF-8")]
    NotUnicode {
        /// The variable.
        variable: String,
    },
    /// A value can't be used.
    #[error("{variable} can't be used: {source}")]
    Refused {
        /// The variable.
        variable: String,
        /// Why.
        source: RedisConfigError,
    },
    /// Nothing says where to connect to.
    #[error("no server is named: set {variables}")]
    NoHost {
        /// What could say it.
        variables: String,
    },
    /// A variable that another one needs.
    #[error("{needed_by} is set, and {variables} is not")]
    Incomplete {
        /// What is not set.
        variables: String,
        /// What is.
        needed_by: String,
    },
    /// Two variables that say different things.
    #[error("{one} and {other} are both set: elections are kept at one of them")]
    Contradiction {
        /// One of them.
        one: String,
        /// The other.
        other: String,
    },
    /// TLS can't be set up.
    #[error("{variable} is on, but TLS can't be set up")]
    Tls {
        /// The variable.
        variable: String,
        /// Why.
        #[source]
        source: TlsError,
    },
}

#[cfg(test)]
mod tests;
