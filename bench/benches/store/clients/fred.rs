//! fred.

use std::time::Duration;

use fred::clients::Client as Fred;
use fred::interfaces::{ClientLike, LuaInterface};
use fred::types::config::{Config, ServerConfig, TcpConfig};
use fred::types::{Builder, Key, RespVersion, Value};
use tenure_bench::Outcome;

use crate::client::Client;

/// The store's timeout.
const TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) struct RawFred(Fred);

/// The script's digest, its keys and its arguments.
pub(crate) type Call = (String, Vec<Key>, Vec<Value>);

impl RawFred {
    pub(crate) async fn connect(port: u16) -> Outcome<Self> {
        let config = Config {
            fail_fast: true,
            version: RespVersion::RESP3,
            server: ServerConfig::new_centralized("127.0.0.1", port),
            ..Config::default()
        };
        let client = Builder::from_config(config)
            .with_connection_config(|settings| {
                settings.max_command_attempts = 1;
                settings.max_redirections = 0;
                settings.connection_timeout = TIMEOUT;
                settings.internal_command_timeout = TIMEOUT;
                settings.tcp = TcpConfig { nodelay: Some(true), ..TcpConfig::default() };
            })
            .build()?;
        client.init().await?;
        Ok(Self(client))
    }
}

impl Client for RawFred {
    type Call = Call;
    type Answer = Value;

    fn prepare(&self, sha: &str, keys: &[String], arguments: &[String]) -> Call {
        let keys = keys.iter().map(Key::from).collect();
        let arguments = arguments.iter().map(|text| Value::Bytes(text.clone().into())).collect();
        (sha.to_owned(), keys, arguments)
    }

    async fn evalsha(&mut self, (sha, keys, arguments): &Call) -> Value {
        let answer = self.0.evalsha(sha.as_str(), keys.clone(), arguments.clone()).await;
        answer.expect("an answer")
    }

    fn read(answer: Value) -> (String, Option<i64>) {
        let Value::Array(mut fields) = answer else { panic!("not a script's answer: {answer:?}") };
        // A script that many elections may share has an answer for each.
        if let [Value::Array(only)] = &mut fields[..] {
            fields = std::mem::take(only);
        }
        let word = fields.first().and_then(Value::as_string).expect("a script's answer");
        (word, fields.get(1).and_then(Value::as_i64))
    }

    async fn ping(&mut self) {
        self.0.ping::<()>(None).await.expect("an answer");
    }
}
