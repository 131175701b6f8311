//! Each step of a store on a real server or file, compared with the contract.
//!
//! `TENURE_TRANSITIONS` names a folder for lines that `proof/replay` compares with the rule,
//! `TENURE_REPLAY` the number of steps, `TENURE_REPLAY_SEED` the seed of the requests.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test ends with the first surprise, and says what it did"
)]

mod answer;
#[cfg(any(feature = "postgres", feature = "redis", feature = "sqlite"))]
mod compare;
mod draw;
#[cfg(feature = "etcd")]
mod etcd;
mod lines;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(all(feature = "sqlite", target_os = "linux"))]
mod sqlite;

const KEYS: [&str; 3] = ["a", "b", "c"];

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |number| number.parse().unwrap())
}

fn steps(usual: u64) -> u64 {
    number("TENURE_REPLAY", usual)
}

fn seed() -> u64 {
    number("TENURE_REPLAY_SEED", 7)
}

/// The name of a reply.
fn kind(reply: tenure_core::Reply) -> String {
    let reply = format!("{reply:?}");
    reply.split([' ', '(']).next().unwrap_or_default().to_owned()
}
