//! How to reach a Redis server, and where in it elections are kept.

use std::time::Duration;

use url::Url;

use crate::store::{Key, Secret};

/// Where a Redis server is, and how to use it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct RedisConfig {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) username: Option<String>,
    pub(super) password: Option<Secret>,
    pub(super) database: u8,
    pub(super) prefix: String,
    pub(super) connect_timeout: Duration,
    pub(super) trust_empty_store: bool,
}

impl RedisConfig {
    /// A server without credentials, with the prefix `tenure`.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
            username: None,
            password: None,
            database: 0,
            prefix: "tenure".into(),
            connect_timeout: Duration::from_secs(1),
            trust_empty_store: false,
        }
    }

    /// Reads `redis://[user[:password]@]host[:port][/database][?prefix=...]`.
    ///
    /// # Errors
    /// If the text is anything else. The error names the part at fault and never shows the text, which
    /// may hold a password.
    pub fn from_url(url: &str) -> Result<Self, RedisUrlError> {
        let url = Url::parse(url).map_err(RedisUrlError::Syntax)?;
        match url.scheme() {
            "redis" => {}
            scheme => return Err(RedisUrlError::Scheme { scheme: scheme.to_owned() }),
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(RedisUrlError::NoHost)?;
        let mut config = Self::new(host.trim_matches(['[', ']']), url.port().unwrap_or(6379));
        config.username = Some(url.username()).filter(|name| !name.is_empty()).map(decoded);
        config.password = url.password().map(|password| Secret::new(decoded(password)));
        let database = url.path().trim_start_matches('/');
        if !database.is_empty() {
            let number = database.parse();
            config.database =
                number.map_err(|_| RedisUrlError::Database { value: database.to_owned() })?;
        }
        for (name, value) in url.query_pairs() {
            match &*name {
                "prefix" => config = config.prefix(value)?,
                _ => return Err(RedisUrlError::Parameter { name: name.into_owned() }),
            }
        }
        Ok(config)
    }

    /// Sets the credentials of an ACL user; with an empty name, the default user's password.
    pub fn credentials(mut self, username: impl Into<String>, password: Secret) -> Self {
        self.username = Some(username.into()).filter(|name| !name.is_empty());
        self.password = Some(password);
        self
    }

    /// Sets what the names of all keys begin with. Elections of one prefix share a history, and a
    /// slot in a cluster.
    ///
    /// # Errors
    /// If it is empty, longer than 128 bytes, or has a brace in it.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Result<Self, RedisUrlError> {
        let prefix = prefix.into();
        if prefix.is_empty() || prefix.len() > 128 || prefix.contains(['{', '}']) {
            return Err(RedisUrlError::Prefix { prefix });
        }
        self.prefix = prefix;
        Ok(self)
    }

    /// Sets how long opening a connection may take. Default: 1 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Takes a server that has never seen the prefix for one that has lost nothing, so that the very
    /// first leader does not wait out the quarantine. For tests and throw-away servers: with it, a
    /// server that lost all of its data can lead to two leaders.
    pub fn trust_empty_store(mut self, trust: bool) -> Self {
        self.trust_empty_store = trust;
        self
    }

    /// The name of an election's record, which is also the channel of its hints. The braces keep it in
    /// one cluster slot with the prefix's history.
    pub(super) fn record(&self, key: &Key) -> String {
        self.record_parts(key).concat()
    }

    /// The same in parts, for those who write it into a buffer of their own.
    pub(super) fn record_parts<'a>(&'a self, key: &'a Key) -> [&'a str; 4] {
        ["{", &self.prefix, "}:leader:", key.as_str()]
    }

    /// The channel of the messages to an election's leader.
    pub(super) fn inbox(&self, key: &Key) -> String {
        format!("{{{}}}:inbox:{key}", self.prefix)
    }

    /// The name of the prefix's history.
    pub(super) fn history(&self) -> String {
        format!("{{{}}}:history", self.prefix)
    }
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Why a Redis URL or a part of it was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RedisUrlError {
    /// Not a URL.
    #[error("the Redis URL can't be read")]
    Syntax(#[source] url::ParseError),
    /// Another scheme than `redis`.
    #[error("the Redis URL's scheme is {scheme:?}; only \"redis\" is supported")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// No host.
    #[error("the Redis URL names no host")]
    NoHost,
    /// The database is no number that Redis knows.
    #[error("the Redis URL's database is {value:?}; it must be a number from 0 to 255")]
    Database {
        /// What was given.
        value: String,
    },
    /// The prefix can't be used in key names.
    #[error("the prefix is {prefix:?}; it must have 1 to 128 bytes and no braces")]
    Prefix {
        /// What was given.
        prefix: String,
    },
    /// An unknown parameter.
    #[error("the Redis URL has a parameter {name:?}; known is \"prefix\"")]
    Parameter {
        /// Its name.
        name: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_part_of_a_url() {
        let config = RedisConfig::from_url("redis://me:p%40ss@example.org:7000/3?prefix=app");
        let config = config.unwrap();
        assert_eq!((&*config.host, config.port, config.database), ("example.org", 7000, 3));
        assert_eq!(config.username.as_deref(), Some("me"));
        assert_eq!(config.password.as_ref().map(Secret::reveal), Some("p@ss"));
        assert_eq!(config.record(&Key::new("a:b").unwrap()), "{app}:leader:a:b");
        assert_eq!(config.history(), "{app}:history");
        assert!(!format!("{config:?}").contains("p@ss"));
        assert_eq!(RedisConfig::from_url("redis://[::1]").unwrap().host, "::1");
    }

    #[test]
    fn errors_name_the_part_and_hide_the_rest() {
        for (url, expected) in [
            ("redis//x", "the Redis URL can't be read"),
            (
                "rediss://u:hush@h",
                "the Redis URL's scheme is \"rediss\"; only \"redis\" is supported",
            ),
            ("redis://", "the Redis URL names no host"),
            (
                "redis://u:hush@h/x",
                "the Redis URL's database is \"x\"; it must be a number from 0 to 255",
            ),
            (
                "redis://u:hush@h?prefix={a}",
                "the prefix is \"{a}\"; it must have 1 to 128 bytes and no braces",
            ),
            (
                "redis://u:hush@h?timeout=3",
                "the Redis URL has a parameter \"timeout\"; known is \"prefix\"",
            ),
        ] {
            let error = RedisConfig::from_url(url).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert!(!format!("{error:?}").contains("hush"));
        }
    }
}
