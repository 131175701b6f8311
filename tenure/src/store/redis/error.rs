//! Why a configuration is refused.

use crate::store::TextError;
use crate::tls::TlsError;

/// The form of a URL.
const FORM: &str = "expected is redis://[user:password@]host[:port][/database], \
    redis+sentinel://[user:password@]host[:port],host[:port]../name[/database] or \
    redis+cluster://[user:password@]host[:port],host[:port].., and rediss in the place of redis to encrypt: \
    redis://127.0.0.1:6379, for example";

/// Why a Redis URL or a part of a configuration was refused. Shows nothing of a URL: in a broken one, a password
/// may be anywhere.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedisConfigError {
    /// A part of the URL surely is a mistake.
    #[error("{what} can't be used: {why}")]
    Text {
        /// The part.
        what: &'static str,
        /// What in it.
        #[source]
        why: TextError,
    },
    /// Not a URL.
    #[error("the Redis URL can't be read ({0}); {FORM}")]
    Syntax(#[source] url::ParseError),
    /// Another scheme, or none.
    #[error("the Redis URL has another scheme, or none; {FORM}")]
    Scheme,
    /// The part after the hosts has an `@` in it, and so it may be half of a password.
    #[error(
        "the Redis URL has an @ after its hosts; in a name or a password / is written %2F, ? is %3F, \
         # is %23 and @ is %40; {FORM}"
    )]
    StrayAt,
    /// There is a fragment, which has no meaning here.
    #[error("the Redis URL has a #, which in a name or a password is written %23; {FORM}")]
    Fragment,
    /// No host.
    #[error("the Redis URL names no host; {FORM}")]
    NoHost,
    /// A host is no host.
    #[error(
        "the Redis URL has a host that is neither a name nor an address; it is such as db-1, 10.0.0.7 or [::1], after \
         an @ if there is a password; {FORM}"
    )]
    Host,
    /// A user, and no password.
    #[error(
        "the Redis URL names a user without a password; if that user needs none, give any; {FORM}"
    )]
    NoPassword,
    /// A password, and a file with one.
    #[error("the Redis URL has a password, and the parameter {parameter:?} too: leave one of them")]
    TwoPasswords {
        /// The parameter.
        parameter: &'static str,
    },
    /// The file of a password has something else in it. The path is not shown: it may be a part of a broken URL.
    #[error(
        "the file that the Redis URL's {name:?} names must have a password and nothing else, but one line break at its \
         end: name one, such as {name}=/run/secrets/redis"
    )]
    PasswordFile {
        /// Which parameter names it.
        name: &'static str,
    },
    /// A sentinel or a node is listed twice.
    #[error(
        "hosts {first} and {second} of the list are the same; list each of them once, since more than half \
         of those listed decide"
    )]
    Twice {
        /// Where in the list, from 1.
        first: usize,
        /// The same for the second time.
        second: usize,
    },
    /// Several hosts, and a scheme for one.
    #[error(
        "the Redis URL names {hosts} hosts; for more than one its scheme ends with \"+sentinel\" or \
         \"+cluster\", as in redis+cluster://10.0.0.1,10.0.0.2,10.0.0.3; to one, write one host"
    )]
    Hosts {
        /// How many.
        hosts: usize,
    },
    /// Sentinels watch primaries by name, and none is given.
    #[error(
        "the name of the primary that the sentinels watch is missing; give it, such as mymaster; {FORM}"
    )]
    NoPrimary,
    /// The database is no number that Redis knows.
    #[error("the Redis URL's database must be a number from 0 to 255, such as /0; {FORM}")]
    Database,
    /// A cluster has but one database.
    #[error("a cluster has no database but 0: leave the part after the hosts out; {FORM}")]
    ClusterDatabase,
    /// The prefix can't be used in key names.
    #[error(
        "the prefix has {length} bytes; it must have 1 to 128, and no braces: set prefix to tenure, for example"
    )]
    Prefix {
        /// How long it is.
        length: usize,
    },
    /// A parameter's value is no number in its bounds.
    #[error("the Redis URL's {name} must be a number from 0 to {most}, such as {name}=1")]
    Number {
        /// Which parameter.
        name: &'static str,
        /// The most.
        most: u32,
    },
    /// An unknown parameter, or one that has no meaning here.
    #[error(
        "the Redis URL has an unknown parameter; known are \"prefix\", \"password_file\", \
         \"replica_acks\" and \"replica_wait_ms\", with \"rediss\" also \"ca\", \"cert\", \"key\" and \"server_name\", and \
         with \"+sentinel\" \"sentinel_username\", \"sentinel_password\" and \"sentinel_password_file\": leave any \
         other out"
    )]
    Parameter,
    /// A parameter that is there twice.
    #[error("the Redis URL has its parameter {name:?} twice; leave one of them")]
    Doubled {
        /// Which.
        name: &'static str,
    },
    /// A parameter that another one needs.
    #[error(
        "the Redis URL has no parameter {missing:?}, which {needed_by:?} needs: add it, or leave \
         {needed_by:?} out"
    )]
    Missing {
        /// The missing parameter.
        missing: &'static str,
        /// The parameter that needs it.
        needed_by: &'static str,
    },
    /// A file can't be read.
    #[error(
        "the file that the Redis URL's {name:?} names can't be read: {source}; name one that this process may \
         read, such as {name}=/etc/ssl/{name}"
    )]
    File {
        /// Which parameter names it.
        name: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// The server name can't be one.
    #[error(
        "the Redis URL's \"server_name\" must be a DNS name or an address, such as redis.example.org"
    )]
    ServerName,
    /// TLS can't be set up.
    #[error("TLS can't be set up for the Redis URL: {0}")]
    Tls(#[from] TlsError),
}
