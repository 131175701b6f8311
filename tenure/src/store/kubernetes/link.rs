//! The client: made with the first request, and anew after a request that got no answer in time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Request;
use kube_client::config::{KubeConfigOptions, Kubeconfig};
use kube_client::error::Status;
use kube_client::{Client, Config, Error};
use tokio::sync::OnceCell;

use super::config::KubernetesConfig;
use super::error;
use crate::store::{StoreError, StoreErrorKind};

/// How long connecting may take. It goes on if the request that asked for it has ended.
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);

/// What the server has answered.
#[derive(Debug)]
pub(super) enum Answer {
    Done(String),
    Refused(Box<Status>),
}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) config: KubernetesConfig,
    current: Mutex<Current>,
}

#[derive(Debug, Default)]
struct Current {
    client: Arc<Lazy>,
    failed: Option<StoreError>,
}

#[derive(Default)]
struct Lazy(OnceCell<Client>);

impl std::fmt::Debug for Lazy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Lazy").field(&self.0.initialized()).finish()
    }
}

impl Link {
    pub(super) fn new(config: KubernetesConfig) -> Self {
        Self { config, current: Mutex::default() }
    }

    /// Sends one request. The client retries nothing, except over a connection that was closed before any of it was sent.
    pub(super) async fn send(&self, request: Request<Vec<u8>>) -> Result<Answer, StoreError> {
        let mut use_of = self.client();
        let answer = match use_of.client.0.get_or_try_init(|| self.connect()).await {
            Ok(client) => match client.request_text(request).await {
                Ok(text) => Ok(Answer::Done(text)),
                Err(Error::Api(status)) => Ok(Answer::Refused(status)),
                Err(error) => Err(error::of(&error)),
            },
            Err(error) => Err(error),
        };
        use_of.ends(&answer);
        answer
    }

    /// The client for a stream of events.
    pub(super) async fn streams(&self) -> Result<Client, StoreError> {
        let client = Arc::clone(&self.current().client);
        client.0.get_or_try_init(|| self.connect()).await.cloned()
    }

    pub(super) fn connect_error(&self) -> Option<StoreError> {
        self.current().failed.clone()
    }

    fn client(&self) -> Use<'_> {
        let client = Arc::clone(&self.current().client);
        Use { link: self, client, works: false }
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        // No step panics half way, so it is intact.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Result<Client, StoreError> {
        let KubernetesConfig { kubeconfig, context, .. } = &self.config;
        let options =
            KubeConfigOptions { context: context.clone(), ..KubeConfigOptions::default() };
        let unusable = |error: &dyn std::fmt::Display| {
            StoreError::showing(
                StoreErrorKind::NoCredentials,
                format_args!("no configuration of a client: {error}"),
            )
        };
        let mut config = match kubeconfig {
            Some(path) => {
                let read = Kubeconfig::read_from(path).map_err(|error| unusable(&error))?;
                Config::from_custom_kubeconfig(read, &options)
                    .await
                    .map_err(|error| unusable(&error))?
            }
            None if context.is_some() => {
                Config::from_kubeconfig(&options).await.map_err(|error| unusable(&error))?
            }
            None => Config::infer().await.map_err(|error| unusable(&error))?,
        };
        config.connect_timeout = Some(CONNECTS_WITHIN);
        // An outcome that is not known must stay so.
        config.default_retry = false;
        Client::try_from(config).map_err(|error| error::of(&error))
    }
}

/// One request's use of the client. If its caller gives it up, or there is no answer, the next request makes another
/// client: the connections of this one may be stuck.
struct Use<'a> {
    link: &'a Link,
    client: Arc<Lazy>,
    works: bool,
}

impl Use<'_> {
    /// An answer of any kind shows that the connection works; the credentials may have been replaced.
    fn ends(&mut self, answer: &Result<Answer, StoreError>) {
        self.works = match answer {
            Ok(Answer::Done(_)) => true,
            Ok(Answer::Refused(status)) => status.code != 401,
            Err(_) => false,
        };
        self.link.current().failed = answer.as_ref().err().cloned();
    }
}

impl Drop for Use<'_> {
    fn drop(&mut self) {
        let mut current = self.link.current();
        if !self.works && Arc::ptr_eq(&current.client, &self.client) {
            current.client = Arc::default();
        }
    }
}
