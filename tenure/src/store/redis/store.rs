//! The store on redis-rs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_core::Stream;
use redis::{Cmd, Pipeline, RedisResult, Value};

use super::cluster::{self, Elsewhere, REDIRECTIONS};
use super::config::RedisConfig;
use super::link::Link;
use super::reply::{self, Field};
use super::script::Invocation;
use super::session::{self, Live};
use super::wakeup;
use crate::Token;
use crate::runtime::{Runtime, TokioRuntime};
use crate::store::slot::Answered;
use crate::store::{
    Hint, Key, Message, Reply, Request, Store, StoreError, StoreErrorKind, StoreTraits,
};

/// Leases in a Redis or Valkey server, through redis-rs: one connection for all elections, opened when
/// first needed, dropped and opened anew after any timeout or protocol error, and once another server
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

    /// Carries out a request. A promise of the server counts only once replicas and members confirm it.
    async fn carry_out(
        &self,
        live: &mut Arc<Live>,
        request: &Request,
        asked: &Asked,
    ) -> Result<Reply, StoreError> {
        let answer = self.ask(live, asked).await?;
        let reply = read(request, &answer.value)?;
        if promises(&reply) {
            if let Some(acknowledged) = &answer.acknowledged {
                self.0.connector.config.replicas.vouch_for(acknowledged)?;
            }
            self.0.route.vouch_for(&live.at).await?;
        }
        Ok(reply)
    }

    /// Calls the script at the server that keeps the election, and follows redirections.
    async fn ask(&self, live: &mut Arc<Live>, asked: &Asked) -> Result<Answer, StoreError> {
        let (link, config) = (&self.0, &self.0.connector.config);
        let mut answer = invoke(live, asked, false).await;
        for _ in 0..REDIRECTIONS {
            // A request that is refused like that was not carried out.
            let refused = answer.as_ref().err();
            match refused.and_then(|error| cluster::elsewhere(&config.servers, error, &live.at)) {
                None => break,
                Some(Elsewhere::Moved) => {
                    live.dead.cancel();
                    *live = link.live().await?;
                    answer = invoke(live, asked, false).await;
                }
                Some(Elsewhere::Asked { to, is_same_host }) => {
                    cluster::is_node(&link.route.members, &to, is_same_host).await?;
                    let login = &config.login;
                    let there = link.connector.open(&to, login, 0, session::REPLY_MOST).await?;
                    let _over = there.dead.clone().drop_guard();
                    answer = invoke(&there, asked, true).await;
                }
            }
        }
        answer.map_err(|error| live.failed(&error))
    }
}

/// The commands for a request: a script's call, and a wait for replicas if that is configured.
struct Asked {
    call: Invocation,
    evalsha: Cmd,
    wait: Option<Cmd>,
}

/// The server's answers to both.
struct Answer {
    value: Value,
    acknowledged: Option<Value>,
}

/// Calls the script. A server that does not know it has not executed anything: only then is it called
/// a second time.
async fn invoke(live: &Live, asked: &Asked, is_asking: bool) -> RedisResult<Answer> {
    let pending = Answered::pending(live);
    let mut answer = send(live, asked, is_asking).await;
    if matches!(&answer, Err(error) if error.code() == Some("NOSCRIPT")) {
        let load = redis::cmd("SCRIPT").arg("LOAD").arg(asked.call.script.text).to_owned();
        answer = match live.answer(&load).await {
            Ok(_) => send(live, asked, is_asking).await,
            Err(error) => Err(error),
        };
    }
    // An error with a code is a reply of the server: the connection is fine.
    if answer.as_ref().map_or_else(|error| error.code().is_some(), |_| true) {
        pending.yes();
    }
    answer
}

/// Sends all commands at once, so that no other command comes in between.
async fn send(live: &Live, asked: &Asked, is_asking: bool) -> RedisResult<Answer> {
    if asked.wait.is_none() && !is_asking {
        let value = live.answer(&asked.evalsha).await?;
        return Ok(Answer { value, acknowledged: None });
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
    Ok(Answer { value, acknowledged: answers.next() })
}

impl Store for Redis {
    fn traits(&self) -> StoreTraits {
        StoreTraits { messages: true, ..StoreTraits::new("redis") }
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        let config = &self.0.connector.config;
        let mut live = self.0.live().await?;
        let has_compared = live.has_compared.load(Ordering::Relaxed);
        let call = Invocation::new(config, key, &request, has_compared);
        let (evalsha, wait) = (evalsha(&call), config.replicas.wait_after(&request));
        let asked = Asked { call, evalsha, wait };
        let reply = self.carry_out(&mut live, &request, &asked).await;
        if matches!(&reply, Err(error) if condemns(error.kind())) {
            live.dead.cancel();
        }
        if matches!(reply, Ok(Reply::Renewed)) && !has_compared {
            live.has_compared.store(true, Ordering::Relaxed);
        }
        reply
    }

    fn hints(&self, key: &Key) -> impl Stream<Item = Hint> + Send + 'static {
        wakeup::hints(Arc::clone(&self.0), self.0.connector.config.record(key))
    }

    fn messages(&self, key: &Key, token: Token) -> impl Stream<Item = Message> + Send + 'static {
        wakeup::messages(Arc::clone(&self.0), self.0.connector.config.inbox(key), token)
    }
}

/// Whether a candidate may lead by that reply.
fn promises(reply: &Reply) -> bool {
    match reply {
        Reply::Granted { .. } | Reply::Renewed => true,
        Reply::Held(_) | Reply::Refused { .. } | Reply::Stale { .. } => false,
        Reply::Superseded { .. } | Reply::Released | Reply::NotHeld => false,
        Reply::Vacant | Reply::Notified { .. } => false,
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

fn read(request: &Request, value: &Value) -> Result<Reply, StoreError> {
    let Value::Array(values) = value else { return reply::read(request, [Field::Other]) };
    reply::read(
        request,
        values.iter().map(|value| match value {
            Value::BulkString(text) => Field::Text(text),
            Value::SimpleString(text) => Field::Text(text.as_bytes()),
            Value::Int(number) => Field::Number(*number),
            _ => Field::Other,
        }),
    )
}
