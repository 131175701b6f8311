//! Settings that several stores have, and how a login and the encryption are read from them.

use super::credentials::{self, CredentialsError, Login};
use super::{Credentials, PasswordFile, Secret};
use crate::settings::values::{of_bytes, one_host, parsed, port};
use crate::settings::{Fault, Given, Row, Setting, SettingError};
#[cfg(feature = "tls")]
use crate::tls::Problem;
use crate::tls::{TlsConfig, TlsError, files};

pub(crate) const HOST: Setting<String> = Setting::part("host", one_host)
    .variable("HOST")
    .must("the name or the address of a host", "127.0.0.1")
    .default("required")
    .about("the server");
pub(crate) const PORT: Setting<u16> = Setting::part("port", port)
    .variable("PORT")
    .must("a port from 1 to 65535", "6379")
    .about("its port");
pub(crate) const USER: Setting<String> = Setting::part("user", parsed)
    .variable("USERNAME")
    .must("the name of a user", "app")
    .about("the user at the server");
pub(crate) const PASSWORD: Setting<Secret> =
    Setting::part("password", |text| Ok(Secret::new(text)))
        .variable("PASSWORD")
        .must("the user's password", "any")
        .about("the user's password")
        .secret();
pub(crate) const PASSWORD_FILE: Setting<String> = Setting::parameter("password_file", password_file)
    .variable("PASSWORD_FILE")
    .must("a file with a password and nothing else, but one line break at its end", "/run/secrets/tenure")
    .about("a file with the password, in place of a password; it is [read again](credentials.md) for each connection");
pub(crate) const CA: Setting<String> = Setting::parameter("ca", parsed)
    .must("a file of certificates in PEM", "/etc/ssl/ca.pem")
    .default("those of the system")
    .about("a file with the authorities to trust; like those of the next rows, it is [read again](credentials.md) for each connection");
pub(crate) const CERT: Setting<String> = Setting::parameter("cert", readable_file)
    .must("a file of certificates in PEM", "/etc/ssl/cert.pem")
    .about("a file with the client's own certificate");
pub(crate) const KEY: Setting<String> = Setting::parameter("key", parsed)
    .must("a file with a private key in PEM", "/etc/ssl/key.pem")
    .about("a file with the key of that certificate");
pub(crate) const SERVER_NAME: Setting<String> = Setting::parameter("server_name", parsed)
    .must("a DNS name or an address", "db.example.org")
    .default("the host")
    .about("the name in the servers' certificates");

/// A file that has a password now.
pub(crate) fn password_file(path: &str) -> Result<String, Fault> {
    match credentials::from_file(path.as_ref()) {
        Ok(_) => Ok(path.to_owned()),
        Err(CredentialsError::File { source, .. }) => Err(unreadable(&source)),
        Err(_) => Err(Fault::Must),
    }
}

/// A file that can be read now.
pub(crate) fn readable_file(path: &str) -> Result<String, Fault> {
    files::read(path.as_ref()).map(|_| path.to_owned()).map_err(|error| unreadable(&error))
}

fn unreadable(error: &std::io::Error) -> Fault {
    Fault::because(format!("the file can't be read ({error}), and this process must be able to"))
}

/// A name of 1 to `MOST` bytes without some characters.
pub(crate) fn name_without<const MOST: usize>(
    text: &str,
    excluded: &'static [char],
) -> Result<String, Fault> {
    let name = of_bytes(text, MOST)?;
    if name.contains(excluded) { Err(Fault::Must) } else { Ok(name.to_owned()) }
}

/// The settings of a login.
pub(crate) struct LoginSettings {
    pub(crate) user: Setting<String>,
    pub(crate) password: Setting<Secret>,
    pub(crate) file: Setting<String>,
}

impl LoginSettings {
    /// A user, and its password or a file with it.
    pub(crate) fn read(&self, given: &mut Given) -> Result<Login, SettingError> {
        let Self { user, password, file } = self;
        if given.has(&user.row) && !given.has(&password.row) && !given.has(&file.row) {
            let reason = format!("{} needs it", given.called(&user.row));
            let remedy = "set both, or neither; a user that needs no password takes any";
            return Err(given.refuse(&password.row, Fault::mend(reason, remedy)));
        }
        let username = given.take(user)?.unwrap_or_default();
        self.read_password(given, username)
    }

    /// The password of a user that needs none.
    pub(crate) fn read_password(
        &self,
        given: &mut Given,
        username: String,
    ) -> Result<Login, SettingError> {
        let Self { password, file, .. } = self;
        if given.has(&password.row) && given.has(&file.row) {
            return Err(given.excludes(&file.row, &password.row));
        }
        match (given.take(password)?, given.take(file)?) {
            (Some(password), _) => Ok(Login::new(Credentials::new(username, password))),
            (None, Some(path)) => Ok(Login::new(PasswordFile::new(username, path))),
            (None, None) => Ok(Login::default()),
        }
    }
}

/// The settings of the encryption.
pub(crate) struct TlsSettings {
    /// The one that turns it on.
    pub(crate) on: &'static Row,
    pub(crate) ca: Setting<String>,
    pub(crate) cert: Setting<String>,
    pub(crate) key: Setting<String>,
    pub(crate) server_name: Option<Setting<String>>,
}

impl TlsSettings {
    /// All files are read at once.
    pub(crate) fn read(&self, given: &mut Given) -> Result<TlsConfig, SettingError> {
        let Self { on, ca, cert, key, server_name } = self;
        let mut tls = match given.take(ca)? {
            Some(path) => TlsConfig::with_ca_file(path)
                .map_err(|error| given.refuse(&ca.row, error.into()))?,
            None => TlsConfig::system().map_err(|error| given.refuse(on, error.into()))?,
        };
        if let Some((cert, path)) = given.both(cert, key)? {
            let with = tls.client_certificate_files(cert, path);
            tls = with.map_err(|error| given.refuse(&key.row, error.into()))?;
        }
        if let Some(server_name) = server_name
            && let Some(name) = given.take(server_name)?
        {
            let with = tls.server_name(name);
            tls = with.map_err(|error| given.refuse(&server_name.row, error.into()))?;
        }
        Ok(tls)
    }
}

#[cfg(feature = "tls")]
impl From<TlsError> for Fault {
    /// Without the names of files and servers, which are the setting's value.
    fn from(error: TlsError) -> Self {
        match error.0 {
            Problem::ServerName { .. } => Self::Must,
            error => match error.without_path() {
                Ok(error) => Self::because(format!("TLS can't be set up: {error}")),
                Err(source) => unreadable(&source),
            },
        }
    }
}

#[cfg(not(feature = "tls"))]
impl From<TlsError> for Fault {
    fn from(TlsError: TlsError) -> Self {
        Self::mend(
            "this program was built without encryption",
            "build it with the feature `redis` of the crate `tenure`",
        )
    }
}
