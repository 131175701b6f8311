//! The store on redis-rs.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_core::Stream;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use redis::{Cmd, Pipeline, RedisResult, Value};

use super::channels;
use super::cluster::{self, Elsewhere, REDIRECTIONS};
use super::config::RedisConfig;
use super::link::Link;
use super::purge::{self, Cursor};
use super::reply::{self, Field, ReplyValue};
use super::script::Invocation;
use super::session::{self, Live};
use crate::Token;
use crate::runtime::{Runtime, TokioRuntime};
use crate::store::purge::{Step, in_steps};
use crate::store::slot::Patience;
use crate::store::{
    Key, Message, Reply, Request, Store, StoreError, StoreErrorKind, StoreTraits, Watched,
    subscriptions,
};

/// Leases in a Redis or Valkey server, through redis-rs: one connection for all elections, opened when
/// first needed, dropped and opened anew after a timeout in which it answered nothing or a protocol error, and once another server
/// keeps the elections. A clone is the same.
#[derive(Clone, Debug)]
pub struct Redis(Arc<Link>);

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
    async fn carry_out(
        &self,
        live: &mut Arc<Live>,
        requests: &[(Key, Request)],
        asked: &Asked,
    ) -> Result<Option<Vec<Result<Reply, StoreError>>>, StoreError> {
        let Some(answer) = self.ask(live, asked, requests).await? else { return Ok(None) };
        let mut replies = reply::read_all(requests, &answer.value);
        if replies.iter().any(promises)
            && let Err(error) = self.vouch_for(live, &answer).await
        {
            replies.iter_mut().filter(|reply| promises(reply)).for_each(|promise| {
                *promise = Err(error.clone());
            });
        }
        if answer.has_compared && replies.iter().any(|reply| matches!(reply, Ok(Reply::Renewed))) {
            live.has_compared.store(true, Ordering::Relaxed);
        }
        Ok(Some(replies))
    }

    /// Deletes the old ones of a few records.
    async fn purge_some(&self, from: Cursor, age: Duration) -> Result<Step<Cursor>, StoreError> {
        let mut live = self.0.live(Patience::Fails).await?;
        let step = self.purge_on(&mut live, from, age).await;
        match &step {
            Ok(_) => live.serves(),
            Err(error) => {
                if condemns(error.kind()) {
                    live.dead.cancel();
                }
                self.0.current.failed(&live, error);
            }
        }
        step.map_err(purge::explained)
    }

    async fn purge_on(
        &self,
        live: &mut Arc<Live>,
        from: Cursor,
        age: Duration,
    ) -> Result<Step<Cursor>, StoreError> {
        let config = &self.0.connector.config;
        let mut scan = redis::cmd("SCAN");
        scan.arg(from.0).arg("MATCH").arg(purge::pattern(&config.prefix));
        scan.arg("COUNT").arg(purge::COUNT);
        let found = purge::scanned(&live.ask(&scan).await?)?;
        if found.keys.is_empty() {
            return Ok(Step { deleted: 0, next: found.next });
        }
        let call = Invocation::purge(config, &found.keys, age);
        let (evalsha, patience) = (evalsha(&call), Patience::Fails);
        let asked = Asked { evalsha, call, wait: None, patience, is_of_many: true };
        // While a slot moves, its records are at two nodes, and are left for the next time.
        let answer = self.ask(live, &asked, &[]).await?;
        let deleted = answer.map(|answer| purge::deleted(&answer.value)).transpose()?;
        Ok(Step { deleted: deleted.unwrap_or_default(), next: found.next })
    }

    /// A promise of the server counts only once replicas and members confirm it.
    async fn vouch_for(&self, live: &Live, answer: &Answer) -> Result<(), StoreError> {
        if let Some(acknowledged) = &answer.acknowledged {
            self.0.connector.config.replicas.vouch_for(acknowledged)?;
        }
        self.0.route.vouch_for(&live.at).await
    }

    /// The requests of one call.
    async fn call_once(
        &self,
        live: &mut Arc<Live>,
        requests: &[(Key, Request)],
        call: Invocation,
    ) -> Vec<Result<Reply, StoreError>> {
        let wait =
            requests.iter().find_map(|(_, one)| self.0.connector.config.replicas.wait_after(one));
        let patience = Patience::of_all(requests);
        let is_of_many = requests.len() > 1;
        let asked = Asked { evalsha: evalsha(&call), call, wait, patience, is_of_many };
        let results = match self.carry_out(live, requests, &asked).await {
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
        let has_compared = live.has_compared.load(Ordering::Relaxed);
        let config = &self.0.connector.config;
        let calls = Invocation::all(config, requests, has_compared).map(|(some, call)| {
            let mut live = Arc::clone(live);
            async move { self.call_once(&mut live, some, call).await }
        });
        join_all(calls).await.into_iter().flatten().collect()
    }

    /// Calls the script at the server that keeps the election, and follows redirections. `None` if many requests have to
    /// be called one by one: their keys are at two nodes, or they are renewals, each of which compares another server.
    async fn ask(
        &self,
        live: &mut Arc<Live>,
        asked: &Asked,
        requests: &[(Key, Request)],
    ) -> Result<Option<Answer>, StoreError> {
        let (link, config) = (&self.0, &self.0.connector.config);
        let mut answer = invoke(live, asked, false).await;
        for _ in 0..REDIRECTIONS {
            // A request that is refused like that was not carried out.
            let refused = answer.as_ref().err();
            match refused.and_then(|error| cluster::elsewhere(&config.servers, error, &live.at)) {
                None => break,
                Some(Elsewhere::Moved) => {
                    live.dead.cancel();
                    *live = link.live(asked.patience).await?;
                    if asked.is_of_many && requests.iter().any(renews) {
                        return Ok(None);
                    }
                    let compares = asked.at_another_server(config, requests);
                    answer = invoke(live, compares.as_ref().unwrap_or(asked), false).await;
                }
                Some(Elsewhere::Asked { to, is_same_host }) => {
                    cluster::is_node(&link.route.members, &to, is_same_host).await?;
                    let login = &config.login;
                    let there = link.connector.open(&to, login, 0, session::REPLY_MOST).await?;
                    let _over = there.dead.clone().drop_guard();
                    answer = match asked.at_another_server(config, requests) {
                        Some(compares) => match invoke(&there, &compares, true).await {
                            // The history has not moved yet.
                            Err(error) if cluster::is_split(&error) => {
                                invoke(&there, asked, true).await
                            }
                            // The first one has compared for all. It is renewed with them once more.
                            Ok(_) if asked.is_of_many => invoke(&there, asked, true).await,
                            answer => answer,
                        },
                        None => invoke(&there, asked, true).await,
                    };
                }
            }
        }
        match answer {
            Err(error) if cluster::is_split(&error) => {
                if asked.is_of_many {
                    return Ok(None);
                }
                match asked.without_comparison(config, requests) {
                    // The history is at another node than the record. The lead does not wait for both to be at one.
                    Some(alone) => Box::pin(self.ask(live, &alone, requests)).await,
                    None => Err(live.failed(&error)),
                }
            }
            answer => answer.map(Some).map_err(|error| live.failed(&error)),
        }
    }
}

/// The commands for a request: a script's call, and a wait for replicas if that is configured.
struct Asked {
    call: Invocation,
    evalsha: Cmd,
    wait: Option<Cmd>,
    patience: Patience,
    is_of_many: bool,
}

impl Asked {
    /// The first renewal, called at another server than the one for which its script was chosen: it compares that one
    /// with the history. `None` for all other requests.
    fn at_another_server(&self, config: &RedisConfig, requests: &[(Key, Request)]) -> Option<Self> {
        let first = requests.first().filter(|first| renews(first))?;
        let (_, call) = Invocation::all(config, std::slice::from_ref(first), false).next()?;
        let wait = self.wait.clone();
        Some(Self { evalsha: evalsha(&call), call, wait, ..*self })
    }

    /// The same renewal, which compares nothing; `None` for one that does not compare, and for all other requests.
    fn without_comparison(
        &self,
        config: &RedisConfig,
        requests: &[(Key, Request)],
    ) -> Option<Self> {
        if !self.call.compares() {
            return None;
        }
        let (_, call) = Invocation::all(config, requests, true).next()?;
        let wait = self.wait.clone();
        Some(Self { evalsha: evalsha(&call), call, wait, ..*self })
    }
}

fn renews((_, request): &(Key, Request)) -> bool {
    matches!(request, Request::Renew { .. })
}

/// The server's answers to both.
struct Answer {
    value: Value,
    acknowledged: Option<Value>,
    /// Whether the server was compared with the history.
    has_compared: bool,
}

/// Calls the script. A server that does not know it has not executed anything: only then is it called
/// a second time.
async fn invoke(live: &Live, asked: &Asked, is_asking: bool) -> RedisResult<Answer> {
    let unanswered = live.progress.expects();
    let mut answer = send(live, asked, is_asking).await;
    if matches!(&answer, Err(error) if error.code() == Some("NOSCRIPT")) {
        let load = redis::cmd("SCRIPT").arg("LOAD").arg(asked.call.script.text).to_owned();
        answer = match live.answer(&load).await {
            Ok(_) => send(live, asked, is_asking).await,
            Err(error) => Err(error),
        };
    }
    session::conclude(unanswered, &answer);
    answer
}

/// Sends all commands at once, so that no other command comes in between.
async fn send(live: &Live, asked: &Asked, is_asking: bool) -> RedisResult<Answer> {
    if asked.wait.is_none() && !is_asking {
        let value = live.answer(&asked.evalsha).await?;
        return Ok(Answer { value, acknowledged: None, has_compared: asked.call.compares() });
    }
    let mut commands = Pipeline::with_capacity(3);
    if is_asking {
        commands.cmd("ASKING");
    }
    commands.add_command(asked.evalsha.clone());
    if let Some(wait) = &asked.wait {
        commands.add_command(wait.clone());
    }
    let mut connection = live.connection.clone();
    let answers = connection.send_packed_commands(&commands, 0, commands.len()).await?;
    let mut answers = answers.into_iter().skip(usize::from(is_asking));
    let value = answers.next().unwrap_or_default().extract_error()?;
    let has_compared = asked.call.compares();
    Ok(Answer { value, acknowledged: answers.next(), has_compared })
}

impl Store for Redis {
    fn traits(&self) -> StoreTraits {
        super::traits("redis")
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

    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        let store = self.clone();
        let step = move |from| {
            let store = store.clone();
            async move { store.purge_some(from, age).await }.boxed()
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

/// Whether a candidate may lead by that reply.
fn promises(reply: &Result<Reply, StoreError>) -> bool {
    match reply {
        Ok(Reply::Granted { .. } | Reply::Renewed) => true,
        Ok(Reply::Held(_) | Reply::Refused { .. } | Reply::Stale { .. }) => false,
        Ok(Reply::Superseded { .. } | Reply::Released | Reply::NotHeld) => false,
        Ok(Reply::Described) => false,
        Ok(Reply::Vacant | Reply::Notified { .. }) | Err(_) => false,
    }
}

/// Whether the connection must be replaced after such an error.
fn condemns(kind: StoreErrorKind) -> bool {
    match kind {
        // Replies that do not fit their requests may be out of step with them.
        StoreErrorKind::UnexpectedReply => true,
        // Another server may be the primary by now, also under this name.
        StoreErrorKind::NotPrimary | StoreErrorKind::NoLeader => true,
        _ => false,
    }
}

fn evalsha(call: &Invocation) -> Cmd {
    let (keys, arguments) = (call.keys(), call.arguments());
    let words = 3 + keys.len() + arguments.len();
    // Each word is preceded by its length.
    let mut command = Cmd::with_capacity(words, call.len() + call.script.sha.len() + 16 * words);
    command.arg("EVALSHA").arg(&call.script.sha).arg(keys.len());
    for word in keys.chain(arguments) {
        command.arg(word);
    }
    command
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
