//! The user and the password of each connection: fixed, from a file, or from the application.
//!
//! A file is read, and the application is asked, before each connection is opened, and at no other
//! time: neither has a part in a request, and while a connection lasts, its leads do not depend on
//! either. An attempt that gets no credentials has failed as one at a store that is away, and the
//! pauses between attempts grow in the same way.

use std::error::Error;
use std::fmt;
use std::future::{Future, ready};
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::{self, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{Secret, StoreError, StoreErrorKind};
use crate::runtime::Runtime;
use crate::settings::Mistake;
use crate::tls::files;

/// A user and its password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    username: Option<String>,
    password: Secret,
}

impl Credentials {
    /// A user with a password. An empty name means the user that the store's configuration names,
    /// or else the server's default user; etcd has none.
    pub fn new(username: impl Into<String>, password: Secret) -> Self {
        Self { username: named(username), password }
    }
}

/// A user, and a file that has its password in UTF-8. One line break at its end is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordFile {
    username: Option<String>,
    path: PathBuf,
}

impl PasswordFile {
    /// A user with the password that the file has when a connection is opened. An empty name means
    /// the same as in [`Credentials::new`]. A relative path counts from the present folder, also if
    /// that changes later.
    pub fn new(username: impl Into<String>, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let path = path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self { username: named(username), path }
    }
}

/// The result of a [`CredentialsProvider`].
pub type Provided = Result<Credentials, Box<dyn Error + Send + Sync>>;

/// Supplies the credentials of each connection: fixed [`Credentials`], a [`PasswordFile`], or for
/// passwords that change while the program runs, such as the tokens of a cloud, every closure
/// without arguments whose future returns [`Provided`]:
///
/// ```
/// use tenure::store::{Credentials, Provided, Secret};
/// # #[cfg(feature = "redis")]
/// # fn example() {
/// use tenure::store::redis::RedisConfig;
/// # async fn token() -> Result<String, std::io::Error> { Ok("t".into()) }
///
/// let provider = || async { Provided::Ok(Credentials::new("app", Secret::new(token().await?))) };
/// let config = RedisConfig::new("redis.example.org", 6379).credentials(provider);
/// # drop(config);
/// # }
/// ```
///
/// It is asked before each connection is opened. It may take half of the connect timeout; after
/// that, or if it fails or panics, the attempt has failed
/// ([`NoCredentials`](StoreErrorKind::NoCredentials)), and the next one follows after the usual pause. Connections that are open, and leads, are not affected. Code that
/// blocks its thread in it is not interrupted.
///
/// The text of its error is shown in logs, so no secret may be in it.
pub trait CredentialsProvider: Send + Sync + 'static {
    /// The credentials for the next connection.
    fn credentials(&self) -> BoxFuture<'static, Provided>;
}

impl<F, R> CredentialsProvider for F
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output = Provided> + Send + 'static,
{
    fn credentials(&self) -> BoxFuture<'static, Provided> {
        self().boxed()
    }
}

impl CredentialsProvider for Credentials {
    fn credentials(&self) -> BoxFuture<'static, Provided> {
        ready(Ok(self.clone())).boxed()
    }
}

impl CredentialsProvider for PasswordFile {
    fn credentials(&self) -> BoxFuture<'static, Provided> {
        let password = from_file(&self.path).map_err(Into::into);
        let username = self.username.clone();
        ready(password.map(|password| Credentials { username, password })).boxed()
    }
}

/// The lack of credentials for a connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CredentialsError {
    /// The file with the password can't be read.
    #[error(
        "the password's file {path:?} can't be read ({source}): name one that this process may read"
    )]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// The file has no password.
    #[error("the password's file {path:?} is empty; it must have the password and nothing else")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file has more than a password.
    #[error(
        "the password's file {path:?} can't be used: {why} (one line break at its end is left out)"
    )]
    Text {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: &'static str,
    },
    /// The provider has failed.
    #[error("the provider of credentials has failed: {0}")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
    /// The provider has panicked.
    #[error("the provider of credentials has panicked: mend it, or return an error")]
    Panicked,
    /// The provider has taken too long.
    #[error(
        "the provider of credentials has not answered within {within:?}, half of the connect timeout: keep what it \
         fetches at hand, or raise connect_timeout"
    )]
    Late {
        /// The time that it has.
        within: Duration,
    },
}

impl From<CredentialsError> for StoreError {
    fn from(error: CredentialsError) -> Self {
        Self::showing(StoreErrorKind::NoCredentials, &error).with_source(error)
    }
}

/// The login of a store: nobody in particular by default.
#[derive(Clone, Default)]
pub(crate) struct Login {
    provider: Option<Arc<dyn CredentialsProvider>>,
    /// The password of the latest connection. Errors do not show it for as long as it is kept.
    sent: Arc<Mutex<Option<Secret>>>,
}

/// The next connection's user and password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) username: Option<String>,
    pub(super) password: Option<Secret>,
}

impl From<Credentials> for Identity {
    fn from(Credentials { username, password }: Credentials) -> Self {
        Self { username, password: Some(password) }
    }
}

impl Login {
    pub(crate) fn new(provider: impl CredentialsProvider) -> Self {
        Self { provider: Some(Arc::new(provider)), sent: Arc::default() }
    }

    /// True if connections send a password.
    pub(super) fn has_password(&self) -> bool {
        self.provider.is_some()
    }

    /// The identity of the next connection; a provider has half of that time.
    pub(super) async fn now(
        &self,
        runtime: &dyn Runtime,
        connect_timeout: Duration,
    ) -> Result<Identity, CredentialsError> {
        let Some(provider) = &self.provider else { return Ok(Identity::default()) };
        let given = ask(&**provider, runtime, connect_timeout / 2).await?;
        given.password.hide();
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        *sent = Some(given.password.clone());
        Ok(given.into())
    }

    /// The same without waiting.
    #[cfg(test)]
    pub(super) fn at_once(&self) -> Identity {
        let given = |provider: &Arc<dyn CredentialsProvider>| {
            provider.credentials().now_or_never().unwrap().unwrap().into()
        };
        self.provider.as_ref().map(given).unwrap_or_default()
    }
}

/// Neither users nor passwords.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.has_password() { "***" } else { "none" })
    }
}

fn named(username: impl Into<String>) -> Option<String> {
    Some(username.into()).filter(|name| !name.is_empty())
}

/// The password in a file, without the line break that editors and `echo` add.
pub(crate) fn from_file(path: &Path) -> Result<Secret, CredentialsError> {
    let cant = |source| CredentialsError::File { path: path.to_owned(), source };
    let bytes = files::read(path).map_err(cant)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| cant(io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8")))?;
    let secret = Secret::new(text);
    let line = secret.reveal();
    let line = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
    match Mistake::check(line) {
        _ if line.is_empty() => Err(CredentialsError::Empty { path: path.to_owned() }),
        // Of a generated password they may be a part.
        Ok(()) | Err(Mistake::Quotes) => Ok(Secret::new(line)),
        Err(mistake) => {
            Err(CredentialsError::Text { path: path.to_owned(), why: mistake.words().0 })
        }
    }
}

async fn ask(
    provider: &dyn CredentialsProvider,
    runtime: &dyn Runtime,
    within: Duration,
) -> Result<Credentials, CredentialsError> {
    // A panic must not end the attempt unseen: no pause would follow it.
    let asked = AssertUnwindSafe(async { provider.credentials().await }).catch_unwind();
    tokio::select! {
        biased;
        given = asked => match given {
            Ok(Ok(credentials)) => Ok(credentials),
            Ok(Err(error)) => Err(match error.downcast() {
                Ok(of_file) => *of_file,
                Err(other) => CredentialsError::Failed(other),
            }),
            Err(_) => Err(CredentialsError::Panicked),
        },
        () = runtime.sleep_until(runtime.now() + within) => Err(CredentialsError::Late { within }),
    }
}

#[cfg(test)]
mod tests;
