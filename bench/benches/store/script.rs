//! The script of each operation, and its words.

use tenure::Token;
use tenure::store::redis::SCRIPTS;
use tenure_bench::{HOLDER, Lease, METADATA, NAME, Operation, TTL};

/// The script's text.
pub(crate) fn text(operation: Operation) -> &'static str {
    let wanted = match operation {
        Operation::Acquire | Operation::AcquireAgain => "acquire",
        Operation::Renew => "renew",
        Operation::Release => "release",
        Operation::Observe => "observe",
    };
    let found = SCRIPTS.into_iter().find(|(name, _)| *name == wanted);
    found.expect("every request has a script").1
}

/// The script's keys and arguments for the request of that operation.
pub(crate) fn words(
    operation: Operation,
    prefix: &str,
    lease: &Lease,
) -> (Vec<String>, Vec<String>) {
    let token = lease.last.map_or(0, Token::get).to_string();
    let (holder, ttl) = (HOLDER.to_string(), TTL.as_micros().to_string());
    let record = format!("{{{prefix}}}:leader:{}", lease.key.as_str());
    match operation {
        Operation::Acquire | Operation::AcquireAgain => {
            let history = format!("{{{prefix}}}:history");
            let (name, metadata, trust) = (NAME.into(), METADATA.into(), "1".into());
            let arguments = vec![holder, token, ttl.clone(), ttl, name, metadata, trust];
            (vec![record, history], arguments)
        }
        Operation::Renew => (vec![record], vec![holder, token, ttl]),
        Operation::Release => (vec![record], vec![holder, token]),
        Operation::Observe => (vec![record], Vec::new()),
    }
}
