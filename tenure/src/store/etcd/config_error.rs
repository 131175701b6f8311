//! Why a configuration or a URL was refused.

use std::time::Duration;

use crate::store::TextError;
use crate::tls::TlsError;

/// The form of an etcd URL.
const FORM: &str = "it is etcd[s]://[user:password@]host[:port][,host[:port]..][/prefix][?parameter=value], such as \
     etcd://127.0.0.1:2379";

/// Why a part of an etcd configuration or URL was refused. It never contains text of a URL: in
/// one that can't be read, a password may be anywhere.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EtcdConfigError {
    /// A part of the URL surely is a mistake.
    #[error("{what} can't be used: {why}")]
    Text {
        /// The part.
        what: &'static str,
        /// What in it.
        #[source]
        why: TextError,
    },
    /// Not a URL of the form that is documented.
    #[error("the etcd URL can't be read; {}", FORM)]
    Syntax,
    /// Another scheme than `etcd` or `etcds`.
    #[error("the etcd URL's scheme must be \"etcd\" or, with TLS, \"etcds\"; {}", FORM)]
    Scheme,
    /// An `@` behind the hosts: most likely of a password with an unescaped `/` or `?` in front of it.
    #[error(
        "the etcd URL has an @ behind its first / or ?; in a name or a password, / is written %2F, ? is \
         written %3F, and everywhere behind the hosts @ is written %40"
    )]
    Unescaped,
    /// An endpoint has no host.
    #[error("the etcd URL's endpoint {number} has no host; {}", FORM)]
    NoHost {
        /// Which, from 1.
        number: usize,
    },
    /// An endpoint's host is no host.
    #[error(
        "the host of the etcd URL's endpoint {number} is neither a name nor an address; it is such as etcd-1, 10.0.0.7 or \
         [::1], after an @ if there is a password; {}",
        FORM
    )]
    Host {
        /// Which, from 1.
        number: usize,
    },
    /// There is a fragment, which has no meaning here.
    #[error(
        "the etcd URL has a #, which in a name, a password or a prefix is written %23; {}",
        FORM
    )]
    Fragment,
    /// An endpoint's port is no port.
    #[error("the port of the etcd URL's endpoint {number} must be from 1 to 65535; {}", FORM)]
    Port {
        /// Which, from 1.
        number: usize,
    },
    /// The prefix can't be used in the names of keys.
    #[error(
        "the prefix of etcd's keys is {bytes} bytes long; it must have 1 to {most} of them, such as tenure"
    )]
    PrefixLength {
        /// How long it is.
        bytes: usize,
        /// The most that it may have.
        most: usize,
    },
    /// The prefix has a part that would make its keys those of another prefix.
    #[error(
        "part {number} of the prefix of etcd's keys is empty, \"leader\" or \"record\"; parts \
         between slashes must be none of these, as in services/app"
    )]
    PrefixPart {
        /// Which part, from 1.
        number: usize,
    },
    /// No server accepts the election timeout.
    #[error(
        "the election timeout is {timeout:?}; it must be from {least:?} to {most:?}: set \
         election_timeout_ms to what the members have, which is 1000 unless it was changed"
    )]
    ElectionTimeout {
        /// What was given.
        timeout: Duration,
        /// The least.
        least: Duration,
        /// The most.
        most: Duration,
    },
    /// A parameter is unknown.
    #[error(
        "parameter {number} of the etcd URL is unknown; known are \"election_timeout_ms\", \"password_file\" and, with \
         etcds, \"ca\", \"cert\", \"key\" and \"server_name\": leave any other out"
    )]
    Parameter {
        /// Which, from 1.
        number: usize,
    },
    /// A parameter is there twice, and may contradict itself.
    #[error("the etcd URL has the parameter {name:?} twice; leave one of them")]
    Doubled {
        /// Its name.
        name: &'static str,
    },
    /// A parameter contradicts the scheme.
    #[error(
        "the etcd URL has the parameter {name:?}, and its scheme \"etcd\" does not encrypt: write etcds:// \
         or leave the parameter out"
    )]
    NotEncrypted {
        /// Its name.
        name: &'static str,
    },
    /// A value is not a number.
    #[error(
        "the etcd URL's election_timeout_ms must be a whole number of milliseconds, such as 1000"
    )]
    Number,
    /// A certificate needs its key.
    #[error(
        "the etcd URL has no parameter {missing:?}, which {needed_by} needs: add {missing} with a file in PEM, such as \
         {missing}=/etc/etcd/{missing}.pem"
    )]
    Missing {
        /// The missing parameter.
        missing: &'static str,
        /// The parameter that needs it.
        needed_by: &'static str,
    },
    /// A password, and a file with one.
    #[error(
        "the etcd URL has a password, and the parameter \"password_file\" too: leave one of them"
    )]
    TwoPasswords,
    /// A password, and no user.
    #[error(
        "the etcd URL has the parameter \"password_file\", and no user: write it in front of the hosts, as in \
         etcd://worker@127.0.0.1:2379"
    )]
    NoUser,
    /// The file of a password has something else in it. The path is not shown: it may be a part of a broken URL.
    #[error(
        "the file that the etcd URL's parameter \"password_file\" names must have a password and nothing else, but one \
         line break at its end: name one, such as password_file=/run/secrets/etcd"
    )]
    PasswordFile,
    /// The server name can't be one.
    #[error(
        "the etcd URL's \"server_name\" must be a DNS name or an address, such as etcd.example.org"
    )]
    ServerName,
    /// TLS can't be set up.
    #[error("TLS can't be set up for the etcd URL: {0}")]
    Tls(#[from] TlsError),
    /// A file can't be read.
    #[error(
        "the file that the etcd URL's parameter {parameter:?} names can't be read: {source}; name one that this \
         process may read, such as {parameter}=/etc/etcd/{parameter}"
    )]
    File {
        /// Which parameter names it.
        parameter: &'static str,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
}
