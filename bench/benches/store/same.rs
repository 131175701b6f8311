//! A check that both sides send the same command, as the server saw it.

use tenure::store::Store;
use tenure_bench::{Operation, Outcome};
use tenure_servers::{RedisServer, Reply};

use crate::client::Client;
use crate::subject::Subject;

/// Fails if the store's command and the bare one differ in a single word.
pub(crate) async fn check<S: Store, C: Client>(
    server: &RedisServer,
    subject: &mut Subject<S, C>,
    operation: Operation,
) -> Outcome<()> {
    let log_from = |micros| server.command(&["CONFIG", "SET", "slowlog-log-slower-than", micros]);
    subject.prepare_one(operation).await;
    server.command(&["SLOWLOG", "RESET"])?;
    log_from("0")?;
    subject.both(operation).await;
    log_from("-1")?;
    let log = server.command(&["SLOWLOG", "GET", "-1"])?;
    let called = commands(&log).ok_or_else(|| format!("no slow log: {log:?}"))?;
    match &called[..] {
        [raw, store] if raw == store => Ok(()),
        _ => Err(format!("{operation:?}: not the same command twice: {called:#?}").into()),
    }
}

/// The calls of scripts in a slow log, words by words. An entry is its number, its time, how long
/// it took, the command, and whose it was; commands that the scripts give have entries of their
/// own.
fn commands(log: &Reply) -> Option<Vec<Vec<String>>> {
    let Reply::Array(entries) = log else { return None };
    let mut calls = Vec::new();
    for entry in entries {
        let Reply::Array(fields) = entry else { return None };
        let Some(Reply::Array(words)) = fields.get(3) else { return None };
        let words = words.iter().map(text).collect::<Option<Vec<_>>>()?;
        if words.first().is_some_and(|word| word == "EVALSHA") {
            calls.push(words);
        }
    }
    Some(calls)
}

fn text(word: &Reply) -> Option<String> {
    match word {
        Reply::BulkString(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}
