//! Sequences written by hand: every command's refusals, and the edges of scripts and subscriptions.

use super::scripts::{ANSWERING, FAILING};
use super::world::Step;

fn on_first(lines: &str) -> Vec<Step> {
    lines
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| Step::words(0, line))
        .collect()
}

fn evals(scripts: &[&str]) -> Vec<Step> {
    scripts.iter().map(|script| Step::new(0, &["EVAL", script, "1", "k", "a", "2"])).collect()
}

fn in_both_protocols(steps: &[Step]) -> Vec<Step> {
    let switch = |version: &str| vec![Step::new(0, &["HELLO", version])];
    [switch("2"), steps.to_vec(), switch("3"), steps.to_vec()].concat()
}

pub(crate) fn commands() -> Vec<Step> {
    let mut steps = on_first(include_str!("commands.txt"));
    let long = "a".repeat(200);
    steps.push(Step::new(0, &["nosuch", &long, "b"]));
    steps.push(Step::new(0, &["nosuch", &long[..100], &long[..60], "b"]));
    steps.push(Step::new(0, &["nosuch", "\r\n\0x", "y"]));
    steps.push(Step::new(0, &[long.as_str(), "y"]));
    steps.push(Step::new(0, &["CLIENT", "SETNAME", "a b"]));
    steps.push(Step::new(0, &["CLIENT", "SETNAME", ""]));
    steps.push(Step::new(0, &["ECHO", ""]));
    in_both_protocols(&steps)
}

pub(crate) fn subscriptions() -> Vec<Step> {
    let script = "redis.call('PUBLISH', 'c', 'x') return redis.call('PUBLISH', 'd', 'y')";
    let publish = [Step::words(2, "PUBLISH c hello"), Step::new(2, &["EVAL", script, "0"])];
    let mut steps = vec![
        Step::words(1, "HELLO 3"),
        Step::words(0, "UNSUBSCRIBE"),
        Step::words(0, "UNSUBSCRIBE zz"),
        Step::words(1, "UNSUBSCRIBE"),
        Step::words(0, "SUBSCRIBE c d c"),
        Step::words(1, "SUBSCRIBE c"),
    ];
    steps.extend(publish.clone());
    for line in [
        "GET x",
        "PING",
        "PING x",
        "PING a b",
        "PUBLISH c y",
        "NOSUCH",
        "GET",
        "HELLO 3",
        "CLIENT ID",
    ] {
        steps.extend([Step::words(0, line), Step::words(1, line)]);
    }
    steps.push(Step::new(1, &["EVAL", script, "0"]));
    steps.extend(on_first("UNSUBSCRIBE c\nUNSUBSCRIBE\nUNSUBSCRIBE\nPING\nGET x"));
    steps.push(Step::words(1, "SUBSCRIBE e f"));
    steps.push(Step::words(1, "UNSUBSCRIBE"));
    steps.extend(publish);
    steps.extend([
        Step::words(1, "SUBSCRIBE c"),
        Step::words(1, "HELLO 2"),
        Step::words(2, "PUBLISH c z"),
        Step::words(1, "GET x"),
    ]);
    steps
}

pub(crate) fn scripts() -> Vec<Step> {
    in_both_protocols(&evals(ANSWERING))
}

pub(crate) fn failing_scripts() -> Vec<Step> {
    in_both_protocols(&evals(FAILING))
}

pub(crate) fn quitting() -> Vec<Step> {
    let mut steps = on_first("SET a b\nQUIT a\nPING");
    steps.extend([
        Step::words(1, "SUBSCRIBE c"),
        Step::words(1, "QUIT"),
        Step::words(2, "PUBLISH c x"),
    ]);
    steps
}

pub(crate) fn passwords() -> Vec<Step> {
    let mut steps = on_first(
        "PING
        GET
        NOSUCH a
        EVAL x 0
        HELLO
        HELLO 3
        HELLO 4
        HELLO x
        HELLO 3 AUTH default bad
        HELLO 3 AUTH bad secret
        HELLO 3 FOO
        AUTH bad
        AUTH u bad
        AUTH u secret
        AUTH a b c
        AUTH
        GET x",
    );
    steps.push(Step::new(0, &["HELLO", "3", "AUTH", "default", "secret", "SETNAME", "a b"]));
    steps.extend(on_first("GET x\nHELLO 3 SETNAME ab AUTH default secret\nCLIENT GETNAME\nGET x"));
    steps.extend([
        Step::words(1, "AUTH secret"),
        Step::words(1, "GET x"),
        Step::words(1, "AUTH bad"),
        Step::words(1, "GET x"),
    ]);
    steps.extend([Step::words(2, "SUBSCRIBE x"), Step::words(2, "QUIT")]);
    steps
}

pub(crate) fn without_memory() -> Vec<Step> {
    let mut steps = on_first(
        "SET a b
        HSET h a b
        INCR n
        HINCRBY h a 1
        HDEL h a
        DEL a
        GET a
        PUBLISH a b
        SCRIPT LOAD return",
    );
    steps.extend(evals(&[
        "return redis.call('set', 'a', 'b')",
        "return redis.pcall('set', 'a', 'b')",
        "redis.call('del', 'a') return redis.call('set', 'a', 'b')",
        "redis.call('publish', 'a', 'b') return redis.call('set', 'a', 'b')",
        "#!lua\nreturn 1",
        "#!lua flags=allow-oom\nreturn redis.call('set', 'a', 'b')",
        "#!lua flags=allow-oom\nreturn redis.call('set')",
    ]));
    steps.extend(on_first("FLUSHALL"));
    in_both_protocols(&steps)
}

pub(crate) fn on_a_replica() -> Vec<Step> {
    let mut steps = on_first(
        "SET a b
        SET a
        GET a
        DEL a
        HSET h a b
        FLUSHALL
        INFO replication
        ROLE
        HELLO
        WAIT 1 1
        PUBLISH a b
        CONFIG GET maxmemory-policy
        SCRIPT LOAD return",
    );
    steps.extend(evals(&[
        "return redis.call('set', 'a', 'b')",
        "return redis.pcall('set', 'a', 'b')",
        "return redis.call('set')",
        "return redis.call('get', 'a')",
        "return redis.call('publish', 'a', 'b')",
        "#!lua\nreturn 1",
        "#!lua flags=allow-oom\nreturn 1",
    ]));
    in_both_protocols(&steps)
}
