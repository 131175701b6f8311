//! A configuration from one line of text.

use std::time::Duration;

use url::Url;

use super::config::{Address, Login, Servers};
use super::{RedisConfig, RedisConfigError};
use crate::store::Secret;
use crate::tls::{TlsConfig, TlsError};

pub(super) const PORT: u16 = 6379;
pub(super) const SENTINEL_PORT: u16 = 26379;

impl RedisConfig {
    /// Reads one of
    ///
    /// - `redis://[user[:password]@]host[:port][/database]`: one server;
    /// - `redis+sentinel://[user[:password]@]host[:port][,host[:port]..]/name[/database]`: the primary
    ///   of that name, which these sentinels watch;
    /// - `redis+cluster://[user[:password]@]host[:port][,host[:port]..]`: a cluster with these nodes.
    ///
    /// The user is one of the servers that elections are kept at. With `rediss` instead of `redis`, all
    /// connections are encrypted. Parameters, as in `?prefix=app`:
    ///
    /// - `prefix`, see [`prefix`](Self::prefix);
    /// - `replica_acks` and `replica_wait_ms`, see [`replica_acks`](Self::replica_acks);
    /// - `ca`: a file with the certificate authorities to believe instead of the system's; `cert` and
    ///   `key`: those with the client's own certificate; `server_name`: the name that the servers'
    ///   certificates have, if it is not the host that is connected to;
    /// - `sentinel_username` and `sentinel_password`: the user of the sentinels, if they have one.
    ///
    /// # Errors
    /// If the text is anything else, or a file can't be read. The error names the part at fault and
    /// never shows the text, which may hold a password.
    pub fn from_url(url: &str) -> Result<Self, RedisConfigError> {
        let urls = one_for_each_host(url)?;
        let Some(url) = urls.first() else { return Err(RedisConfigError::NoHost) };
        if [Some(url.path()), url.query(), url.fragment()]
            .iter()
            .flatten()
            .any(|part| part.contains('@'))
        {
            return Err(RedisConfigError::StrayAt);
        }
        let (encrypted, form) = scheme(url.scheme())?;
        let listed =
            |port| urls.iter().map(|url| address(url, port)).collect::<Result<Vec<_>, _>>();
        let path = url.path().trim_start_matches('/');
        let (servers, database) = match form {
            Form::One if urls.len() > 1 => {
                return Err(RedisConfigError::Hosts { hosts: urls.len() });
            }
            Form::One => (Servers::One(address(url, PORT)?), path),
            Form::Sentinel => {
                let listed = listed(SENTINEL_PORT)?;
                let (primary, database) = path.split_once('/').unwrap_or((path, ""));
                if primary.is_empty() {
                    return Err(RedisConfigError::NoPrimary);
                }
                (Servers::Sentinels { listed, primary: decoded(primary) }, database)
            }
            Form::Cluster if !matches!(path, "" | "0") => {
                return Err(RedisConfigError::ClusterDatabase { value: path.to_owned() });
            }
            Form::Cluster => (Servers::Cluster { listed: listed(PORT)? }, ""),
        };
        let mut config = Self::at(servers);
        config.login.username = Some(url.username()).filter(|name| !name.is_empty()).map(decoded);
        config.login.password = url.password().map(|password| Secret::new(decoded(password)));
        if !database.is_empty() {
            let number = database.parse();
            config.database =
                number.map_err(|_| RedisConfigError::Database { value: database.to_owned() })?;
        }
        let mut files = Files::default();
        for (name, value) in url.query_pairs() {
            let value = value.into_owned();
            match &*name {
                "prefix" => config = config.prefix(value)?,
                "replica_acks" => {
                    config = config.replica_acks(number("replica_acks", value, u16::MAX)?);
                }
                "replica_wait_ms" => {
                    let wait = number("replica_wait_ms", value, u32::MAX)?;
                    config = config.replica_wait(Duration::from_millis(wait.into()));
                }
                "ca" if encrypted => files.ca = Some(value),
                "cert" if encrypted => files.cert = Some(value),
                "key" if encrypted => files.key = Some(value),
                "server_name" if encrypted => files.server_name = Some(value),
                "sentinel_username" if form == Form::Sentinel => {
                    config.sentinel_login.username = Some(value).filter(|name| !name.is_empty());
                }
                "sentinel_password" if form == Form::Sentinel => {
                    config.sentinel_login.password = Some(Secret::new(value));
                }
                _ => return Err(RedisConfigError::Parameter { name: name.into_owned() }),
            }
        }
        if let Login { username: Some(_), password: None } = config.sentinel_login {
            let (missing, needed_by) = ("sentinel_password", "sentinel_username");
            return Err(RedisConfigError::Missing { missing, needed_by });
        }
        if encrypted {
            config.tls = Some(files.tls()?);
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
        scheme => return Err(RedisConfigError::Scheme { scheme: scheme.to_owned() }),
    })
}

/// Lists of hosts are nothing that URLs have: each of them is read as if it stood there alone.
fn one_for_each_host(text: &str) -> Result<Vec<Url>, RedisConfigError> {
    let parsed = |url: &str| Url::parse(url).map_err(RedisConfigError::Syntax);
    let Some((scheme, rest)) = text.split_once("://") else { return Ok(vec![parsed(text)?]) };
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // A password may have commas.
    let (user, hosts) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
    hosts.split(',').map(|host| parsed(&format!("{scheme}://{user}{host}{tail}"))).collect()
}

fn address(url: &Url, port: u16) -> Result<Address, RedisConfigError> {
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or(RedisConfigError::NoHost)?;
    Ok(Address::new(host.trim_matches(['[', ']']), url.port().unwrap_or(port)))
}

fn number<T: std::str::FromStr + Into<u32>>(
    name: &'static str,
    value: String,
    most: T,
) -> Result<T, RedisConfigError> {
    match value.parse() {
        Ok(number) => Ok(number),
        Err(_) => Err(RedisConfigError::Number { name, value, most: most.into() }),
    }
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[derive(Default)]
struct Files {
    ca: Option<String>,
    cert: Option<String>,
    key: Option<String>,
    server_name: Option<String>,
}

impl Files {
    fn tls(self) -> Result<TlsConfig, RedisConfigError> {
        let mut tls = match self.ca {
            Some(path) => TlsConfig::with_ca_file(path)?,
            None => TlsConfig::system()?,
        };
        let missing = |missing, needed_by| Err(RedisConfigError::Missing { missing, needed_by });
        tls = match (self.cert, self.key) {
            (Some(cert), Some(key)) => tls.client_certificate(read(cert)?, read(key)?)?,
            (Some(_), None) => return missing("key", "cert"),
            (None, Some(_)) => return missing("cert", "key"),
            (None, None) => tls,
        };
        Ok(match self.server_name {
            Some(name) => tls.server_name(name)?,
            None => tls,
        })
    }
}

fn read(path: String) -> Result<Vec<u8>, TlsError> {
    std::fs::read(&path).map_err(|source| TlsError::File { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Key;

    fn read(url: &str) -> RedisConfig {
        RedisConfig::from_url(url).unwrap()
    }

    fn addresses(listed: &[(&str, u16)]) -> Vec<Address> {
        listed.iter().map(|&(host, port)| Address::new(host, port)).collect()
    }

    #[test]
    fn reads_every_part_of_a_url() {
        let config = read(
            "redis://me:p%40ss@example.org:7000/3?prefix=app&replica_acks=2&replica_wait_ms=50",
        );
        assert_eq!(config.servers, Servers::One(Address::new("example.org", 7000)));
        assert_eq!(config.database, 3);
        assert_eq!(config.login.username.as_deref(), Some("me"));
        assert_eq!(config.login.password.as_ref().map(Secret::reveal), Some("p@ss"));
        assert_eq!((config.replicas.least, config.replicas.within.as_millis()), (2, 50));
        assert_eq!(config.record(&Key::new("a:b").unwrap()), "{app}:leader:a:b");
        assert_eq!(config.history(), "{app}:history");
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
        assert_eq!(config.login.password.as_ref().map(Secret::reveal), Some("a,b"));
        assert_eq!(config.sentinel_login.username.as_deref(), Some("s"));
        assert_eq!(config.sentinel_login.password.as_ref().map(Secret::reveal), Some("t"));
        let config = read("redis+cluster://h1:1,h2?prefix=app");
        let listed = addresses(&[("h1", 1), ("h2", 6379)]);
        assert_eq!(config.servers, Servers::Cluster { listed });
        assert_eq!(config.prefix, "app");
    }

    #[test]
    fn errors_name_the_part_and_hide_the_rest() {
        for (url, expected) in [
            ("redis//x", "the Redis URL can't be read"),
            ("redis://u:hush@h:99999", "the Redis URL can't be read"),
            ("http://u:hush@h", "the Redis URL's scheme is \"http\"; it must be \"redis\" or"),
            ("redis://", "the Redis URL names no host"),
            ("redis://u:12/hush@h", "the Redis URL has an @ after its hosts"),
            ("redis://u:12?hush@h", "the Redis URL has an @ after its hosts"),
            ("redis+cluster://u:hush@h1,:7", "the Redis URL can't be read"),
            ("redis+cluster://h1,,h2", "the Redis URL names no host"),
            ("redis://u:hush@h1,h2", "the Redis URL names 2 hosts; for more than one"),
            ("redis+sentinel://u:hush@h", "the name of the primary that the sentinels watch is"),
            (
                "redis://u:hush@h/x",
                "the Redis URL's database is \"x\"; it must be a number from 0 to 255",
            ),
            ("redis+sentinel://u:hush@h/main/x", "the Redis URL's database is \"x\""),
            (
                "redis+cluster://u:hush@h/1",
                "the Redis URL's database is \"1\"; a cluster has only 0",
            ),
            (
                "redis://u:hush@h?prefix={a}",
                "the prefix is \"{a}\"; it must have 1 to 128 bytes and no braces",
            ),
            (
                "redis://u:hush@h?replica_acks=many",
                "the Redis URL's replica_acks is \"many\"; it must be a number from 0 to 65535",
            ),
            ("redis://u:hush@h?timeout=3", "the Redis URL has a parameter \"timeout\"; known are"),
            ("redis://u:hush@h?ca=f", "the Redis URL has a parameter \"ca\""),
            (
                "redis+cluster://u:hush@h?sentinel_password=hush",
                "the Redis URL has a parameter \"sentinel_password\"",
            ),
            (
                "redis+sentinel://h/main?sentinel_username=hush",
                "the Redis URL has no parameter \"sentinel_password\", which \"sentinel_username\" needs",
            ),
            ("rediss://u:hush@h?ca=/no/such", "TLS can't be set up for the Redis URL"),
            ("rediss://u:hush@h?cert=c", "the Redis URL has no parameter \"key\""),
        ] {
            let error = RedisConfig::from_url(url).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{url}: {error}");
            assert!(!format!("{error:?}").contains("hush"), "{url}: {error:?}");
        }
    }
}
