//! One connection to one member, replaced whenever it may be stuck.
//!
//! The client library could spread requests over all members, but it does not notice a member that
//! hangs, and continues to ask it. So it is given one endpoint at a time. To find one, all are
//! asked, one shortly after the other, and the first member is used that can reach a majority.
//!
//! Nothing is sent twice. The channel under the client reconnects by itself, but only before it
//! sends; requests under way on a connection that broke end with an error. A request that is
//! refused for an expired token of authentication, and so was not carried out, is sent again with a
//! new one.

use std::convert::Infallible;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant as StdInstant};

use etcd_client::{Channel, Client, ConnectOptions, GetOptions};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::channel;
use super::config::EtcdConfig;
use super::error::{failed, leaves_connection_usable, not_connected};
use super::keep::{Stream, Tenure};
use super::record;
use super::version::supported;
use crate::runtime::{Runtime, TokioRuntime};
use crate::store::contract::Mark;
use crate::store::credentials::Identity;
use crate::store::dial::Dial;
use crate::store::progress::{Ask, Progress};
use crate::store::recent::Recent;
use crate::store::slot::{Connection, Patience, Slot};
use crate::store::subscriptions::Table;
use crate::store::watches::Watches;
use crate::store::{Key, StoreError, StoreErrorKind};
use crate::{HolderId, Token};

/// The time to wait for a member before the next one is asked too.
const APART_MOST: Duration = Duration::from_millis(250);

/// The most waiting streams of keepalives; as many as are used at once by several calls of many
/// renewals.
const STREAMS: usize = 128;

pub(super) struct Link {
    pub(super) config: EtcdConfig,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) current: Slot<Live>,
    pub(super) listeners: Table<Infallible>,
    /// The tenures of this process's candidates that were granted or renewed last, and not given
    /// back, across connections.
    tenures: Mutex<Recent<Tenure>>,
    /// The marks watched by purges.
    pub(super) purging: Mutex<Watches<Key, Mark>>,
    /// The endpoint to begin with: not the one that has just failed.
    first: AtomicUsize,
    dial: Arc<Dial>,
}

/// A connection that was working when last seen.
pub(super) struct Live {
    pub(super) client: Client,
    /// Cancelled once the connection is known or suspected to be unusable.
    pub(super) dead: CancellationToken,
    pub(super) progress: Progress,
    /// A request over it has compared the past with the cluster's log.
    pub(super) is_compared: AtomicBool,
    /// Streams of keepalives that nobody uses now.
    streams: Mutex<Vec<Stream>>,
    /// Ends the watch, if there is one.
    pub(super) watch: Mutex<Option<DropGuard>>,
}

impl Link {
    pub(super) fn new(config: EtcdConfig) -> Self {
        let runtime: Arc<dyn Runtime> = Arc::new(TokioRuntime);
        let current = Slot::new(&runtime, config.connect_timeout);
        let (tenures, purging) = (Mutex::default(), Mutex::default());
        let first = AtomicUsize::new(0);
        let dial = Arc::new(Dial::new(&runtime, config.connect_timeout));
        let listeners = Table::default();
        Self { config, runtime, current, listeners, tenures, purging, first, dial }
    }

    /// The tenure that was remembered of that election, if any: only a guess, which saves a round
    /// trip.
    pub(super) fn remembered(&self, key: &Key) -> Option<Tenure> {
        self.tenures().get(key).copied()
    }

    pub(super) fn remember(&self, key: &Key, tenure: Tenure) {
        self.tenures().insert(key, tenure, StdInstant::now());
    }

    pub(super) fn remembered_in_all(&self) -> usize {
        self.tenures().len()
    }

    /// A tenure is over.
    pub(super) fn forget(&self, key: &Key, (holder, token): (HolderId, Token)) {
        let mut tenures = self.tenures();
        if tenures.get(key).is_some_and(|known| (known.holder, known.token) == (holder, token)) {
            tenures.remove(key);
        }
    }

    fn tenures(&self) -> MutexGuard<'_, Recent<Tenure>> {
        // No step panics half way.
        self.tenures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection, opened anew if there is none.
    pub(super) async fn live(
        self: &Arc<Self>,
        patience: Patience,
    ) -> Result<Arc<Live>, StoreError> {
        let link = Arc::clone(self);
        let connect = || async move { link.connect().await }.boxed();
        self.current.get(patience, connect).await
    }

    async fn after(&self, time: Duration) {
        self.runtime.sleep_until(self.runtime.now() + time).await;
    }

    /// The first member that answers, of those asked one shortly after the other.
    async fn connect(&self) -> Result<Live, StoreError> {
        let EtcdConfig { endpoints, login, connect_timeout, .. } = &self.config;
        // Once for all members that are asked.
        let identity = &login.now(&*self.runtime, *connect_timeout).await?;
        let opening = self.runtime.now();
        let first = self.first.fetch_add(1, Ordering::Relaxed);
        let parts = u32::try_from(2 * endpoints.len()).unwrap_or(u32::MAX);
        let apart = (*connect_timeout / parts).min(APART_MOST);
        let mut asked: FuturesUnordered<_> = (0..endpoints.len())
            .map(|turn| async move {
                if turn > 0 {
                    self.after(apart.saturating_mul(u32::try_from(turn).unwrap_or(u32::MAX))).await;
                }
                self.open(&endpoints[(first + turn) % endpoints.len()], identity).await
            })
            .collect();
        let mut worst: Option<StoreError> = None;
        while let Some(opened) = asked.next().await {
            match opened {
                Ok(client) => {
                    let (dead, ask) = (CancellationToken::new(), self.question(&client));
                    let progress = Progress::since(opening, &self.runtime, &dead, ask);
                    return Ok(Live::new(client, dead, progress));
                }
                // The most useful error is kept: a member that answers has better information.
                Err(error) if worst.as_ref().is_none_or(is_silence) => worst = Some(error),
                Err(_) => {}
            }
        }
        Err(worst.unwrap_or_else(|| StoreError::new(StoreErrorKind::Unreachable, "no endpoint")))
    }

    /// A client of one member, which is of a known version and can reach a majority.
    async fn open(&self, endpoint: &str, identity: &Identity) -> Result<Client, StoreError> {
        let channel = channel::lazy(&self.config, &self.dial, endpoint)
            .map_err(|error| not_connected(endpoint, &error))?;
        let mut client = Client::from_channel(Channel::Tonic(channel), Some(options(identity)))
            .await
            .map_err(|error| not_connected(endpoint, &error))?;
        // At the same time, since a round trip may be long. The read also checks this user's
        // rights.
        let (mut maintenance, mut cluster) = (client.maintenance_client(), client.cluster_client());
        let older = self.config.older();
        let read = client.get(older.as_str(), Some(GetOptions::new().with_count_only()));
        let (status, members, read) =
            futures_util::join!(maintenance.status(), cluster.member_list(), read);
        let status = status.map_err(|error| not_connected(endpoint, &error))?;
        supported(status.version())?;
        // A member that refuses to tell is a member.
        if let Ok(members) = members {
            is_member(endpoint, members.header().is_some())?;
        }
        if read.map_err(|error| failed(&error))?.count() > 0 {
            return Err(record::older(&older));
        }
        Ok(client)
    }

    /// The question whether the member is still there, and reaches a majority. A refusal is an
    /// answer.
    fn question(&self, client: &Client) -> Ask {
        let (client, name) = (client.clone(), self.config.past());
        Box::new(move || {
            let (mut client, name) = (client.clone(), name.clone());
            async move {
                let count = GetOptions::new().with_count_only();
                let answer = client.get(name, Some(count)).await;
                answer
                    .map_or_else(|error| leaves_connection_usable(failed(&error).kind()), |_| true)
            }
            .boxed()
        })
    }

    /// One step of a request. Any answer shows that the connection is usable.
    pub(super) async fn ask<T>(
        &self,
        live: &Live,
        step: impl Future<Output = Result<T, etcd_client::Error>>,
    ) -> Result<T, StoreError> {
        let sent = self.runtime.now();
        let answer = step.await.map_err(|error| failed(&error))?;
        live.progress.answered(sent);
        Ok(answer)
    }
}

fn options(identity: &Identity) -> ConnectOptions {
    let options = ConnectOptions::new().with_require_leader(true);
    match &identity.password {
        Some(password) => {
            let name = identity.username.as_deref().unwrap_or_default();
            options.with_user(name, password.reveal()).with_auto_token_refresh(true)
        }
        None => options,
    }
}

/// etcd's proxy of gRPC invents the list of members, without the header that each answer of a
/// member has. It answers a renewal by one that it has sent by itself, late or before it was asked
/// to.
fn is_member(endpoint: &str, has_header: bool) -> Result<(), StoreError> {
    if has_header {
        return Ok(());
    }
    let detail = format!(
        "{endpoint} is no member, but etcd's grpc-proxy, which does not pass renewals on: name the members themselves as \
         endpoints"
    );
    Err(StoreError::new(StoreErrorKind::Pooler, detail))
}

fn is_silence(error: &StoreError) -> bool {
    error.kind() == StoreErrorKind::Unreachable
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
    fn new(client: Client, dead: CancellationToken, progress: Progress) -> Self {
        let (streams, watch) = (Mutex::default(), Mutex::default());
        Self { client, dead, progress, is_compared: AtomicBool::new(false), streams, watch }
    }

    /// Takes a stream out to use it: a request that is given up half way leaves nothing behind that
    /// the next one could stumble over.
    pub(super) fn stream(&self) -> Option<Stream> {
        self.streams().pop()
    }

    pub(super) fn put_back(&self, stream: Stream) {
        let mut streams = self.streams();
        if streams.len() < STREAMS {
            streams.push(stream);
        }
    }

    pub(super) fn has_streams(&self) -> bool {
        !self.streams().is_empty()
    }

    /// The end of one stream is probably the end of all.
    pub(super) fn drop_streams(&self) {
        let streams = std::mem::take(&mut *self.streams());
        drop(streams);
    }

    fn streams(&self) -> MutexGuard<'_, Vec<Stream>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}
