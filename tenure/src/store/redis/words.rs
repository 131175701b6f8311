//! The words of a call: keys and arguments, as parts of one text.

use std::fmt::Write;
use std::time::Duration;

use bytes::BytesMut;
use tenure_core::{Acquire, Mark, WatchedStamp, Wish};

use super::config::RedisConfig;
use super::shown::EXACT;
use crate::Token;
use crate::store::{Key, Profile, Request};

const HEX: &[u8; 16] = b"0123456789abcdef";

pub(super) struct Words {
    pub(super) text: BytesMut,
    /// The end of each word in the text.
    pub(super) ends: Vec<usize>,
}

impl Default for Words {
    /// Room for most requests.
    fn default() -> Self {
        Self { text: BytesMut::with_capacity(256), ends: Vec::with_capacity(9) }
    }
}

impl Words {
    /// The name of the election's record.
    pub(super) fn record(&mut self, config: &RedisConfig, key: &Key) {
        for part in config.record_parts(key) {
            self.text.extend_from_slice(part.as_bytes());
        }
        self.end();
    }

    /// The arguments of a script for that request.
    pub(super) fn arguments(&mut self, config: &RedisConfig, key: &Key, request: &Request) {
        match request {
            Request::Acquire { asks, profile } => {
                let Acquire { holder, number, seen, lost, mark, stamp, ttl, quarantine, name } =
                    *asks;
                self.bits(holder.to_bits());
                self.number(number.get());
                self.token(seen);
                self.optional(lost, |words, lost| words.token(lost.last));
                self.optional(mark, Self::mark);
                self.watch(stamp);
                self.number(rounded_up(ttl));
                self.number(rounded_up(quarantine));
                self.bits(name.to_bits());
                self.profile(profile);
            }
            Request::Look { quarantine, .. } => {
                self.number(rounded_up(*quarantine));
                (0..3).for_each(|_| self.end());
            }
            Request::Ask { token, asked, quarantine, .. } => {
                self.number(rounded_up(*quarantine));
                self.number(token.get());
                self.bits(asked.name.to_bits());
                self.number(rounded_up(asked.defer));
            }
            Request::Renew { holder, token, number, stamp } => {
                self.bits(holder.to_bits());
                self.number(token.get());
                self.number(number.get());
                self.watch(*stamp);
            }
            Request::Release { holder, token, reservation } => {
                self.bits(holder.to_bits());
                self.number(token.get());
                self.optional(*reservation, |words, kept| words.bits(kept.name.to_bits()));
                self.number(reservation.map_or(0, |kept| rounded_up(kept.reserve)));
            }
            Request::Want { token, wish } => {
                self.number(token.get());
                self.optional(*wish, |words, wish| match wish {
                    Wish::Anybody => words.bytes(b"any"),
                    Wish::Name(name) => words.bits(name.to_bits()),
                });
            }
            Request::Describe { holder, token, version, profile } => {
                self.bits(holder.to_bits());
                self.number(token.get());
                self.number(*version);
                self.profile(profile);
            }
            Request::Observe => (0..4).for_each(|_| self.end()),
            Request::Notify { message } => {
                self.bytes(config.inbox(key).as_bytes());
                self.bytes(&message.encoded());
            }
        }
    }

    /// An empty word for `None`.
    fn optional<T>(&mut self, value: Option<T>, word: impl FnOnce(&mut Self, T)) {
        match value {
            Some(value) => word(self, value),
            None => self.end(),
        }
    }

    fn token(&mut self, token: Option<Token>) {
        self.number(token.map_or(0, Token::get));
    }

    fn mark(&mut self, mark: Mark) {
        self.bits(mark.holder.to_bits());
        self.ends.pop();
        self.text.extend_from_slice(b":");
        self.number(mark.number.get());
    }

    fn watch(&mut self, watch: Option<WatchedStamp>) {
        self.optional(watch, |words, watch| words.bits(watch.stamp.to_bits()));
        self.number(watch.map_or(0, |watch| rounded_down(watch.time)));
    }

    fn profile(&mut self, profile: &Profile) {
        self.bytes(profile.name().as_bytes());
        self.bytes(profile.metadata());
    }

    pub(super) fn bytes(&mut self, word: &[u8]) {
        self.text.extend_from_slice(word);
        self.end();
    }

    /// Ends a word: the text since the end of the last one.
    fn end(&mut self) {
        self.ends.push(self.text.len());
    }

    /// In hexadecimal, as identities are displayed, but several times as fast.
    pub(super) fn bits(&mut self, bits: u128) {
        let mut digits = [0; 32];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(bits.to_be_bytes()) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 15)];
        }
        self.bytes(&digits);
    }

    pub(super) fn number(&mut self, number: u64) {
        // Writing into a buffer that grows never fails.
        let _ = write!(self.text, "{number}");
        self.end();
    }
}

/// Whole microseconds. Longer than 280 years counts as that long: a script's numbers are exact
/// below 2^53.
pub(super) fn rounded_down(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).map_or(EXACT - 1, |micros| micros.min(EXACT - 1))
}

/// The same: no candidate may wait for less than it must.
fn rounded_up(duration: Duration) -> u64 {
    rounded_down(duration.saturating_add(Duration::from_nanos(999)))
}
