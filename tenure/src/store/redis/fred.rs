//! The store on fred: another client with the same scripts and the same reading of replies.
//!
//! fred can reconnect and replay by itself. Here it does neither: a client is used for one pair of
//! connections, and dropped with them, so that a request that was in flight stays unknown. The next
//! request opens a new pair.
//!
//! Requests and wake-ups have a connection each, because fred takes an error reply to a SUBSCRIBE
//! for the reply to the request after it, and from then on assigns each reply to the wrong request.
//! No lease may depend on a connection where that can happen.

mod link;
mod pushed;
mod wakeup;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fred::types::Value;
use futures_core::Stream;
use futures_util::FutureExt;
use futures_util::future::join_all;

use super::channels;
use super::config::RedisConfig;
use super::field::Field;
use super::purge::{self, Cursor, Scanned};
use super::reply::{self, ReplyValue};
use super::script::{Invocation, Payload, in_calls};
use crate::Token;
use crate::store::slot::Patience;
use crate::store::steps::{Step, in_steps};
use crate::store::{
    Key, Message, Reply, Request, Store, StoreError, StoreErrorKind, StoreTraits, Watched,
    subscriptions,
};
use link::{Link, Live, failed};

/// Leases in a Redis or Valkey server, through fred: two connections for all elections, opened when
/// first needed, dropped and opened anew after a timeout in which it answered nothing or a protocol
/// error. A clone is the same.
///
/// fred owns its sockets, so this store runs in tokio and against real servers only: the simulator
/// can't run it.
#[derive(Clone)]
pub struct Fred(Arc<Link>);

impl Fred {
    /// A store at that server. Does not connect yet, and needs no runtime yet.
    pub fn new(config: RedisConfig) -> Self {
        config.warn();
        Self(Arc::new(Link::new(config)))
    }
}

impl Store for Fred {
    fn traits(&self) -> StoreTraits {
        super::traits("fred")
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        let results = self.call_all(vec![(key.clone(), request)]).await;
        results.into_iter().next().unwrap_or_else(reply::missing)
    }

    async fn call_all(&self, requests: Vec<(Key, Request)>) -> Vec<Result<Reply, StoreError>> {
        let live = match self.0.live(Patience::of_all(&requests)).await {
            Ok(live) => live,
            Err(error) => return vec![Err(error); requests.len()],
        };
        let calls = in_calls(&requests).map(|some| call_once(&self.0, &live, some));
        join_all(calls).await.into_iter().flatten().collect()
    }

    fn connect_error(&self) -> Option<StoreError> {
        self.0.current.connect_error()
    }

    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        let link = Arc::clone(&self.0);
        let step = move |from| {
            let link = Arc::clone(&link);
            async move { purge_some(&link, from, age).await }.boxed()
        };
        in_steps(&self.0.runtime, step).await
    }

    async fn keys(&self) -> Result<BTreeSet<Key>, StoreError> {
        let link = Arc::clone(&self.0);
        let step = move |from| {
            let link = Arc::clone(&link);
            async move { some_keys(&link, from).await }.boxed()
        };
        in_steps(&self.0.runtime, step).await
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        subscriptions::hints(Arc::clone(&self.0), watched)
    }

    fn messages(&self, key: &Key, token: Token) -> impl Stream<Item = Message> + Send + 'static {
        channels::messages(Arc::clone(&self.0), key, token)
    }
}

/// The requests of one call.
async fn call_once(
    link: &Link,
    live: &Arc<Live>,
    requests: &[(Key, Request)],
) -> Vec<Result<Reply, StoreError>> {
    let payload = Payload::Requests(requests);
    let call = Invocation::new(&link.config, payload, live.past(), live.flags);
    let results = match live.invoke(&call).await {
        Ok(answer) => reply::read_all(requests, &answer),
        Err(error) => vec![Err(failed(&error)); requests.len()],
    };
    let errors = || results.iter().filter_map(|result| result.as_ref().err());
    if errors().any(|error| error.kind() == StoreErrorKind::UnexpectedReply) {
        // Replies that do not fit their requests may be out of step with them.
        live.dead.cancel();
    }
    if let Some(error) = errors().next() {
        link.current.failed(live, error);
    }
    if results.iter().any(Result::is_ok) {
        live.serves(&call);
    }
    results
}

/// Deletes the old ones of a few records.
async fn purge_some(
    link: &Arc<Link>,
    from: Cursor,
    age: Duration,
) -> Result<Step<Cursor, u64>, StoreError> {
    let live = link.live(Patience::Fails).await?;
    let step = async {
        let found = scan(link, &live, from).await?;
        let records = link.purging.with_marks(found.keys, link.runtime.now());
        let mut deleted = 0;
        if !records.is_empty() {
            let payload = Payload::Purge(&records, age);
            let call = Invocation::new(&link.config, payload, live.past(), live.flags);
            let answer = live.invoke(&call).await.map_err(|error| failed(&error))?;
            deleted = link.purging.take_in(&records, &answer, link.runtime.now())?;
            live.serves(&call);
        }
        if found.next.is_none() {
            link.purging.ends();
        }
        Ok(Step { made: deleted, next: found.next })
    };
    let step = step.await;
    judged(link, &live, step)
}

async fn some_keys(
    link: &Arc<Link>,
    from: Cursor,
) -> Result<Step<Cursor, BTreeSet<Key>>, StoreError> {
    let live = link.live(Patience::Fails).await?;
    let found = scan(link, &live, from).await;
    let Scanned { keys, next } = judged(link, &live, found)?;
    Ok(Step { made: purge::keys(&link.config.prefix, &keys), next })
}

async fn scan(link: &Link, live: &Live, from: Cursor) -> Result<Scanned, StoreError> {
    let pattern = purge::pattern(&link.config.prefix);
    let found = live.scan([&from.0, "MATCH", &pattern, "COUNT", purge::COUNT]).await;
    purge::scanned(&found.map_err(|error| failed(&error))?)
}

/// Judges a connection by a step over it.
fn judged<T>(link: &Link, live: &Arc<Live>, step: Result<T, StoreError>) -> Result<T, StoreError> {
    match &step {
        Ok(_) => live.served.store(true, Ordering::Relaxed),
        Err(error) => {
            if error.kind() == StoreErrorKind::UnexpectedReply {
                live.dead.cancel();
            }
            link.current.failed(live, error);
        }
    }
    step.map_err(purge::explained)
}

impl ReplyValue for Value {
    fn elements(&self) -> Option<&[Self]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    fn field(&self) -> Field<'_> {
        match self {
            Self::String(text) => Field::Text(text.as_bytes()),
            Self::Bytes(text) => Field::Text(text),
            Self::Integer(number) => Field::Number(*number),
            _ => Field::Other,
        }
    }
}

impl fmt::Debug for Fred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Fred").field(&self.0.config).finish()
    }
}
