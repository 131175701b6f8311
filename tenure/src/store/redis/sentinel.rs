//! Sentinels: they know the primary, since they replace it.

use std::sync::Arc;

use redis::Value;

use super::config::Address;
use super::session::Live;
use crate::store::{StoreError, StoreErrorKind};

/// Asks one sentinel for the primary of that name.
pub(super) async fn ask(live: Arc<Live>, primary: String) -> Result<Address, StoreError> {
    let mut question = redis::cmd("SENTINEL");
    question.arg("GET-MASTER-ADDR-BY-NAME").arg(&primary);
    match live.ask(&question).await? {
        Value::Array(parts) => read(&parts),
        Value::Nil => {
            let sentinel = &live.at;
            let detail = format!("the sentinel {sentinel} watches no primary called {primary:?}");
            Err(StoreError::new(StoreErrorKind::Missing, detail))
        }
        _ => Err(unexpected()),
    }
}

fn read(parts: &[Value]) -> Result<Address, StoreError> {
    let [Value::BulkString(host), Value::BulkString(port)] = parts else {
        return Err(unexpected());
    };
    let port = std::str::from_utf8(port).ok().and_then(|port| port.parse().ok());
    port.and_then(|port| Address::named(host, port)).ok_or_else(unexpected)
}

fn unexpected() -> StoreError {
    StoreError::new(StoreErrorKind::UnexpectedReply, "to the question for the primary")
}

/// Checks that the server that the sentinels have named considers itself the primary too.
pub(super) async fn is_primary(live: &Live) -> Result<(), StoreError> {
    let mut question = redis::cmd("INFO");
    question.arg("replication");
    let info = match live.ask(&question).await? {
        Value::BulkString(text) => String::from_utf8_lossy(&text).into_owned(),
        Value::VerbatimString { text, .. } => text,
        _ => return Err(unexpected()),
    };
    match info.lines().find_map(|line| line.strip_prefix("role:")) {
        Some("master") => Ok(()),
        Some(role) => {
            let detail = format!("the role of {} is {role}, by what it says", live.at);
            Err(StoreError::new(StoreErrorKind::NotPrimary, detail))
        }
        None => Err(unexpected()),
    }
}
