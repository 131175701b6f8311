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
    let found = SCRIPTS.iter().find(|(name, _)| *name == wanted);
    found.expect("every request has a script").1
}

/// The script's keys and arguments for the request of that operation, over a connection that has
/// compared the server with the past.
pub(crate) fn words(
    operation: Operation,
    prefix: &str,
    lease: &Lease,
) -> (Vec<String>, Vec<String>) {
    let nothing = String::new;
    let [token, number] = [lease.last.map_or(0, Token::get), lease.number.get()];
    let [token, number, ttl] = [token.to_string(), number.to_string(), TTL.as_micros().to_string()];
    let holder = HOLDER.to_string();
    let record = format!("{{{prefix}}}:leader:{}", lease.key.as_str());
    let both = vec![record.clone(), format!("{{{prefix}}}:past")];
    // Nothing is told of what was watched: an empty word, and no time.
    match operation {
        Operation::Acquire | Operation::AcquireAgain => {
            let name = format!("{:032x}", Lease::profile().name_id().to_bits());
            let [watched, trust] = ["0".to_owned(), "1".to_owned()];
            let [lost, mark, stamp, first] = [(); 4].map(|()| nothing());
            let arguments = vec![
                holder,
                number,
                token,
                lost,
                mark,
                stamp,
                watched,
                ttl.clone(),
                ttl,
                name,
                NAME.into(),
                METADATA.into(),
                trust,
                first,
            ];
            (both, arguments)
        }
        Operation::Renew => (both, vec![holder, token, number, nothing(), "0".into(), nothing()]),
        Operation::Release => {
            (vec![record], vec![holder, token, nothing(), "0".into(), "-".into()])
        }
        Operation::Observe => (both, vec![nothing(); 5]),
    }
}
