//! The store on fred: another client with the same scripts and the same reading of replies.
//!
//! fred can reconnect and replay by itself. Here it does neither: a client is used for one pair of
//! connections, and dropped with them, so that a request that was in flight stays unknown. The next
//! request opens a new pair.
//!
//! Requests and wake-ups have a connection each, because fred takes an error reply to a SUBSCRIBE
//! for the reply to the request after it, and from then on assigns each reply to the wrong request. No lease
//! may depend on a connection where that can happen.

mod link;
mod wakeup;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fred::types::Value;
use futures_core::Stream;

use super::config::RedisConfig;
use super::reply::{self, Field};
use super::script::Invocation;
use crate::Token;
use crate::store::{
    Hint, Key, Message, Reply, Request, Store, StoreError, StoreErrorKind, StoreTraits,
};
use link::{Link, failed};

/// Leases in a Redis or Valkey server, through fred: two connections for all elections, opened when
/// first needed, dropped and opened anew after any timeout or protocol error. A clone is the same.
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
        StoreTraits { messages: true, ..StoreTraits::new("fred") }
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        let live = self.0.live().await?;
        let has_compared = live.has_compared.load(Ordering::Relaxed);
        let call = Invocation::new(&self.0.config, key, &request, has_compared);
        let answer = live.invoke(&call).await.map_err(|error| failed(&error))?;
        let reply = read(&request, &answer);
        if matches!(&reply, Err(error) if error.kind() == StoreErrorKind::UnexpectedReply) {
            // Replies that do not fit their requests may be out of step with them.
            live.dead.cancel();
        }
        if matches!(reply, Ok(Reply::Renewed)) && !has_compared {
            live.has_compared.store(true, Ordering::Relaxed);
        }
        reply
    }

    fn hints(&self, key: &Key) -> impl Stream<Item = Hint> + Send + 'static {
        wakeup::hints(Arc::clone(&self.0), self.0.config.record(key))
    }

    fn messages(&self, key: &Key, token: Token) -> impl Stream<Item = Message> + Send + 'static {
        wakeup::messages(Arc::clone(&self.0), self.0.config.inbox(key), token)
    }
}

fn read(request: &Request, value: &Value) -> Result<Reply, StoreError> {
    let Value::Array(values) = value else { return reply::read(request, [Field::Other]) };
    reply::read(
        request,
        values.iter().map(|value| match value {
            Value::String(text) => Field::Text(text.as_bytes()),
            Value::Bytes(text) => Field::Text(text),
            Value::Integer(number) => Field::Number(*number),
            _ => Field::Other,
        }),
    )
}

impl fmt::Debug for Fred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Fred").field(&self.0.config).finish()
    }
}
