//! The fences on real servers and files: take-overs, writes of tenures that are over, and refusals.
//!
//! Each test has an old leader that is paused at some point between its check of leadership and its
//! write, and a new leader that takes the resource over, reads, and writes meanwhile.

mod mysql;
mod postgres;
mod redis;
mod sqlite;

use tenure::Token;

const OLD: u64 = 7;
const NEW: u64 = 8;

fn token(number: u64) -> Token {
    Token::new(number).unwrap()
}
