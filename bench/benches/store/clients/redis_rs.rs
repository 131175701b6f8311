//! redis-rs.

use redis::aio::{MultiplexedConnection, SendError};
use redis::{AsyncConnectionConfig, ProtocolVersion, PushInfo, RedisConnectionInfo, Value};
use tenure::runtime::{Runtime, TokioRuntime};
use tenure_bench::Outcome;

use crate::client::Client;

pub(crate) struct RawRedis(MultiplexedConnection);

/// The script's digest, its keys and its arguments.
pub(crate) type Call = (String, Vec<String>, Vec<String>);

impl RawRedis {
    pub(crate) async fn connect(port: u16) -> Outcome<Self> {
        let stream = TokioRuntime.connect("127.0.0.1", port).await?;
        let session = RedisConnectionInfo::default()
            .set_protocol(ProtocolVersion::RESP3)
            .set_skip_set_lib_name();
        let settings = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_connection_timeout(None)
            .set_push_sender(|_: PushInfo| Ok::<(), SendError>(()));
        let (connection, driver) =
            MultiplexedConnection::new_with_config(&session, stream, settings).await?;
        tokio::spawn(driver);
        Ok(Self(connection))
    }
}

impl Client for RawRedis {
    type Call = Call;
    type Answer = Value;

    fn prepare(&self, sha: &str, keys: &[String], arguments: &[String]) -> Call {
        (sha.to_owned(), keys.to_vec(), arguments.to_vec())
    }

    async fn evalsha(&mut self, (sha, keys, arguments): &Call) -> Value {
        let mut command = redis::cmd("EVALSHA");
        command.arg(sha).arg(keys.len()).arg(keys).arg(arguments);
        self.0.send_packed_command(&command).await.expect("an answer")
    }

    fn read(answer: Value) -> (String, Option<i64>) {
        let Value::Array(mut fields) = answer else { panic!("not a script's answer: {answer:?}") };
        // A script that many elections may share has an answer for each.
        if let [Value::Array(only)] = &mut fields[..] {
            fields = std::mem::take(only);
        }
        let word = match fields.first() {
            Some(Value::BulkString(word)) => String::from_utf8_lossy(word).into_owned(),
            other => panic!("not a script's answer: {other:?}"),
        };
        let number = match fields.get(1) {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        };
        (word, number)
    }

    async fn ping(&mut self) {
        self.0.send_packed_command(&redis::cmd("PING")).await.expect("an answer");
    }
}
