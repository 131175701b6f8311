//! The scripts that tenure ships, with random arguments.
//!
//! Tokens come from the clock and so differ between two servers. The sequences therefore start from
//! a record whose token lies in the future: the next tokens follow it one by one, the same in both.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tenure::store::redis::SCRIPTS;

use crate::world::{Compare, Step};

/// The token that the first record has; below 2^53, and above every clock's microseconds.
const TOKEN: u64 = 9_000_000_000_000_000;
const KEY: &str = "tenure:leader:x";
const HOLDERS: [&str; 2] = ["h1345678901234567890123456789012", "h2345678901234567890123456789012"];
const HISTORY: &str = "tenure:history";
/// A name that no candidate writes.
const LONG: &str = concat!(
    "0123456789012345678901234567890123456789012345678901234567890123456789",
    "0123456789012345678901234567890123456789012345678901234567890123456789",
);
/// A time that no test reaches.
const FOREVER: &str = "9000000000000000";
/// Writes a record, also where there is no memory.
const WRITE: &str = "#!lua flags=allow-oom\n\
    return redis.call('HSET', KEYS[1], 'token', ARGV[1], 'holder', ARGV[2], 'lease_end', ARGV[3], \
    'ttl', ARGV[4], 'released', ARGV[5])";
/// A lease that no test outlives, and one that has ended when the next command comes.
const TTLS: [&str; 2] = ["600000000", "1"];

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    // A lease that has ended, one that no test outlives, and none.
    let lease =
        prop_oneof![6 => Just(Some(("1", "1"))), 3 => Just(Some((FOREVER, "0"))), 1 => Just(None)];
    let listeners = ["HELLO 3", &format!("SUBSCRIBE {KEY}")].map(|line| Step::words(1, line));
    (lease, vec(prop_oneof![9 => call(), 1 => meddling()], 1..25)).prop_map(
        move |(lease, mut steps)| {
            let mut all = listeners.to_vec();
            all.push(Step::words(2, &format!("SUBSCRIBE {KEY}")));
            if let Some((lease_end, released)) = lease {
                let token = TOKEN.to_string();
                all.push(Step::new(
                    0,
                    &["EVAL", WRITE, "1", KEY, &token, HOLDERS[0], lease_end, "1", released],
                ));
            }
            all.append(&mut steps);
            for step in &mut all {
                step.compare = Compare::Shape;
            }
            // A value of more than 64 bytes makes a real hash table: the history's identity, and a long name.
            all.extend([KEY, HISTORY].map(|hash| Step {
                compare: Compare::ShapeOfLines,
                ..Step::new(0, &["HGETALL", hash])
            }));
            all
        },
    )
}

/// One script's call with arguments that are mostly right.
fn call() -> impl Strategy<Value = Step> {
    let holder = select(HOLDERS.to_vec());
    let token = prop_oneof![5 => (TOKEN..TOKEN + 4).prop_map(|token| token.to_string()), 1 => Just("0".to_owned())];
    let (ttl, trust) = (select(TTLS.to_vec()), select(vec!["", "1"]));
    let version = select(vec!["1", "2"]);
    (select(SCRIPTS.to_vec()), holder, token, ttl, trust, version).prop_map(
        |((name, text), holder, token, ttl, trust, version)| {
            let keys: &[&str] = match name {
                "acquire" | "renew_and_compare" | "purge" => &["2", KEY, HISTORY],
                _ => &["1", KEY],
            };
            let args: &[&str] = match name {
                "acquire" => &[holder, &token, ttl, ttl, "a name", "meta\r\ndata", trust],
                "renew" | "renew_and_compare" => &[holder, &token, ttl],
                "release" => &[holder, &token],
                "describe" => &[holder, &token, version, "another name", "other data"],
                "observe" => &[],
                // It deletes nothing: all tokens are above the clock.
                "purge" => &[ttl],
                "notify" => &["inbox", "a message"],
                other => panic!("give the new script {other} its arguments here"),
            };
            Step::new(0, &[&["EVAL", text], keys, args].concat())
        },
    )
}

/// What operators and accidents do to a record.
fn meddling() -> impl Strategy<Value = Step> {
    let change: Vec<Vec<&str>> = vec![
        vec!["DEL", KEY],
        vec!["DEL", HISTORY],
        vec!["HDEL", KEY, "holder"],
        vec!["HDEL", KEY, "name", "metadata"],
        vec!["HSET", KEY, "lease_end", "soon"],
        vec!["HSET", KEY, "holder", "short"],
        vec!["HSET", KEY, "name", LONG],
        vec!["HSET", HISTORY, "known_since", "1"],
        vec!["HSET", HISTORY, "identity", "another"],
        vec!["HDEL", HISTORY, "longest_ttl"],
        vec!["HSET", KEY, "quarantine", "1"],
        vec!["SET", KEY, "a string"],
    ];
    select(change).prop_map(|words| Step::new(0, &words))
}
