//! A configuration from a URL.

use super::config::MysqlConfig;
use super::sql::{MysqlTables, TABLE_NAME};
use crate::SettingError;
use crate::settings::values::parsed;
use crate::settings::{Configured, Fault, Given, Hosts, Path, Scheme, Setting, Table};
use crate::store::common::{
    self, CA, CERT, HOST, KEY, LoginSettings, PASSWORD, PASSWORD_FILE, TlsSettings,
};

const PORT: Setting<u16> = common::PORT.default("3306");
const USER: Setting<String> = common::USER.default("required");
const DATABASE: Setting<String> = Setting::part("database", parsed)
    .must("the name of a database", "app")
    .names_records()
    .default("required")
    .about("the database of the tables");
const SSL_MODE: Setting<bool> = Setting::parameter("ssl-mode", |text| match text {
    "disabled" => Ok(false),
    "required" | "verify_identity" => Ok(true),
    _ => Err(Fault::Must),
})
.must("disabled, required or verify_identity", "verify_identity")
.default("`verify_identity` with a file of a certificate, else `disabled`")
.about("whether connections are encrypted; if they are, the certificate and its name are verified");
const CREATE_TABLES: Setting<bool> = Setting::parameter("create_tables", parsed)
    .must("true or false", "false")
    .default("true")
    .about("whether the tables are created when they are missing");

const LOGIN: LoginSettings = LoginSettings { user: USER, password: PASSWORD, file: PASSWORD_FILE };
const ENCRYPTION: TlsSettings = TlsSettings {
    on: &SSL_MODE.row,
    ca: CA.renamed("ssl-ca"),
    cert: CERT.renamed("ssl-cert"),
    key: KEY.renamed("ssl-key"),
    server_name: None,
};

static TABLE: Table = Table {
    store: "MySQL",
    schemes: &[Scheme {
        names: &["mysql", "mariadb"],
        encrypted: None,
        form: "://user[:password]@host[:port]/database",
        example: "://user:password@db.example.org:3306/app",
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
        &TABLE_NAME.row,
        &SSL_MODE.row,
        &ENCRYPTION.ca.row,
        &ENCRYPTION.cert.row,
        &ENCRYPTION.key.row,
        &CREATE_TABLES.row,
    ],
    foreign: &[(
        "socket",
        "Unix sockets are not",
        "name a host or an address in front of the path",
    )],
    prefixes: &[],
};

impl MysqlConfig {
    /// Reads `mysql://user[:password]@host[:port]/database[?parameters]`, or the same with
    /// `mariadb`; the table of `docs/stores/mysql.md` has the parameters. All files are read at
    /// once, and again for each connection.
    ///
    /// # Errors
    /// If the text has another form, gives a parameter twice, or a file can't be read.
    pub fn from_url(url: &str) -> Result<Self, SettingError> {
        Self::of_url(url)
    }
}

impl Configured for MysqlConfig {
    const TABLE: &'static Table = &TABLE;

    fn read(given: &mut Given) -> Result<Self, SettingError> {
        let user = given.need(&USER)?;
        let port = given.take(&PORT)?.unwrap_or(3306);
        let (host, database) = (given.need(&HOST)?, given.need(&DATABASE)?);
        let mut config = Self::new(host, port, user, database);
        config.login = LOGIN.read_password(given, String::new())?;
        if let Some(table) = given.take(&TABLE_NAME)? {
            config.tables = MysqlTables::named(table);
        }
        if is_encrypted(given)? {
            config.tls = Some(ENCRYPTION.read(given)?);
        }
        config.create_tables = given.take(&CREATE_TABLES)?.unwrap_or(true);
        Ok(config)
    }
}

/// A file of a certificate turns the encryption on, and never contradicts a mode without it.
fn is_encrypted(given: &mut Given) -> Result<bool, SettingError> {
    let TlsSettings { ca, cert, key, .. } = ENCRYPTION;
    let file = [&ca.row, &cert.row, &key.row].into_iter().find(|row| given.has(row));
    match (given.take(&SSL_MODE)?, file) {
        (Some(false), Some(file)) => {
            let reason = "ssl-mode=disabled contradicts it";
            let remedy =
                format!("write ssl-mode=verify_identity to encrypt, or leave {} out", file.name);
            Err(given.refuse(file, Fault::mend(reason, remedy)))
        }
        (Some(is_encrypted), _) => Ok(is_encrypted),
        (None, file) => Ok(file.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_part_of_a_url() {
        let url = "mariadb://me:p%40ss@example.org:7000/my%20db?table=leads&create_tables=false";
        let config = MysqlConfig::from_url(url).unwrap();
        assert_eq!((&*config.host, config.port), ("example.org", 7000));
        assert_eq!((&*config.user, &*config.database), ("me", "my db"));
        assert!(config.login.has_password() && config.is_exposed() && !config.create_tables);
        assert!(!format!("{config:?}").contains("p@ss"));
        assert!(config.tables.schema_sql().contains("`leads_past`"));
        let config = MysqlConfig::from_url("mysql://app@[::1]/app").unwrap();
        assert_eq!((&*config.host, config.port, &*config.database), ("::1", 3306, "app"));
        assert!(config.tls.is_none() && config.create_tables && !config.is_exposed());
    }
}
