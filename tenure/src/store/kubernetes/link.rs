//! One connection for all elections, over HTTP/2, replaced whenever it may be stuck.
//!
//! kube-client's own connections speak HTTP/1.1, one for each request that is in flight, and retry
//! by themselves. So only its configuration, credentials and types are used.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use http::header::{AUTHORIZATION, USER_AGENT};
use http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use kube_client::client::{Body, ConfigExt};
use kube_client::config::{KubeConfigOptions, Kubeconfig};
use kube_client::error::Status;
use kube_client::{Client, Config, Error};
use tenure_core::{Token, Wish};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::{BoxError, ServiceBuilder};

use super::config::KubernetesConfig;
use super::error::{self, unreachable};
use super::lease::Found;
use super::login::{self, Logins, Used};
use super::overload::Overload;
use crate::Instant;
use crate::logging;
use crate::runtime::{Runtime, TokioRuntime};
use crate::store::cas::Change;
use crate::store::dial::Dial;
use crate::store::progress::{Ask, Progress};
use crate::store::slot::{CONNECT_TIMEOUT, Connection, Patience, Slot};
use crate::store::subscriptions::Table;
use crate::store::{Key, StoreError, StoreErrorKind};

/// This is for streams of events: requests have timeouts of their own.
const PING_EVERY: Duration = Duration::from_secs(10);
const PONG_WITHIN: Duration = Duration::from_secs(5);
/// A server that has said for that long that it fails, and nothing else, is left: behind one address
/// there may be a healthy one.
const FAILS_FOR: Duration = Duration::from_secs(2);
/// A path that needs no right, and no etcd.
const VERSION: &str = "/version";
/// This client's name in the API server's log of requests.
const CLIENT: &str = concat!("tenure/", env!("CARGO_PKG_VERSION"));

pub(super) struct Link {
    pub(super) config: KubernetesConfig,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) current: Slot<Live>,
    pub(super) listeners: Table<Infallible>,
    pub(super) overload: Overload,
    logins: Logins,
    shown: Mutex<Shown>,
    dial: Dial,
}

/// The events of elections that are listened to.
#[derive(Default)]
pub(super) struct Shown {
    /// Until that is taken.
    pub(super) hints: BTreeMap<Key, Change<Box<Found>>>,
    pub(super) wishes: BTreeMap<Key, (Token, Wish)>,
}

/// A connection that was working when last seen.
pub(super) struct Live {
    pub(super) client: Client,
    pub(super) dead: CancellationToken,
    progress: Progress,
    /// The first of the failures that no other answer has followed.
    fails_since: Mutex<Option<Instant>>,
    streams: Mutex<Streams>,
}

/// The streams of events that are open. Each ends with its guard.
pub(super) enum Streams {
    /// One for each of these elections.
    Each(BTreeMap<Key, DropGuard>),
    /// One for all elections of the namespace.
    All { _guard: DropGuard },
}

/// The server's answer.
pub(super) enum Answer {
    Done(String),
    Refused(Box<Status>),
}

impl Link {
    pub(super) fn new(config: KubernetesConfig) -> Self {
        let runtime: Arc<dyn Runtime> = Arc::new(TokioRuntime);
        let current = Slot::new(&runtime, CONNECT_TIMEOUT);
        let dial = Dial::new(&runtime, CONNECT_TIMEOUT);
        Self {
            config,
            runtime,
            current,
            listeners: Table::default(),
            overload: Overload::default(),
            logins: Logins::default(),
            shown: Mutex::default(),
            dial,
        }
    }

    pub(super) fn shown(&self) -> MutexGuard<'_, Shown> {
        // No step panics half way.
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn live(self: &Arc<Self>) -> Result<Arc<Live>, StoreError> {
        let link = Arc::clone(self);
        let connect = || async move { link.connect().await }.boxed();
        self.current.get(Patience::Waits, connect).await
    }

    /// Sends one request, once.
    pub(super) async fn send(
        self: &Arc<Self>,
        request: Request<Vec<u8>>,
    ) -> Result<Answer, StoreError> {
        let live = self.live().await?;
        self.overload.is_over(self.runtime.now())?;
        let pending = live.progress.expects();
        let error = match live.client.request_text(request).await {
            Ok(text) => {
                pending.answered();
                live.answers();
                return Ok(Answer::Done(text));
            }
            Err(Error::Api(status)) if error::is_answer(&status) => {
                pending.answered();
                if !error::is_failure(&status) {
                    live.answers();
                } else if live.fails(self.runtime.now()) {
                    self.current.failed(&live, &error::answered(&status));
                }
                return Ok(Answer::Refused(status));
            }
            // The credentials are read again for the next connection.
            Err(error) => error::of(&error),
        };
        pending.failed();
        self.current.failed(&live, &error);
        Err(error)
    }

    async fn connect(&self) -> Result<Live, StoreError> {
        let opening = self.runtime.now();
        let config = self.read().await;
        let mut config = config.map_err(|why| error::unreadable(&self.config, &*why))?;
        // That may also be one of the environment, which is not used.
        if config.proxy_url.is_some() {
            self.refuse_proxy()?;
        }
        let (used, keeps) = match login::program(&mut config.auth_info) {
            Some(program) => {
                let login = self.logins.get(&program).await?;
                login.identifies(&mut config.auth_info);
                let (used, runtime) = (login.used(), Arc::clone(&self.runtime));
                let logins = self.logins.clone();
                (used.clone(), Some(logins.keep(program, login, used, runtime)))
            }
            None => (Used::default(), None),
        };
        let (host, port) = address(&config)?;
        let failed = |error: std::io::Error| unreachable(host, port, &error);
        let (stream, mut reached) = self.dial.connect(host, port).await.map_err(failed)?;
        let mut tls = config.rustls_client_config().map_err(|error| error::of(&error))?;
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let name = config.tls_server_name.clone().unwrap_or_else(|| host.to_owned());
        let name = ServerName::try_from(name)
            .map_err(|error| StoreError::showing(StoreErrorKind::Tls, error))?;
        let stream = TlsConnector::from(Arc::new(tls)).connect(name, stream).await;
        let stream = stream.map_err(failed)?;
        if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            let detail = format!("{host}:{port} speaks no HTTP/2: a proxy may be in between");
            return Err(StoreError::new(StoreErrorKind::Pooler, detail));
        }
        reached.has_spoken();
        let dead = CancellationToken::new();
        let client = self.client(&config, used, stream, &dead).await?;
        if let Some(keeps) = keeps {
            let ended = dead.clone();
            let keeps = async move {
                tokio::select! {
                    () = ended.cancelled() => {}
                    () = keeps => {}
                }
            };
            self.runtime.spawn(keeps.boxed());
        }
        Ok(Live::over(client, dead, opening, &self.runtime))
    }

    /// Refuses a kubeconfig that itself names a proxy.
    fn refuse_proxy(&self) -> Result<(), StoreError> {
        let KubernetesConfig { kubeconfig, context, .. } = &self.config;
        let file = match kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        let Some(cluster) = file.ok().and_then(|file| behind_proxy(&file, context.as_deref()))
        else {
            return Ok(());
        };
        let detail = format_args!(
            "the kubeconfig has a proxy-url for the cluster {cluster:?}, and this store connects directly: remove the \
             proxy-url, or set a context without one"
        );
        Err(StoreError::showing(StoreErrorKind::Unsupported, detail))
    }

    /// The server's address and the login: read again for each connection.
    async fn read(&self) -> Result<Config, Box<dyn std::error::Error + Send + Sync>> {
        let KubernetesConfig { kubeconfig, context, .. } = &self.config;
        let options = KubeConfigOptions { context: context.clone(), ..Default::default() };
        Ok(match kubeconfig {
            Some(path) => {
                Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &options).await?
            }
            None if context.is_some() => Config::from_kubeconfig(&options).await?,
            None => Config::infer().await?,
        })
    }

    /// A client over that connection alone.
    async fn client<S>(
        &self,
        config: &Config,
        used: Used,
        stream: S,
        dead: &CancellationToken,
    ) -> Result<Client, StoreError>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let mut http = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
        http.timer(TokioTimer::new())
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PONG_WITHIN)
            .keep_alive_while_idle(true);
        let opened = http.handshake::<_, Body>(TokioIo::new(stream)).await;
        let (sender, connection) =
            opened.map_err(|error| StoreError::showing(StoreErrorKind::Disconnected, error))?;
        let (ends, ended) = (dead.clone(), dead.clone());
        let runs = async move {
            tokio::select! {
                ended = connection => if let Err(error) = ended {
                    logging::debug!(%error, "the connection to the API server has ended");
                },
                () = ended.cancelled() => {}
            }
            ends.cancel();
        };
        self.runtime.spawn(runs.boxed());
        let (overload, logins, runtime) =
            (self.overload.clone(), self.logins.clone(), Arc::clone(&self.runtime));
        let connection = used.clone();
        let heard = move |answer: &Response<Incoming>, sent: Option<&HeaderValue>| {
            overload.heard(answer.status(), answer.headers(), runtime.now());
            if answer.status() == StatusCode::UNAUTHORIZED {
                logins.forget(&connection, sent);
            }
        };
        let unusable = |error: Error| error::of(&error);
        let service = ServiceBuilder::new()
            .layer(config.base_uri_layer())
            .option_layer(config.auth_layer().map_err(unusable)?)
            .layer(config.extra_headers_layer().map_err(unusable)?)
            .map_err(BoxError::from)
            .service_fn(move |mut request: Request<Body>| {
                let (sent, headers) = (used.header(), request.headers_mut());
                headers.insert(USER_AGENT, HeaderValue::from_static(CLIENT));
                if let Some(token) = &sent {
                    headers.insert(AUTHORIZATION, token.clone());
                }
                let (mut sender, heard) = (sender.clone(), heard.clone());
                async move {
                    let answer = sender.send_request(request).await;
                    answer.inspect(|answer| heard(answer, sent.as_ref()))
                }
            });
        Ok(Client::new(service, config.default_namespace.clone()))
    }
}

/// The server's address.
fn address(config: &Config) -> Result<(&str, u16), StoreError> {
    let url = &config.cluster_url;
    let (Some(host), Some("https")) = (url.host(), url.scheme_str()) else {
        let detail = "the API server must be named by https://HOST";
        return Err(StoreError::new(StoreErrorKind::Unsupported, detail));
    };
    Ok((host.trim_matches(['[', ']']), url.port_u16().unwrap_or(443)))
}

/// The cluster of that context, or of the current one, if the kubeconfig has a proxy for it.
fn behind_proxy(file: &Kubeconfig, context: Option<&str>) -> Option<String> {
    let context = context.or(file.current_context.as_deref())?;
    let context = file.contexts.iter().find(|named| named.name == context)?.context.as_ref()?;
    let named = file.clusters.iter().find(|named| named.name == context.cluster)?;
    let proxy = named.cluster.as_ref()?.proxy_url.as_ref()?;
    (!proxy.is_empty()).then(|| named.name.clone())
}

/// The question whether the server is still there. A refusal is an answer.
fn question(client: &Client) -> Ask {
    let client = client.clone();
    Box::new(move || {
        let client = client.clone();
        async move {
            let Ok(request) = Request::get(VERSION).body(Vec::new()) else { return false };
            matches!(client.request_text(request).await, Ok(_) | Err(Error::Api(_)))
        }
        .boxed()
    })
}

impl Connection for Live {
    fn dead(&self) -> &CancellationToken {
        &self.dead
    }

    fn has_served(&self) -> bool {
        self.progress.has_answered()
    }
}

impl Live {
    /// Over a connection that ends with `dead`, and that began to be opened at that time.
    pub(super) fn over(
        client: Client,
        dead: CancellationToken,
        opening: Instant,
        runtime: &Arc<dyn Runtime>,
    ) -> Self {
        let progress = Progress::since(opening, runtime, &dead, question(&client));
        let streams = Mutex::new(Streams::Each(BTreeMap::new()));
        Self { client, dead, progress, fails_since: Mutex::default(), streams }
    }

    fn fails_since(&self) -> MutexGuard<'_, Option<Instant>> {
        // No step panics half way.
        self.fails_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answers(&self) {
        *self.fails_since() = None;
    }

    /// The server fails. Ends the connection if it has done nothing else for a while, and says
    /// whether it did.
    fn fails(&self, now: Instant) -> bool {
        let is_left = now.since(*self.fails_since().get_or_insert(now)) >= FAILS_FOR;
        if is_left {
            self.dead.cancel();
        }
        is_left
    }

    pub(super) fn streams(&self) -> MutexGuard<'_, Streams> {
        // No step panics half way.
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fake::Clock;

    #[test]
    fn a_kubeconfig_with_a_proxy_is_refused() {
        let file = "current-context: direct\n\
                    clusters:\n\
                    - name: near\n  cluster:\n    server: https://a:6443\n    proxy-url: ''\n\
                    - name: far\n  cluster:\n    server: https://b\n    proxy-url: http://p:3128\n\
                    contexts:\n\
                    - name: direct\n  context:\n    cluster: near\n    user: u\n\
                    - name: proxied\n  context:\n    cluster: far\n    user: u\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        std::fs::write(&path, file).unwrap();
        let config = KubernetesConfig::new("billing").unwrap().kubeconfig(path);
        for direct in [config.clone(), config.clone().context("direct")] {
            Link::new(direct).refuse_proxy().unwrap();
        }
        let error = Link::new(config.context("proxied")).refuse_proxy().unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unsupported);
        assert!(error.to_string().contains("a proxy-url for the cluster \"far\""), "{error}");
        assert!(!error.to_string().contains("3128"), "a URL may have a password: {error}");
    }

    #[tokio::test]
    async fn requests_name_this_client() {
        let (near, far) = tokio::io::duplex(16 * 1_024);
        let named = |request: Request<Incoming>| {
            let name = request.headers()[USER_AGENT].to_str().unwrap().to_owned();
            std::future::ready(Ok::<_, Infallible>(Response::new(name)))
        };
        let serves = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(far), hyper::service::service_fn(named));
        let asks = async {
            let link = Link::new(KubernetesConfig::new("billing").unwrap());
            let config = Config::new("https://a.example".parse().unwrap());
            let (dead, request) = (CancellationToken::new(), Request::get(VERSION));
            let client = link.client(&config, Used::default(), near, &dead).await.unwrap();
            client.request_text(request.body(Vec::new()).unwrap()).await.unwrap()
        };
        let name = tokio::select! {
            name = asks => name,
            ended = serves => panic!("{ended:?}"),
        };
        assert_eq!(name, concat!("tenure/", env!("CARGO_PKG_VERSION")));
    }

    /// True if a server is left that answers with these codes, a second after each other.
    async fn is_left(codes: [u16; 3]) -> bool {
        let (answers, count) = (Arc::new(Mutex::new(codes.into_iter())), codes.len());
        let service = tower::service_fn(move |_: Request<Body>| {
            let code = answers.lock().unwrap().next().unwrap();
            std::future::ready(Response::builder().status(code).body(Body::from(b"no".to_vec())))
        });
        let (clock, dead) = (Clock::default(), CancellationToken::new());
        let mut link = Link::new(KubernetesConfig::new("billing").unwrap());
        link.runtime = Arc::new(clock.clone());
        let link = Arc::new(link);
        let live =
            Live::over(Client::new(service, "billing"), dead.clone(), clock.now(), &link.runtime);
        let connect = || async move { Ok(live) }.boxed();
        link.current.get(Patience::Waits, connect).await.unwrap();
        for asked in 0..count {
            assert!(!dead.is_cancelled(), "after {asked}");
            let _ = link.send(Request::get(VERSION).body(Vec::new()).unwrap()).await;
            clock.advance(Duration::from_secs(1));
        }
        dead.is_cancelled()
    }

    /// Another server may be healthy, to which the same address leads.
    #[tokio::test]
    async fn a_server_that_only_fails_is_left() {
        assert!(is_left([503, 500, 504]).await);
        for codes in [[503, 200, 503], [500, 409, 500], [429, 429, 500]] {
            assert!(!is_left(codes).await, "{codes:?}");
        }
    }

    #[tokio::test]
    async fn a_broken_kubeconfig_is_not_quoted() {
        let user = "users:\n- name: u\n  user:\n    token: c2VjcmV0\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        let config = KubernetesConfig::new("billing").unwrap().kubeconfig(&path);
        for broken in ["   x: [1\n", "    password: {a: c2VjcmV0}\n"] {
            std::fs::write(&path, format!("{user}{broken}")).unwrap();
            let error = Link::new(config.clone()).connect().await.map(drop).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::NoCredentials);
            let shown = format!("{error} {error:?} {}", error.with_causes());
            assert!(!shown.contains("c2VjcmV0") && !shown.contains("token"), "{shown}");
            let place = format!("{} can't be read at line ", path.display());
            assert!(shown.contains(&place), "{shown}");
        }
    }

    /// kube's configuration has the environment's proxy where the kubeconfig has none.
    #[test]
    fn the_address_is_the_server_whatever_the_proxy() {
        let config = |url: &str| {
            let mut config = Config::new(url.parse().unwrap());
            config.proxy_url = Some("http://p:3128".parse().unwrap());
            config
        };
        assert_eq!(address(&config("https://[::1]:6443")).unwrap(), ("::1", 6443));
        assert_eq!(address(&config("https://a.example")).unwrap(), ("a.example", 443));
        let error = address(&config("http://a.example")).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unsupported);
    }
}
