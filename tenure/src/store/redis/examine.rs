//! The requests of `tenure doctor`: not a part of the interface for programs.

use redis::Value;

use super::caution::Caution;
use super::config::Replicas;
use super::store::Redis;
use crate::store::StoreError;
use crate::store::slot::Patience;

impl Redis {
    /// Sends a command that changes nothing, over the connection of the requests, and returns the
    /// texts and numbers of the answer in their order.
    #[doc(hidden)]
    pub async fn ask_server(&self, words: &[&str]) -> Result<Vec<String>, StoreError> {
        let live = self.0.live(Patience::Waits).await?;
        let mut question = redis::Cmd::new();
        question.arg(words);
        let answer = live.ask(&question).await?;
        let mut texts = Vec::new();
        flatten(answer, &mut texts);
        Ok(texts)
    }

    /// The allowed risks of its configuration.
    #[doc(hidden)]
    pub fn cautions(&self) -> Vec<Caution> {
        self.0.connector.config.cautions()
    }

    /// The number of replicas that must acknowledge a grant, and how long a request waits for them.
    #[doc(hidden)]
    pub fn replica_acks(&self) -> (u16, std::time::Duration) {
        let Replicas { least, within } = self.0.connector.config.replicas;
        (least, within)
    }

    /// The key of the prefix's past.
    #[doc(hidden)]
    pub fn past(&self) -> String {
        self.0.connector.config.past()
    }

    /// True if the server's address is fixed: no sentinels or nodes name it.
    #[doc(hidden)]
    pub fn is_one_server(&self) -> bool {
        self.0.connector.config.servers.listed().is_empty()
    }
}

fn flatten(value: Value, texts: &mut Vec<String>) {
    match value {
        Value::BulkString(text) => texts.push(String::from_utf8_lossy(&text).into_owned()),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => texts.push(text),
        Value::Int(number) => texts.push(number.to_string()),
        Value::Array(all) | Value::Set(all) => {
            for one in all {
                flatten(one, texts);
            }
        }
        Value::Map(pairs) => {
            for (name, value) in pairs {
                flatten(name, texts);
                flatten(value, texts);
            }
        }
        _ => {}
    }
}
