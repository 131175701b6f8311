//! A configuration from a URL.

use super::config::PostgresConfig;
use super::table::{SCHEMA, TABLE_NAME};
use crate::SettingError;
use crate::settings::values::parsed;
use crate::settings::{Configured, Fault, Given, Hosts, Path, Scheme, Setting, Table};
use crate::store::common::{
    self, CA, CERT, HOST, KEY, LoginSettings, PASSWORD, PASSWORD_FILE, TlsSettings,
};

const PORT: Setting<u16> = common::PORT.default("5432");
const USER: Setting<String> = common::USER.default("required");
const DATABASE: Setting<String> = Setting::part("database", parsed)
    .must("the name of a database", "app")
    .default("that of the user's name")
    .about("the database");
const SSL_MODE: Setting<bool> = Setting::parameter("sslmode", |text| match text {
    "disable" => Ok(false),
    "require" | "verify-full" => Ok(true),
    _ => Err(Fault::Must),
})
.must("disable, require or verify-full", "verify-full")
.default("`verify-full` with a file of a certificate, else `disable`")
.about("whether connections are encrypted; if they are, the certificate and its name are verified");
const APPLICATION_NAME: Setting<String> = Setting::parameter("application_name", parsed)
    .must("the name of the sessions", "nightly")
    .default("`tenure`")
    .about("the name of the sessions at the server");
const CREATE_TABLE: Setting<bool> = Setting::parameter("create_table", parsed)
    .must("true or false", "false")
    .default("true")
    .about("whether the table and its functions are created when they are missing");
const ACCEPT_FSYNC_OFF: Setting<bool> = Setting::parameter("accept_fsync_off", parsed)
    .must("true or false", "true")
    .default("false")
    .about("whether a server may have `fsync` off, for hosters that report it so");

const LOGIN: LoginSettings = LoginSettings { user: USER, password: PASSWORD, file: PASSWORD_FILE };
const ENCRYPTION: TlsSettings = TlsSettings {
    on: &SSL_MODE.row,
    ca: CA.renamed("sslrootcert"),
    cert: CERT.renamed("sslcert"),
    key: KEY.renamed("sslkey"),
    server_name: None,
};

static TABLE: Table = Table {
    store: "PostgreSQL",
    schemes: &[Scheme {
        names: &["postgres", "postgresql"],
        encrypted: None,
        form: "://user[:password]@host[:port][/database]",
        example: "://user:password@db.example.org:5432/app",
        hosts: Hosts::One("name the primary, or an address that follows it"),
        path: Path::Pieces(&["database"]),
    }],
    settings: &[
        &HOST.row,
        &PORT.row,
        &USER.row,
        &PASSWORD.row,
        &PASSWORD_FILE.row,
        &DATABASE.row,
        &SCHEMA.row,
        &TABLE_NAME.row,
        &SSL_MODE.row,
        &ENCRYPTION.ca.row,
        &ENCRYPTION.cert.row,
        &ENCRYPTION.key.row,
        &APPLICATION_NAME.row,
        &CREATE_TABLE.row,
        &ACCEPT_FSYNC_OFF.row,
    ],
    foreign: &[
        ("host", SOCKETS, IN_FRONT),
        ("hostaddr", SOCKETS, IN_FRONT),
        ("port", SOCKETS, IN_FRONT),
        ("channel_binding", "sslmode=verify-full makes sure of the server", "leave it out"),
    ],
    prefixes: &[],
};
const SOCKETS: &str = "Unix sockets are not";
const IN_FRONT: &str = "name a host or an address in front of the path";

impl PostgresConfig {
    /// Reads `postgres://user[:password]@host[:port][/database][?parameters]`; the table of
    /// `docs/stores/postgres.md` has the parameters. All files are read at once, and again for each
    /// connection.
    ///
    /// # Errors
    /// If the text has another form, gives a parameter twice, or a file can't be read.
    pub fn from_url(url: &str) -> Result<Self, SettingError> {
        Self::of_url(url)
    }
}

impl Configured for PostgresConfig {
    const TABLE: &'static Table = &TABLE;

    fn read(given: &mut Given) -> Result<Self, SettingError> {
        let user = given.need(&USER)?;
        let port = given.take(&PORT)?.unwrap_or(5432);
        let mut config = Self::new(given.need(&HOST)?, port, user);
        config.login = LOGIN.read_password(given, String::new())?;
        if let Some(database) = given.take(&DATABASE)? {
            config.database = database;
        }
        config.table = config.table.with(given.take(&SCHEMA)?, given.take(&TABLE_NAME)?);
        if is_encrypted(given)? {
            config.tls = Some(ENCRYPTION.read(given)?);
        }
        if let Some(name) = given.take(&APPLICATION_NAME)? {
            config.application_name = name;
        }
        config.create_table = given.take(&CREATE_TABLE)?.unwrap_or(true);
        config.accepts_fsync_off = given.take(&ACCEPT_FSYNC_OFF)?.unwrap_or(false);
        Ok(config)
    }
}

/// A file of a certificate turns the encryption on, and never contradicts a mode without it.
fn is_encrypted(given: &mut Given) -> Result<bool, SettingError> {
    let TlsSettings { ca, cert, key, .. } = ENCRYPTION;
    let file = [&ca.row, &cert.row, &key.row].into_iter().find(|row| given.has(row));
    match (given.take(&SSL_MODE)?, file) {
        (Some(false), Some(file)) => {
            let reason = "sslmode=disable contradicts it";
            let remedy =
                format!("write sslmode=verify-full to encrypt, or leave {} out", file.name);
            Err(given.refuse(file, Fault::mend(reason, remedy)))
        }
        (Some(is_encrypted), _) => Ok(is_encrypted),
        (None, file) => Ok(file.is_some()),
    }
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
        assert!(config.tls.is_none() && config.create_table && !config.accepts_fsync_off);
        let accepting = "postgres://app@h?create_table=false&accept_fsync_off=true";
        let config = PostgresConfig::from_url(accepting).unwrap();
        assert!(!config.create_table && config.accepts_fsync_off);
    }

    #[test]
    fn a_comma_in_a_password_separates_no_hosts() {
        let config = PostgresConfig::from_url("postgres://u:a,b@h").unwrap();
        assert_eq!(&*config.host, "h");
    }
}
