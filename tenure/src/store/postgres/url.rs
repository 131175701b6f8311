//! A configuration from a URL.

use std::collections::BTreeMap;

use url::Url;

use super::config::PostgresConfig;
use super::config_error::PostgresConfigError;
use crate::store::credentials::{self, CredentialsError};
use crate::store::host::host;
use crate::store::{Secret, TextError};
use crate::tls::{TlsConfig, TlsError, files};

impl PostgresConfig {
    /// Reads `postgres://user[:password]@host[:port][/database][?parameters]`, where parameters are
    ///
    /// - `schema` and `table`, see [`LeaseTable`](super::LeaseTable);
    /// - `sslmode`: `disable`, `require` or `verify-full`, of which the latter two verify the server's
    ///   certificate and its name. Default: `verify-full` with `sslrootcert`, else `disable`;
    /// - `sslrootcert`: a file with the certificate authorities to trust, instead of the system's;
    /// - `sslcert` and `sslkey`: files with the client's own certificate, for an encrypted connection;
    /// - `password_file`: a file with the password, see [`password_file`](Self::password_file), in place of a password;
    /// - `application_name`: the name of the sessions at the server, instead of `tenure`.
    ///
    /// All files are read at once, and again for each connection.
    ///
    /// # Errors
    /// If the text has another form, gives a parameter twice, or a file can't be read. The error names the
    /// part at fault and never shows the text, which may hold a password.
    pub fn from_url(url: &str) -> Result<Self, PostgresConfigError> {
        is_clean("the PostgreSQL URL", url)?;
        is_for_one_server(url)?;
        let url = Url::parse(url).map_err(PostgresConfigError::Syntax)?;
        if !matches!(url.scheme(), "postgres" | "postgresql") {
            return Err(PostgresConfigError::Scheme);
        }
        let mut parameters = parameters(&url)?;
        let named = url.host_str().filter(|host| !host.is_empty());
        let named = decoded(named.ok_or(PostgresConfigError::NoHost)?);
        if named.starts_with('/') {
            return Err(SOCKET);
        }
        let host = host(&named).ok_or(PostgresConfigError::Host)?;
        let user = decoded(url.username());
        if user.is_empty() {
            return Err(PostgresConfigError::NoUser);
        }
        let port = url.port().unwrap_or(5432);
        if port == 0 {
            return Err(PostgresConfigError::Syntax(url::ParseError::InvalidPort));
        }
        let mut config = Self::new(host, port, user);
        config = match (url.password(), parameters.remove("password_file")) {
            (Some(_), Some(_)) => return Err(PostgresConfigError::TwoPasswords),
            (Some(password), None) => config.password(Secret::new(decoded(password))),
            (None, Some(path)) => {
                has_password(&path)?;
                config.password_file(path)
            }
            (None, None) => config,
        };
        let database = url.path().strip_prefix('/').unwrap_or_default();
        if !database.is_empty() {
            config.database = decoded(database);
        }
        let (schema, table) = (parameters.remove("schema"), parameters.remove("table"));
        is_clean("the PostgreSQL URL's schema", schema.as_deref().unwrap_or_default())?;
        is_clean("the PostgreSQL URL's table", table.as_deref().unwrap_or_default())?;
        config.table = config.table.with(schema, table)?;
        config.tls = encryption(&mut parameters)?;
        if let Some(name) = parameters.remove("application_name") {
            config.application_name = name;
        }
        Ok(config)
    }
}

const SOCKET: PostgresConfigError = PostgresConfigError::Unsupported {
    what: "a host that is a folder or a parameter",
    instead: "name a host or an address in front of the path: Unix sockets are not supported",
};

/// Refuses a list of hosts, which libpq accepts, before it is read as one odd host or port.
fn is_for_one_server(text: &str) -> Result<(), PostgresConfigError> {
    let authority = text.split_once("://").map_or("", |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    if hosts.contains(',') {
        return Err(PostgresConfigError::Unsupported {
            what: "several hosts",
            instead: "name the primary, or an address that follows it",
        });
    }
    Ok(())
}

const KNOWN: [&str; 8] = [
    "schema",
    "table",
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "password_file",
    "application_name",
];

type Parameters = BTreeMap<&'static str, String>;

/// Each parameter once.
fn parameters(url: &Url) -> Result<Parameters, PostgresConfigError> {
    if [url.query(), url.fragment()].into_iter().flatten().any(|text| text.contains('@')) {
        return Err(PostgresConfigError::At);
    }
    if url.fragment().is_some() {
        return Err(PostgresConfigError::Fragment);
    }
    let mut parameters = BTreeMap::new();
    for (name, value) in url.query_pairs() {
        match &*name {
            "host" | "hostaddr" | "port" => return Err(SOCKET),
            "channel_binding" => {
                return Err(PostgresConfigError::Unsupported {
                    what: "the parameter \"channel_binding\"",
                    instead: "leave it out; sslmode=verify-full makes sure of the server",
                });
            }
            _ => {}
        }
        let known = KNOWN.into_iter().find(|known| *known == name);
        let name = known.ok_or(PostgresConfigError::Parameter)?;
        if parameters.insert(name, value.into_owned()).is_some() {
            return Err(PostgresConfigError::Twice { name });
        }
    }
    Ok(parameters)
}

fn encryption(parameters: &mut Parameters) -> Result<Option<TlsConfig>, PostgresConfigError> {
    let [mode, ca, cert, key] =
        ["sslmode", "sslrootcert", "sslcert", "sslkey"].map(|name| parameters.remove(name));
    let needs = match (&ca, &cert, &key) {
        (Some(_), _, _) => Some("sslrootcert"),
        (_, Some(_), _) => Some("sslcert"),
        (_, _, Some(_)) => Some("sslkey"),
        (None, None, None) => None,
    };
    let encrypted = match (mode.as_deref(), needs) {
        (None, needs) => needs.is_some(),
        (Some("disable"), Some(name)) => return Err(PostgresConfigError::Contradiction { name }),
        (Some("disable"), None) => false,
        (Some("require" | "verify-full"), _) => true,
        (Some(_), _) => return Err(PostgresConfigError::SslMode),
    };
    if !encrypted {
        return Ok(None);
    }
    let tls = match ca {
        Some(path) => TlsConfig::with_ca_file(path).map_err(in_file("sslrootcert"))?,
        None => TlsConfig::system()?,
    };
    match (cert, key) {
        (Some(cert), Some(key)) => {
            files::read(cert.as_ref())
                .map_err(|source| PostgresConfigError::File { name: "sslcert", source })?;
            Ok(Some(tls.client_certificate_files(cert, key).map_err(in_file("sslkey"))?))
        }
        (None, None) => Ok(Some(tls)),
        (Some(_), None) => {
            Err(PostgresConfigError::Missing { missing: "sslkey", needed_by: "sslcert" })
        }
        (None, Some(_)) => {
            Err(PostgresConfigError::Missing { missing: "sslcert", needed_by: "sslkey" })
        }
    }
}

/// The error about the file that a parameter names, without the file's name.
fn in_file(name: &'static str) -> impl Fn(TlsError) -> PostgresConfigError {
    move |error| match error.without_path() {
        Ok(error) => PostgresConfigError::Tls(error),
        Err(source) => PostgresConfigError::File { name, source },
    }
}

/// Whether that file has a password now.
fn has_password(path: &str) -> Result<(), PostgresConfigError> {
    credentials::from_file(path.as_ref()).map(drop).map_err(|error| match error {
        CredentialsError::File { source, .. } => {
            PostgresConfigError::File { name: "password_file", source }
        }
        _ => PostgresConfigError::PasswordFile,
    })
}

fn is_clean(what: &'static str, text: &str) -> Result<(), PostgresConfigError> {
    TextError::check(text).map_err(|why| PostgresConfigError::Text { what, why })
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::postgres::LeaseTable;

    #[test]
    fn reads_every_part_of_a_url() {
        let url = "postgres://me:p%40ss@example.org:7000/my%20db?schema=ops&table=leads";
        let config = PostgresConfig::from_url(url).unwrap();
        assert_eq!((&*config.host, config.port), ("example.org", 7000));
        assert_eq!((&*config.user, &*config.database), ("me", "my db"));
        assert!(config.login.has_password());
        assert_eq!(config.table, LeaseTable::new("ops", "leads").unwrap());
        assert!(!format!("{config:?}").contains("p@ss"));
        let named = "postgres://app@h?application_name=nightly";
        assert_eq!(PostgresConfig::from_url(named).unwrap().application_name, "nightly");
        let config = PostgresConfig::from_url("postgresql://app@[::1]").unwrap();
        assert_eq!((&*config.host, config.port, &*config.database), ("::1", 5432, "app"));
        assert!(config.tls.is_none() && config.create_table);
    }

    fn refused(url: &str) -> String {
        let error = PostgresConfig::from_url(url).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hush"), "{url}: {error} {error:?}");
        error.to_string()
    }

    #[test]
    fn errors_name_the_part_and_hide_the_rest() {
        for (url, expected) in [
            ("postgres//x", "the PostgreSQL URL can't be read; it must be postgres://user"),
            ("mysql://u:hush@h", "scheme must be \"postgres\" or \"postgresql\""),
            ("hush:u@h", "scheme must be \"postgres\""),
            ("127.0.0.1", "it must be postgres://user:password@host:5432/database"),
            ("postgres://", "names no host"),
            ("postgres://h/db", "names no user"),
            ("postgres://u@a%3Ahush", "has a host that is neither a name nor an address"),
            ("postgres://u:hush@h/db#x", "has a #, which in a name or a password is written %23"),
            ("postgres://u:hush@h:0", "can't be read"),
            ("postgres://u:hush@h ", "can't be used: white space at its beginning or end"),
            (
                "postgres://u:hush@h?schema='ops'",
                "the PostgreSQL URL's schema can't be used: quotes",
            ),
            ("postgres://u:hush?x@h", "can't be read"),
            ("postgres://u:1?hush@h", "has an \"@\" after its \"?\""),
            ("postgres://u:1#hush@h", "has an \"@\" after its \"?\""),
            (
                "postgres://u:hush@h?table=it's",
                "the table has 4 bytes; it must have 1 to 48, and none of them may be ' \\ $ or zero",
            ),
            (
                "postgres://u:hush@h?sslmode=prefer",
                "the PostgreSQL URL's sslmode must be \"disable\", \"require\" or \"verify-full\"",
            ),
            (
                "postgres://u:hush@h?sslmode=require&sslrootcert=/no/such",
                "the file that \"sslrootcert\" names in the PostgreSQL URL can't be read",
            ),
            ("postgres://u:hush@h?password_file=hush", "has a password, and the parameter"),
            (
                "postgres://u@h?password_file=/no/hush",
                "the file that \"password_file\" names in the",
            ),
            (
                "postgres://u@h?password_file=/dev/null",
                "the file that \"password_file\" names in the",
            ),
            ("postgres://u@h?sslmode=disable&sslkey=hush", "contradict each other"),
            ("postgres://u@h?sslcert=hush", "has no parameter \"sslkey\", which \"sslcert\" needs"),
            ("postgres://u@h?sslkey=hush", "has no parameter \"sslcert\", which \"sslkey\" needs"),
            ("postgres://u:hush@h?timeout=3", "an unknown parameter; known are"),
            ("postgres://u:hush@h1,h2/db", "has several hosts"),
            ("postgres://u:hush@h1:1,h2:2/db", "has several hosts"),
            ("postgres://u:hush@%2Fvar%2Frun/db", "Unix sockets are not supported"),
            ("postgres:///db?host=/var/run&user=u", "Unix sockets are not supported"),
            ("postgres://u:hush@h?channel_binding=require", "\"channel_binding\""),
        ] {
            let error = refused(url);
            assert!(error.contains(expected), "{url}: {error}");
        }
        // A comma in a password does not separate hosts.
        let config = PostgresConfig::from_url("postgres://u:a,b@h").unwrap();
        assert_eq!(&*config.host, "h");
    }

    #[test]
    fn a_root_certificate_means_encryption() {
        let ca = concat!(env!("CARGO_MANIFEST_DIR"), "/no/such/ca.pem");
        // A file that can't be read must not lead to an unencrypted connection.
        let unread = refused(&format!("postgres://u:hush@h?sslrootcert={ca}"));
        assert!(unread.starts_with("the file that \"sslrootcert\" names"), "{unread}");
        let contradicts = format!("postgres://u:hush@h?sslmode=disable&sslrootcert={ca}");
        assert!(refused(&contradicts).contains("contradict each other"));
    }

    #[test]
    fn a_parameter_given_twice_is_refused() {
        for pair in
            ["sslmode=verify-full&sslmode=disable", "table=a&table=a", "schema=a&table=b&schema=c"]
        {
            let error = refused(&format!("postgres://u:hush@h?{pair}"));
            assert!(error.contains("twice"), "{pair}: {error}");
        }
    }
}
