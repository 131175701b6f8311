//! The store on redis-rs.

use std::sync::Arc;

use futures_core::Stream;
use redis::{Cmd, RedisResult, Value};

use super::RedisConfig;
use super::link::{Answered, Link, Live, failed};
use super::reply::{Field, decode};
use super::script::Invocation;
use super::wakeup;
use crate::runtime::{Runtime, TokioRuntime};
use crate::store::{Hint, Key, Reply, Request, Store, StoreError, StoreErrorKind, StoreTraits};

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
    async fn invoke(&self, live: &mut Live, call: &Invocation) -> Result<Value, StoreError> {
        let evalsha = evalsha(call);
        let pending = Answered::pending(live);
        let mut answer = self::answer(live, &evalsha).await;
        if matches!(&answer, Err(error) if error.code() == Some("NOSCRIPT")) {
            let load = redis::cmd("SCRIPT").arg("LOAD").arg(call.script.text).to_owned();
            answer = self::answer(live, &load).await;
            if answer.is_ok() {
                answer = self::answer(live, &evalsha).await;
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
async fn answer(live: &mut Live, command: &Cmd) -> RedisResult<Value> {
    live.connection.send_packed_command(command).await?.extract_error()
}

impl Store for Redis {
    fn traits(&self) -> StoreTraits {
        StoreTraits::new("redis")
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        let call = Invocation::new(&self.0.config, key, &request);
        let mut live = self.0.live().await?;
        let value = self.invoke(&mut live, &call).await?;
        let reply = decode(&fields(value));
        if matches!(&reply, Err(error) if error.kind() == StoreErrorKind::UnexpectedReply) {
            // Replies that do not fit their requests may be out of step with them.
            live.dead.cancel();
        }
        reply
    }

    fn hints(&self, key: &Key) -> impl Stream<Item = Hint> + Send + 'static {
        wakeup::hints(Arc::clone(&self.0), self.0.config.record(key))
    }
}

fn evalsha(call: &Invocation) -> Cmd {
    let mut command = redis::cmd("EVALSHA");
    command.arg(&call.script.sha).arg(call.keys.len());
    for key in &call.keys {
        command.arg(key);
    }
    for argument in &call.arguments {
        command.arg(&argument[..]);
    }
    command
}

fn fields(value: Value) -> Vec<Field> {
    let Value::Array(values) = value else { return vec![Field::Other] };
    let field = |value| match value {
        Value::BulkString(text) => Field::Text(text.into()),
        Value::SimpleString(text) => Field::Text(text.into()),
        Value::Int(number) => Field::Number(number),
        _ => Field::Other,
    };
    values.into_iter().map(field).collect()
}
