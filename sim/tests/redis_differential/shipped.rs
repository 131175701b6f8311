//! The scripts that tenure ships, with random arguments.
//!
//! Tokens come from the clock and so differ between two servers. The sequences therefore start from
//! a record whose token lies in the future: the next tokens follow it one by one, the same in both.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tenure::store::redis::SCRIPTS;

use super::world::{Compare, Step};

/// The token that the first record has; below 2^53, and above every clock's microseconds.
const TOKEN: u64 = 9_000_000_000_000_000;
const KEY: &str = "tenure:leader:x";
const OTHER: &str = "tenure:leader:y";
const PAST: &str = "tenure:past";
/// No hexadecimal numbers, which are compared by their length alone.
const HOLDERS: [&str; 2] = ["h1345678901234567890123456789012", "h2345678901234567890123456789012"];
/// A stamp that both servers know.
const STAMP: &str = "s1345678901234567890123456789012";
/// The digests of two names.
const NAMES: [&str; 2] = ["n1345678901234567890123456789012", "n2345678901234567890123456789012"];
/// A name that no candidate writes.
const LONG: &str = concat!(
    "0123456789012345678901234567890123456789012345678901234567890123456789",
    "0123456789012345678901234567890123456789012345678901234567890123456789",
);
/// Writes a record, also where there is no memory.
const WRITE: &str = "#!lua flags=allow-oom\n\
    return redis.call('HSET', KEYS[1], 'token', ARGV[1], 'holder', ARGV[2], 'number', '1', 'released', ARGV[3], \
    'ttl', '1', 'quarantine', '1', 'asked', '', 'defer', '0', 'wanted', '', 'reserved_for', '', 'reserve', '0', \
    'written', '1', 'name', 'a name', 'metadata', '')";
/// Writes a past of this server, with a stamp that calls can name.
const WRITE_PAST: &str = "#!lua flags=allow-oom\n\
    local info = redis.call('INFO', 'server') .. redis.call('INFO', 'replication')\n\
    local identity = string.match(info, 'run_id:(%x+)') .. '/' .. string.match(info, 'master_replid:(%x+)')\n\
    return redis.call('HSET', KEYS[1], 'identity', identity, 'stamp', ARGV[1], 'watched', ARGV[2])";
/// A time that no watch has, and one that each has.
const TIMES: [&str; 2] = ["600000000", "1"];

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    // A lease that was given back, one that was not, and none.
    let lease = prop_oneof![6 => Just(Some("1")), 3 => Just(Some("0")), 1 => Just(None)];
    // A past that was watched, one that was not, and none.
    let past = prop_oneof![4 => select(vec!["1", "0"]).prop_map(Some), 1 => Just(None)];
    let listeners = ["HELLO 3", &format!("SUBSCRIBE {KEY}")].map(|line| Step::words(1, line));
    (lease, past, vec(prop_oneof![9 => call(), 1 => meddling()], 1..25)).prop_map(
        move |(lease, past, mut steps)| {
            let mut all = listeners.to_vec();
            all.push(Step::words(2, &format!("SUBSCRIBE {KEY}")));
            if let Some(released) = lease {
                let token = TOKEN.to_string();
                all.push(Step::new(0, &["EVAL", WRITE, "1", KEY, &token, HOLDERS[0], released]));
            }
            if let Some(watched) = past {
                all.push(Step::new(0, &["EVAL", WRITE_PAST, "1", PAST, STAMP, watched]));
            }
            all.append(&mut steps);
            for step in &mut all {
                step.compare = Compare::Shape;
            }
            // A value of more than 64 bytes makes a real hash table: the past's identity, and a
            // long name.
            all.extend([KEY, OTHER, PAST].map(|hash| Step {
                compare: Compare::ShapeOfLines,
                ..Step::new(0, &["HGETALL", hash])
            }));
            all
        },
    )
}

/// One script's call with arguments that are mostly right.
fn call() -> impl Strategy<Value = Step> {
    let token = prop_oneof![5 => (TOKEN..TOKEN + 4).prop_map(|token| token.to_string()), 1 => Just("0".to_owned())];
    let who = (select(HOLDERS.to_vec()), select(vec!["1", "2", "3"]), token);
    let optional = |word: &'static str| select(vec!["", word]);
    let watches = (select(vec!["", "1", "2"]), optional(STAMP), select(TIMES.to_vec()));
    let settings = (select(TIMES.to_vec()), select(TIMES.to_vec()));
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let name = prop_oneof![select(NAMES.to_vec()), Just("")];
    let drawn = (select(SCRIPTS.to_vec()), who, watches, settings, name, flags);
    drawn.prop_map(|(script, who, watches, settings, name, (trusts, compares, many))| {
        let ((script, text), (holder, number, token)) = (script, who);
        let ((mark, stamp, time), (ttl, quarantine)) = (watches, settings);
        let mark = if mark.is_empty() { String::new() } else { format!("{}:{mark}", HOLDERS[0]) };
        let (token, mark) = (&*token, &*mark);
        // What the script takes for each election, and how many it takes.
        let (each, most): (&[&str], usize) = match script {
            "acquire" => (
                &[
                    holder,
                    number,
                    token,
                    "",
                    mark,
                    stamp,
                    time,
                    ttl,
                    quarantine,
                    name,
                    "a name",
                    "meta\r\ndata",
                ],
                2,
            ),
            "look" => (&[quarantine, token, name, time], 2),
            "observe" => (&["", "", "", ""], 2),
            "renew" | "renew_first" => (&[holder, token, number, stamp, time], 2),
            "release" => (&[holder, token, name, time], 1),
            "want" => (&[token, name], 1),
            "describe" => (&[holder, token, number, "another name", "other data"], 1),
            "notify" => (&["inbox", "a message"], 1),
            "purge" => (&[mark], 2),
            other => panic!("give the new script {other} its arguments here"),
        };
        let number = if many { most } else { 1 };
        let then: &[&str] = match script {
            "acquire" => &[if trusts { "1" } else { "0" }],
            "purge" => &[time],
            _ => &[],
        };
        // The connection's number, if the script has the past as a key.
        let past = match script {
            "describe" | "notify" => None,
            "observe" | "renew" => Some(""),
            "renew_first" | "purge" => Some("c1"),
            "release" | "want" => Some(if compares { "c1" } else { "-" }),
            _ => Some(if compares { "c1" } else { "" }),
        };
        let mut keys = [KEY, OTHER][..number].to_vec();
        keys.extend(past.filter(|first| *first != "-").map(|_| PAST));
        let count = keys.len().to_string();
        let words = [&["EVAL", text, &*count], &keys[..], &each.repeat(number), then].concat();
        Step::new(0, &[&words[..], past.as_slice()].concat())
    })
}

/// Acts of operators and accidents on a record.
fn meddling() -> impl Strategy<Value = Step> {
    let change: Vec<Vec<&str>> = vec![
        vec!["DEL", KEY],
        vec!["DEL", PAST],
        vec!["HDEL", KEY, "holder"],
        vec!["HDEL", KEY, "name", "metadata"],
        vec!["HSET", KEY, "lease_end", "1", "released", ""],
        vec!["HSET", KEY, "ttl", "soon"],
        vec!["HSET", KEY, "holder", "short"],
        vec!["HSET", KEY, "name", LONG],
        vec!["HSET", KEY, "number", "nan"],
        vec!["HSET", KEY, "quarantine", "600000000"],
        vec!["HSET", KEY, "reserved_for", NAMES[0], "reserve", "5"],
        vec!["HSET", PAST, "watched", "4503599627370496"],
        vec!["HSET", PAST, "identity", "another"],
        vec!["HSET", PAST, "purged", "9000000000000002"],
        vec!["HDEL", PAST, "longest"],
        vec!["SET", KEY, "a string"],
    ];
    select(change).prop_map(|words| Step::new(0, &words))
}
