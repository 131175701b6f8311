//! Why a configuration is refused.

use crate::tls::TlsError;

/// Why a Redis URL or a part of a configuration was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedisConfigError {
    /// Not a URL.
    #[error("the Redis URL can't be read")]
    Syntax(#[source] url::ParseError),
    /// Another scheme.
    #[error(
        "the Redis URL's scheme is {scheme:?}; it must be \"redis\" or \"rediss\", with \"+sentinel\" or \
         \"+cluster\" for more than one server"
    )]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// What comes after the hosts has an `@` in it, and so it may be half of a password.
    #[error(
        "the Redis URL has an @ after its hosts; in a name or a password / is written %2F, ? is %3F, \
         # is %23 and @ is %40"
    )]
    StrayAt,
    /// No host.
    #[error("the Redis URL names no host")]
    NoHost,
    /// Several hosts, and nothing that says what they are.
    #[error(
        "the Redis URL names {hosts} hosts; for more than one its scheme ends with \"+sentinel\" or \
         \"+cluster\""
    )]
    Hosts {
        /// How many.
        hosts: usize,
    },
    /// Sentinels watch primaries by name, and none is given.
    #[error("the name of the primary that the sentinels watch is missing")]
    NoPrimary,
    /// The database is no number that Redis knows.
    #[error("the Redis URL's database is {value:?}; it must be a number from 0 to 255")]
    Database {
        /// What was given.
        value: String,
    },
    /// A cluster has but one database.
    #[error("the Redis URL's database is {value:?}; a cluster has only 0")]
    ClusterDatabase {
        /// What was given.
        value: String,
    },
    /// The prefix can't be used in key names.
    #[error("the prefix is {prefix:?}; it must have 1 to 128 bytes and no braces")]
    Prefix {
        /// What was given.
        prefix: String,
    },
    /// A parameter's value is no number in its bounds.
    #[error("the Redis URL's {name} is {value:?}; it must be a number from 0 to {most}")]
    Number {
        /// Which parameter.
        name: &'static str,
        /// What was given.
        value: String,
        /// The most.
        most: u32,
    },
    /// An unknown parameter, or one that says nothing here.
    #[error(
        "the Redis URL has a parameter {name:?}; known are \"prefix\", \"replica_acks\" and \
         \"replica_wait_ms\", with \"rediss\" also \"ca\", \"cert\", \"key\" and \"server_name\", and with \
         \"+sentinel\" \"sentinel_username\" and \"sentinel_password\""
    )]
    Parameter {
        /// Its name.
        name: String,
    },
    /// A parameter that another one needs.
    #[error("the Redis URL has no parameter {missing:?}, which {needed_by:?} needs")]
    Missing {
        /// What is not there.
        missing: &'static str,
        /// What is there.
        needed_by: &'static str,
    },
    /// TLS can't be set up.
    #[error("TLS can't be set up for the Redis URL")]
    Tls(#[from] TlsError),
}
