//! Random sequences of commands, right and wrong ones, over few keys so that they meet.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use sha1_smol::Sha1;

use super::world::{CONNECTIONS, Step};

/// A command with `{key}`, `{field}`, `{value}`, `{channel}` where something is drawn.
const TEMPLATES: &[&str] = &[
    "GET {key}",
    "SET {key} {value}",
    "INCR {key}",
    "DEL {key} {key}",
    "EXISTS {key} {key}",
    "TYPE {key}",
    "HSET {key} {field} {value}",
    "HSET {key} {field} {value} {field} {value}",
    "HGET {key} {field}",
    "HMGET {key} {field} {field}",
    "HGETALL {key}",
    "HDEL {key} {field} {field}",
    "HLEN {key}",
    "HSTRLEN {key} {field}",
    "HINCRBY {key} {field} {value}",
    "PUBLISH {channel} {value}",
    "DBSIZE",
    "ECHO {value}",
    "PING",
];

/// Those that a script may not call.
const OUTER_TEMPLATES: &[&str] = &[
    "SUBSCRIBE {channel}",
    "SUBSCRIBE {channel} {channel}",
    "UNSUBSCRIBE {channel}",
    "UNSUBSCRIBE",
    "HELLO 2",
    "HELLO 3",
    "FLUSHALL",
    "SCRIPT FLUSH",
    "CLIENT SETNAME {value}",
    "CLIENT GETNAME",
    "SELECT {value}",
    "NOSUCH {value}",
];

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let one = |args: Vec<String>| vec![args];
    let commands = prop_oneof![
        4 => command(TEMPLATES).prop_map(one),
        2 => command(OUTER_TEMPLATES).prop_map(one),
        3 => script(),
    ];
    let on_one_connection = (0..CONNECTIONS, commands).prop_map(|(connection, commands)| {
        commands.iter().map(|args| Step::new(connection, args)).collect::<Vec<_>>()
    });
    vec(on_one_connection, 1..40).prop_map(|groups| groups.concat())
}

/// A filled template, now and then with a word too many or too few.
fn command(templates: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    (select(templates), vec(any::<prop::sample::Index>(), 6), 0..20).prop_map(
        |(template, draws, slip)| {
            let mut draws = draws.into_iter();
            let mut words: Vec<String> =
                template.split(' ').map(|word| fill(word, &mut draws)).collect();
            match slip {
                0 => words.push("more".to_owned()),
                1 if words.len() > 1 => {
                    words.pop();
                }
                _ => {}
            }
            words
        },
    )
}

fn fill(word: &str, draws: &mut impl Iterator<Item = prop::sample::Index>) -> String {
    let choices: &[&str] = match word {
        "{key}" => &["k", "h", "n"],
        "{field}" => &["a", "b", "c"],
        "{value}" => {
            &["0", "1", "-7", "9223372036854775807", "x", "", "two words", "3.5", "line\r\nbreak"]
        }
        "{channel}" => &["c", "d"],
        fixed => return fixed.to_owned(),
    };
    draws.next().expect("enough draws").get(choices).to_string()
}

/// A few calls whose results come back, or do not because one of them fails; sent, and called again
/// by its hash, which may be unknown.
fn script() -> impl Strategy<Value = Vec<Vec<String>>> {
    let call = (command(TEMPLATES), select(vec!["redis.call", "redis.pcall", "redis.pcall"]));
    let end = select(vec![
        "return r",
        "return r[#r]",
        "return {#r, type(r[1])}",
        "return r[1] == false",
        "r.x = y",
    ]);
    let first = select(vec!["EVAL", "SCRIPT", "EVALSHA"]);
    (vec(call, 0..4), end, first).prop_map(|(calls, end, first)| {
        let lines = calls.iter().map(|(words, function)| {
            let words: Vec<String> = words.iter().map(|word| literal(word)).collect();
            format!("r[#r + 1] = {function}({})\n", words.join(", "))
        });
        let text = format!("local r = {{}}\n{}{end}", lines.collect::<String>());
        let sha = Sha1::from(&text).digest().to_string();
        let by_hash = strings(&["EVALSHA", &sha, "1", "k", "v"]);
        match first {
            "EVAL" => vec![strings(&["EVAL", &text, "1", "k", "v"]), by_hash],
            "SCRIPT" => vec![strings(&["SCRIPT", "LOAD", &text]), by_hash],
            _ => vec![by_hash],
        }
    })
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// A word as Lua source: numbers as numbers, so that their conversion is met too.
fn literal(word: &str) -> String {
    if word.parse::<f64>().is_ok() { word.to_owned() } else { format!("{word:?}") }
}
