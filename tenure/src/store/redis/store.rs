//! The store on redis-rs.

use std::sync::Arc;

use futures_core::Stream;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, RedisResult, Value};

use super::RedisConfig;
use super::link::{Answered, Link, Live, failed};
use super::reply::{self, Field};
use super::script::Invocation;
use super::wakeup;
use crate::Token;
use crate::runtime::{Runtime, TokioRuntime};
use crate::store::{
    Hint, Key, Message, Reply, Request, Store, StoreError, StoreErrorKind, StoreTraits,
};

/// Leases in a Redis or Valkey server, through redis-rs: one connection for all elections, opened when
/// first needed, dropped and opened anew after any timeout or protocol error. A clone is the same.
#[derive(Clone, Debug)]
pub struct Redis(Arc<Link>);

impl Redis {
    /// A store at that server. Does not connect yet.
    pub fn new(config: RedisConfig) -> Self {
        Self::with_runtime(config, Arc::new(TokioRuntime))
    }

    /// The same, in that runtime.
    pub fn with_runtime(config: RedisConfig, runtime: Arc<dyn Runtime>) -> Self {
        Self(Arc::new(Link::new(config, runtime)))
    }

    /// Calls the script. A server that does not know it has not executed anything: only then is it
    /// called a second time.
    async fn invoke(&self, live: &Live, call: &Invocation) -> Result<Value, StoreError> {
        let evalsha = evalsha(call);
        let mut connection = live.connection.clone();
        let pending = Answered::pending(live);
        let mut answer = self::answer(&mut connection, &evalsha).await;
        if matches!(&answer, Err(error) if error.code() == Some("NOSCRIPT")) {
            let load = redis::cmd("SCRIPT").arg("LOAD").arg(call.script.text).to_owned();
            answer = self::answer(&mut connection, &load).await;
            if answer.is_ok() {
                answer = self::answer(&mut connection, &evalsha).await;
            }
        }
        // An error with a code is the server's, in the reply's place, and not the connection's.
        if answer.as_ref().map_or_else(|error| error.code().is_some(), |_| true) {
            pending.yes();
        }
        answer.map_err(|error| failed(&error))
    }
}

/// One command and its answer. The client hands on an error reply as a value like any other.
async fn answer(connection: &mut MultiplexedConnection, command: &Cmd) -> RedisResult<Value> {
    connection.send_packed_command(command).await?.extract_error()
}

impl Store for Redis {
    fn traits(&self) -> StoreTraits {
        StoreTraits { messages: true, ..StoreTraits::new("redis") }
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        let call = Invocation::new(&self.0.config, key, &request);
        let live = self.0.live().await?;
        let value = self.invoke(&live, &call).await?;
        let reply = read(&request, &value);
        if matches!(&reply, Err(error) if error.kind() == StoreErrorKind::UnexpectedReply) {
            // Replies that do not fit their requests may be out of step with them.
            live.dead.cancel();
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
