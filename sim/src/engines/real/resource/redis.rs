//! A list in Redis.

use redis::aio::MultiplexedConnection;
use tenure::Token;
use tenure::fence::FenceError;
use tenure::fence::redis::{Fence, TakenOver};
use tenure_servers::{RedisServer, Reply, ServerError};

use super::{Landed, NotWritten, parsed};
use crate::engines::real::election::key;

const WRITES: &str = "writes";
/// Adds the server's time, a word and a write to the list.
const ADD: &str = "local time = redis.call('TIME') \
     return redis.call('RPUSH', KEYS[1], string.format('%s%06d %s ', time[1], time[2], ARGV[1]) .. ARGV[2])";

pub(in super::super) struct Resource {
    connection: MultiplexedConnection,
    taken_over: Option<TakenOver>,
}

impl Resource {
    pub(super) async fn connect(port: u16) -> Option<Self> {
        let client = redis::Client::open(("127.0.0.1", port)).ok()?;
        let connection = client.get_multiplexed_async_connection().await.ok()?;
        Some(Self { connection, taken_over: None })
    }

    pub(super) async fn take_over(&mut self, token: Token) -> Result<(), NotWritten> {
        let taken_over = Fence::new(&key()).take_over(&mut self.connection, token).await;
        self.taken_over = Some(taken_over.map_err(|error| known(&error))?);
        Ok(())
    }

    pub(super) async fn write(&mut self, text: &str) -> Result<(), NotWritten> {
        let taken_over = self.taken_over.as_ref().ok_or(NotWritten::Unknown)?;
        let added: Result<u64, _> = taken_over
            .eval(&mut self.connection, ADD, &[WRITES], &[b"fenced", text.as_bytes()])
            .await;
        added.map(drop).map_err(|error| known(&error))
    }

    pub(super) async fn write_unfenced(&mut self, text: &str) -> Result<(), NotWritten> {
        let mut add = redis::cmd("EVAL");
        add.arg(ADD).arg(1).arg(WRITES).arg("unfenced").arg(text);
        let added: Result<u64, _> = add.query_async(&mut self.connection).await;
        added.map(drop).map_err(|_| NotWritten::Unknown)
    }
}

const fn known(error: &FenceError<redis::RedisError>) -> NotWritten {
    match error {
        FenceError::Superseded { .. } => NotWritten::Refused,
        _ => NotWritten::Unknown,
    }
}

pub(super) fn landed(server: &RedisServer) -> Result<Vec<Landed>, ServerError> {
    let wrong = |detail: String| ServerError::Protocol { port: server.port(), detail };
    let Reply::Array(lines) = server.command(&["LRANGE", WRITES, "0", "-1"])? else {
        return Err(wrong(format!("{WRITES:?} is not a list")));
    };
    let landed = |line: &Reply| {
        let Reply::BulkString(line) = line else {
            return Err(wrong(format!("{line:?} is not a string")));
        };
        let line = String::from_utf8_lossy(line).into_owned();
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (micros, fenced, text) = (word(), word() == "fenced", word());
        parsed(text, micros, fenced).map_err(wrong)
    };
    lines.iter().map(landed).collect()
}
