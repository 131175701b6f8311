//! A configuration from a URL or from environment variables.

use std::ffi::OsString;
use std::time::Duration;

use super::config::{
    Address, DATABASE, Listed, NODES, PREFIX, PRIMARY, RedisConfig, SENTINELS, Servers, distinct,
};
use crate::SettingError;
use crate::logging;
use crate::settings::values::{flag, parsed, port};
use crate::settings::{Configured, Fault, Given, Hosts, Path, Scheme, Setting, Table, Variables};
use crate::store::Secret;
use crate::store::common::{
    self, CA, CERT, KEY, LoginSettings, PASSWORD, PASSWORD_FILE, SERVER_NAME, TlsSettings, USER,
};

const HOST: Setting<String> = common::HOST.default("required, without sentinels or nodes");
const PORT: Setting<u16> = common::PORT.default("6379");
const SENTINEL_PORT: Setting<u16> = Setting::only_variable("SENTINEL_PORT", port)
    .must("a port from 1 to 65535", "26379")
    .default("26379")
    .about("the port of each sentinel without one of its own");
const TLS: Setting<bool> = Setting::part("tls", flag)
    .variable("TLS")
    .must("true, yes, on or 1, or else false, no, off or 0", "off")
    .with("rediss")
    .default("off")
    .about("whether all connections are encrypted, those to sentinels too");
const REPLICA_ACKS: Setting<u16> = Setting::parameter("replica_acks", parsed)
    .must("a number from 0 to 65535", "1")
    .default("0")
    .about("how many [replicas must acknowledge](#replicas-that-acknowledge) a grant or a renewal");
const REPLICA_WAIT: Setting<u32> = Setting::parameter("replica_wait_ms", parsed)
    .must("a number from 0 to 4294967295", "100")
    .default("100")
    .about("for how many milliseconds a request waits for them");
const SENTINEL_USER: Setting<String> =
    USER.renamed("sentinel_username").with("redis+sentinel").about("the user at the sentinels");
const SENTINEL_PASSWORD: Setting<Secret> =
    PASSWORD.renamed("sentinel_password").with("redis+sentinel").about("its password");
const SENTINEL_FILE: Setting<String> = PASSWORD_FILE
    .renamed("sentinel_password_file")
    .with("redis+sentinel")
    .about("a file with it, in its place");

const LOGIN: LoginSettings = LoginSettings { user: USER, password: PASSWORD, file: PASSWORD_FILE };
const SENTINEL_LOGIN: LoginSettings =
    LoginSettings { user: SENTINEL_USER, password: SENTINEL_PASSWORD, file: SENTINEL_FILE };
const NAME_IN_CERTIFICATES: Setting<String> = SERVER_NAME.with("rediss");
const ENCRYPTION: TlsSettings = TlsSettings {
    on: &TLS.row,
    ca: CA.with("rediss"),
    cert: CERT.with("rediss"),
    key: KEY.with("rediss"),
    server_name: Some(NAME_IN_CERTIFICATES),
};

pub(super) static TABLE: Table = Table {
    store: "Redis",
    schemes: &[
        Scheme {
            names: &["redis"],
            encrypted: Some("rediss"),
            form: "://[user:password@]host[:port][/database]",
            example: "://127.0.0.1:6379",
            hosts: Hosts::One(
                "to name several, begin with redis+sentinel or redis+cluster, as in \
                 redis+cluster://10.0.0.1,10.0.0.2,10.0.0.3",
            ),
            path: Path::Pieces(&["database"]),
        },
        Scheme {
            names: &["redis+sentinel"],
            encrypted: Some("rediss+sentinel"),
            form: "://[user:password@]host[:port][,host[:port]..]/name[/database]",
            example: "://10.0.0.1,10.0.0.2,10.0.0.3/mymaster",
            hosts: Hosts::List("list of sentinels"),
            path: Path::Pieces(&["primary", "database"]),
        },
        Scheme {
            names: &["redis+cluster"],
            encrypted: Some("rediss+cluster"),
            form: "://[user:password@]host[:port][,host[:port]..]",
            example: "://10.0.0.1,10.0.0.2,10.0.0.3",
            hosts: Hosts::List("list of nodes"),
            path: Path::Pieces(&["database"]),
        },
    ],
    settings: &[
        &HOST.row,
        &PORT.row,
        &SENTINELS.row,
        &SENTINEL_PORT.row,
        &PRIMARY.row,
        &NODES.row,
        &DATABASE.row,
        &USER.row,
        &PASSWORD.row,
        &PASSWORD_FILE.row,
        &PREFIX.row,
        &REPLICA_ACKS.row,
        &REPLICA_WAIT.row,
        &TLS.row,
        &ENCRYPTION.ca.row,
        &ENCRYPTION.cert.row,
        &ENCRYPTION.key.row,
        &NAME_IN_CERTIFICATES.row,
        &SENTINEL_USER.row,
        &SENTINEL_PASSWORD.row,
        &SENTINEL_FILE.row,
    ],
    foreign: &[],
    prefixes: &["TENURE_REDIS_", "REDIS_"],
};

impl RedisConfig {
    /// Reads one of
    ///
    /// - `redis://[user:password@]host[:port][/database]`: one server;
    /// - `redis+sentinel://[user:password@]host[:port][,host[:port]..]/name[/database]`: the
    ///   primary of that name, which these sentinels watch;
    /// - `redis+cluster://[user:password@]host[:port][,host[:port]..]`: a cluster with these nodes.
    ///
    /// The user is one of the servers that elections are kept at; without a name, it is the default
    /// user. With `rediss` instead of `redis`, all connections are encrypted. The parameters, as in
    /// `?prefix=app`, are in the table of `docs/stores/redis.md`, each at most once. All files are
    /// read at once, and again for each connection.
    ///
    /// # Errors
    /// If the text has another form, gives a parameter twice, or a file can't be read.
    pub fn from_url(url: &str) -> Result<Self, SettingError> {
        Self::of_url(url)
    }

    /// Reads variables such as `TENURE_REDIS_HOST`, and in place of each one that is not set,
    /// variables such as `REDIS_HOST`. [`from_variables`](Self::from_variables) reads those of other
    /// prefixes.
    ///
    /// # Errors
    /// As for [`from_variables`](Self::from_variables).
    pub fn from_env() -> Result<Self, SettingError> {
        Self::from_variables(TABLE.prefixes, |name| std::env::var_os(name))
    }

    /// Reads variables through `lookup`; the table of `docs/stores/redis.md` has their names. Each
    /// is looked up under the first prefix, then under the next. The first that is set counts; one
    /// that is set and empty means that there is no value, and a port such as
    /// `tcp://10.0.0.1:6379`, which Kubernetes sets for a Service, counts as not set. User and
    /// password are only looked up under the prefix of the host: those of one server are not sent
    /// to another.
    ///
    /// With encryption, the system's certificate authorities are trusted, or those in the file that
    /// `SSL_CERT_FILE` names. If both a host and a sentinel's are set, that of the earlier prefix
    /// counts.
    ///
    /// ```
    /// # use tenure::{SettingError, store::redis::RedisConfig};
    /// # fn main() -> Result<(), SettingError> {
    /// let set = |name: &str| (name == "APP_REDIS_HOST").then(|| "redis.example.org".into());
    /// let config = RedisConfig::from_variables(&["APP_REDIS_", "REDIS_"], set)?;
    /// # drop(config);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If a value is none of these, or surely is a mistake, or values do not go together. The error
    /// names the variable, and never shows a password.
    pub fn from_variables(
        prefixes: &[&str],
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, SettingError> {
        let variables = Variables { prefixes, lookup };
        let mut given = variables.given(TABLE.settings);
        if let Some(rank) = only_one_kind_of_server(&mut given)? {
            for row in [&USER.row, &PASSWORD.row, &PASSWORD_FILE.row] {
                if let Some(unused) = variables.only_under(&mut given, rank, row) {
                    logging::warn!(
                        unused,
                        instead = given.called(row),
                        "a variable is not used, since the host is named under another prefix: set the same one \
                         under that prefix, empty if there is none"
                    );
                }
            }
        }
        let config = Self::read(&mut given)?;
        given.finish()?;
        Ok(config)
    }
}

/// Leaves out the variables of a server, or those of sentinels, whichever has the later prefix:
/// they belong to the program's other server. Returns the rank of the prefix that counts.
fn only_one_kind_of_server(given: &mut Given) -> Result<Option<usize>, SettingError> {
    let (host, sentinels) = (given.rank(&HOST.row), given.rank(&SENTINELS.row));
    let beside = [&PRIMARY.row, &SENTINEL_PORT.row];
    let is_first = |rank: usize| host.is_none_or(|host| rank <= host);
    if let (None, Some(useless)) =
        (sentinels, beside.into_iter().find(|row| given.rank(row).is_some_and(is_first)))
    {
        return Err(given.lacks(&SENTINELS.row, useless));
    }
    let (rank, others) = match (host, sentinels) {
        (Some(one), Some(other)) if one == other => {
            return Err(given.excludes(&HOST.row, &SENTINELS.row));
        }
        (Some(one), other) if other.is_none_or(|other| one < other) => {
            (one, &[&SENTINELS.row, beside[0], beside[1]][..])
        }
        (_, Some(other)) => (other, &[&HOST.row, &PORT.row][..]),
        (_, None) => return Ok(None),
    };
    for row in others {
        given.forget(row);
    }
    if given.rank(&PORT.row).is_some_and(|port| port > rank) {
        logging::warn!(
            host = given.called(&HOST.row),
            port = given.called(&PORT.row),
            "the port comes from another prefix than the host: set the host's own if it differs"
        );
    }
    Ok(Some(rank))
}

impl Configured for RedisConfig {
    const TABLE: &'static Table = &TABLE;

    fn read(given: &mut Given) -> Result<Self, SettingError> {
        let mut config = Self::at(servers(given)?);
        config.login = LOGIN.read(given)?;
        if let Some(database) = given.take(&DATABASE)? {
            let chosen = config.choose_database(database);
            let fault = |why| Fault::mend(why, "leave the part after the hosts out");
            chosen.map_err(|why| given.refuse(&DATABASE.row, fault(why)))?;
        }
        if matches!(config.servers, Servers::Sentinels { .. }) {
            config.sentinel_login = SENTINEL_LOGIN.read(given)?;
        }
        if let Some(prefix) = given.take(&PREFIX)? {
            config.prefix = prefix;
        }
        if given.has(&REPLICA_WAIT.row) && !given.has(&REPLICA_ACKS.row) {
            return Err(given.lacks(&REPLICA_ACKS.row, &REPLICA_WAIT.row));
        }
        if let Some(least) = given.take(&REPLICA_ACKS)? {
            config = config.replica_acks(least);
        }
        if let Some(millis) = given.take(&REPLICA_WAIT)? {
            config = config.replica_wait(Duration::from_millis(millis.into()));
        }
        if given.take(&TLS)? == Some(true) {
            config.tls = Some(ENCRYPTION.read(given)?);
        }
        Ok(config)
    }
}

/// The elections' servers.
fn servers(given: &mut Given) -> Result<Servers, SettingError> {
    let at = |listed: Listed, default: u16| {
        let address =
            |(host, port): (String, Option<u16>)| Address::new(host, port.unwrap_or(default));
        distinct(listed.into_iter().map(address).collect())
    };
    if let Some(listed) = given.take(&NODES)? {
        let listed = at(listed, 6379).map_err(|fault| given.refuse(&NODES.row, fault))?;
        return Ok(Servers::Cluster { listed });
    }
    if given.has(&SENTINELS.row) || given.has(&PRIMARY.row) {
        let listed = given.need(&SENTINELS)?;
        let default = given.take(&SENTINEL_PORT)?.unwrap_or(26379);
        let listed = at(listed, default).map_err(|fault| given.refuse(&SENTINELS.row, fault))?;
        return Ok(Servers::Sentinels { listed, primary: given.need(&PRIMARY)? });
    }
    let host = given.need(&HOST)?;
    Ok(Servers::One(Address::new(host, given.take(&PORT)?.unwrap_or(6379))))
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod variables;
