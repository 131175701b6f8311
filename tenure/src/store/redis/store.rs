//! The store on redis-rs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use redis::Value;

use super::channels;
use super::config::RedisConfig;
use super::field::Field;
use super::link::Link;
use super::purge::{self, Cursor, Scanned};
use super::redirect::{Answer, ScriptCall};
use super::reply::{self, ReplyValue};
use super::script::{Payload, in_calls};
use super::session::Live;
use crate::Token;
use crate::runtime::{Runtime, TokioRuntime};
use crate::store::slot::Patience;
use crate::store::steps::{Step, in_steps};
use crate::store::{
    Key, Message, Reply, Request, Store, StoreError, StoreErrorKind, StoreTraits, Watched,
    subscriptions,
};

/// Leases in a Redis or Valkey server, through redis-rs: one connection for all elections, opened
/// when first needed, dropped and opened anew after a timeout in which it answered nothing or a
/// protocol error, and once another server keeps the elections. A clone is the same.
#[derive(Clone, Debug)]
pub struct Redis(pub(super) Arc<Link>);

impl Redis {
    /// A store at that server. Does not connect yet.
    pub fn new(config: RedisConfig) -> Self {
        Self::with_runtime(config, Arc::new(TokioRuntime))
    }

    /// The same, in that runtime.
    pub fn with_runtime(config: RedisConfig, runtime: Arc<dyn Runtime>) -> Self {
        config.warn();
        Self(Arc::new(Link::new(config, runtime)))
    }

    /// Carries out the requests of one call; `None` if their keys are at two nodes.
    async fn call_script(
        &self,
        live: &mut Arc<Live>,
        requests: &[(Key, Request)],
        script: &ScriptCall<'_>,
    ) -> Result<Option<Vec<Result<Reply, StoreError>>>, StoreError> {
        let Some(answer) = self.0.ask(live, script).await? else { return Ok(None) };
        let mut replies = reply::read_all(requests, &answer.value);
        if replies.iter().any(Result::is_ok) {
            answer.serves();
        }
        let counts = |(_, request): &(Key, Request), reply: &Result<_, _>| {
            reply.as_ref().is_ok_and(|reply| promises(request, reply))
        };
        if requests.iter().zip(&replies).any(|(request, reply)| counts(request, reply))
            && let Err(error) = self.vouch_for(live, &answer).await
        {
            for (request, reply) in requests.iter().zip(&mut replies) {
                if counts(request, reply) {
                    *reply = Err(error.clone());
                }
            }
        }
        if replies.iter().any(|reply| matches!(reply, Err(error) if condemns(error.kind()))) {
            answer.by.dead.cancel();
        }
        Ok(Some(replies))
    }

    /// Deletes the old ones of a few records.
    async fn purge_some(
        &self,
        from: Cursor,
        age: Duration,
    ) -> Result<Step<Cursor, u64>, StoreError> {
        let mut live = self.0.live(Patience::Fails).await?;
        let step = self.purge_on(&mut live, from, age).await;
        self.judged(&live, step)
    }

    async fn some_keys(&self, from: Cursor) -> Result<Step<Cursor, BTreeSet<Key>>, StoreError> {
        let live = self.0.live(Patience::Fails).await?;
        let found = self.scan(&live, from).await;
        let Scanned { keys, next } = self.judged(&live, found)?;
        Ok(Step { made: purge::keys(&self.0.connector.config.prefix, &keys), next })
    }

    /// Judges a connection by a step over it.
    fn judged<T>(&self, live: &Arc<Live>, step: Result<T, StoreError>) -> Result<T, StoreError> {
        match &step {
            Ok(_) => live.serves(),
            Err(error) => {
                if condemns(error.kind()) {
                    live.dead.cancel();
                }
                self.0.current.failed(live, error);
            }
        }
        step.map_err(purge::explained)
    }

    async fn scan(&self, live: &Live, from: Cursor) -> Result<Scanned, StoreError> {
        let mut scan = redis::cmd("SCAN");
        scan.arg(from.0).arg("MATCH").arg(purge::pattern(&self.0.connector.config.prefix));
        scan.arg("COUNT").arg(purge::COUNT);
        purge::scanned(&live.ask(&scan).await?)
    }

    async fn purge_on(
        &self,
        live: &mut Arc<Live>,
        from: Cursor,
        age: Duration,
    ) -> Result<Step<Cursor, u64>, StoreError> {
        let found = self.scan(live, from).await?;
        let Link { connector, purging, .. } = &*self.0;
        let records = purging.with_marks(found.keys, connector.runtime.now());
        let payload = Payload::Purge(&records, age);
        let script = ScriptCall { payload, wait: None, patience: Patience::Fails };
        let mut deleted = 0;
        // While a slot moves, its records are at two nodes, and are left for the next time.
        if !records.is_empty()
            && let Some(answer) = self.0.ask(live, &script).await?
        {
            deleted = purging.take_in(&records, &answer.value, connector.runtime.now())?;
            answer.serves();
        }
        if found.next.is_none() {
            purging.ends();
        }
        Ok(Step { made: deleted, next: found.next })
    }

    /// A promise of the server counts only once replicas and members confirm it.
    async fn vouch_for(&self, live: &Live, answer: &Answer) -> Result<(), StoreError> {
        if let Some(acknowledged) = &answer.acknowledged {
            self.0.connector.config.replicas.vouch_for(acknowledged)?;
        }
        let route = &self.0.route;
        let Some(target) = &answer.target else { return route.vouch_for(&live.at).await };
        let both =
            futures_util::try_join!(route.vouch_for(&live.at), target.vouch_for(&route.members));
        both.map(drop)
    }

    /// The requests of one call.
    async fn call_once(
        &self,
        live: &mut Arc<Live>,
        requests: &[(Key, Request)],
    ) -> Vec<Result<Reply, StoreError>> {
        let wait =
            requests.iter().find_map(|(_, one)| self.0.connector.config.replicas.wait_after(one));
        let (payload, patience) = (Payload::Requests(requests), Patience::of_all(requests));
        let script = ScriptCall { payload, wait, patience };
        let results = match self.call_script(live, requests, &script).await {
            Ok(Some(results)) => results,
            // Nothing was carried out. While a slot moves, each key is at one of two nodes.
            Ok(None) => return self.call_each(live, requests).await,
            Err(error) => vec![Err(error); requests.len()],
        };
        let errors = || results.iter().filter_map(|result| result.as_ref().err());
        if errors().any(|error| condemns(error.kind())) {
            live.dead.cancel();
        }
        if let Some(error) = errors().next() {
            self.0.current.failed(live, error);
        }
        if results.iter().any(Result::is_ok) {
            live.serves();
        }
        results
    }

    /// Each of these requests by a call of its own.
    fn call_each<'a>(
        &'a self,
        live: &'a Arc<Live>,
        requests: &'a [(Key, Request)],
    ) -> BoxFuture<'a, Vec<Result<Reply, StoreError>>> {
        let alone = requests.chunks(1).map(|one| self.call_together(live, one));
        join_all(alone).map(|all| all.into_iter().flatten().collect()).boxed()
    }

    /// These requests in as few calls as the scripts allow.
    async fn call_together(
        &self,
        live: &Arc<Live>,
        requests: &[(Key, Request)],
    ) -> Vec<Result<Reply, StoreError>> {
        let calls = in_calls(requests).map(|some| {
            let mut live = Arc::clone(live);
            async move { self.call_once(&mut live, some).await }
        });
        join_all(calls).await.into_iter().flatten().collect()
    }
}

impl Store for Redis {
    fn traits(&self) -> StoreTraits {
        // Sentinels or nodes vouch for a grant or renewal afterwards.
        let is_alone = self.0.connector.config.servers.listed().is_empty();
        StoreTraits { round_trips: if is_alone { 1 } else { 2 }, ..super::traits("redis") }
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
        self.call_together(&live, &requests).await
    }

    fn connect_error(&self) -> Option<StoreError> {
        self.0.connect_error()
    }

    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        let store = self.clone();
        let step = move |from| {
            let store = store.clone();
            async move { store.purge_some(from, age).await }.boxed()
        };
        in_steps(&self.0.connector.runtime, step).await
    }

    async fn keys(&self) -> Result<BTreeSet<Key>, StoreError> {
        let store = self.clone();
        let step = move |from| {
            let store = store.clone();
            async move { store.some_keys(from).await }.boxed()
        };
        in_steps(&self.0.connector.runtime, step).await
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        subscriptions::hints(Arc::clone(&self.0), watched)
    }

    fn messages(&self, key: &Key, token: Token) -> impl Stream<Item = Message> + Send + 'static {
        channels::messages(Arc::clone(&self.0), key, token)
    }
}

/// True if a candidate may lead by that reply, or take it for the proof of a loss. An outdated
/// answer would prove one that has not happened yet.
fn promises(request: &Request, reply: &Reply) -> bool {
    let seen = match request {
        Request::Acquire { asks, .. } => asks.seen,
        Request::Look { seen, .. } | Request::Ask { seen, .. } => *seen,
        _ => None,
    };
    match reply {
        Reply::Granted { .. } | Reply::Renewed { .. } => true,
        Reply::Not(shown) | Reply::At(shown) => shown.sight.last < seen,
        Reply::Superseded { .. } | Reply::Released | Reply::NotHeld => false,
        Reply::Described | Reply::Noted | Reply::NotNoted => false,
        Reply::Vacant | Reply::Notified { .. } => false,
    }
}

/// True if the connection must be replaced after such an error.
fn condemns(kind: StoreErrorKind) -> bool {
    match kind {
        // Replies that do not fit their requests may be out of step with them.
        StoreErrorKind::UnexpectedReply => true,
        // Another server may be the primary by now, also under this name.
        StoreErrorKind::NotPrimary | StoreErrorKind::NoLeader => true,
        _ => false,
    }
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
            Self::BulkString(text) => Field::Text(text),
            Self::SimpleString(text) => Field::Text(text.as_bytes()),
            Self::Int(number) => Field::Number(*number),
            _ => Field::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_that_are_vouched_for_take_two_round_trips() {
        let others = ["a", "b", "c"].map(|host| (host, 26_379));
        let configs = [
            (RedisConfig::new("a", 6_379), 1),
            (RedisConfig::sentinel("main", others).unwrap(), 2),
            (RedisConfig::cluster(others).unwrap(), 2),
        ];
        for (config, round_trips) in configs {
            assert_eq!(Redis::new(config).traits().round_trips, round_trips);
        }
    }
}
