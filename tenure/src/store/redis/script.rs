//! The scripts, and their calls.

use std::fmt::Write;
use std::ops::Range;
use std::sync::LazyLock;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use super::config::RedisConfig;
use crate::store::{Key, Request};
use crate::{HolderId, Token};

/// A script that changes a lease only for its own tenure: it begins with what all of them begin with.
macro_rules! of_own_lease {
    ($($file:literal)*) => {
        concat!(include_str!("scripts/own_lease.lua"), $(include_str!($file)),*)
    };
}

const ACQUIRE: &str = include_str!("scripts/acquire.lua");
const RENEW: &str = of_own_lease!("scripts/renew_lease.lua" "scripts/renew.lua");
const RENEW_AND_COMPARE: &str =
    of_own_lease!("scripts/renew_lease.lua" "scripts/renew_and_compare.lua");
const RELEASE: &str = of_own_lease!("scripts/release.lua");
const OBSERVE: &str = include_str!("scripts/observe.lua");
const NOTIFY: &str = include_str!("scripts/notify.lua");

/// The scripts as they are sent to the server, by name: what a simulated server executes, and what an
/// operator may want to read.
pub const SCRIPTS: [(&str, &str); 6] = [
    ("acquire", ACQUIRE),
    ("renew", RENEW),
    ("renew_and_compare", RENEW_AND_COMPARE),
    ("release", RELEASE),
    ("observe", OBSERVE),
    ("notify", NOTIFY),
];

/// A script's text, and the digest by which the server knows it.
pub(super) struct Script {
    pub(super) text: &'static str,
    pub(super) sha: String,
}

impl Script {
    fn new(text: &'static str) -> Self {
        Self { text, sha: sha1_smol::Sha1::from(text).digest().to_string() }
    }
}

struct Scripts {
    acquire: Script,
    renew: Script,
    renew_and_compare: Script,
    release: Script,
    observe: Script,
    notify: Script,
}

static ALL: LazyLock<Scripts> = LazyLock::new(|| Scripts {
    acquire: Script::new(ACQUIRE),
    renew: Script::new(RENEW),
    renew_and_compare: Script::new(RENEW_AND_COMPARE),
    release: Script::new(RELEASE),
    observe: Script::new(OBSERVE),
    notify: Script::new(NOTIFY),
});

const HEX: &[u8; 16] = b"0123456789abcdef";

/// One call of a script. Keys and arguments are parts of one text, so that they need one allocation.
pub(super) struct Invocation {
    pub(super) script: &'static Script,
    text: Bytes,
    /// Where in the text each key, and then each argument, ends.
    ends: Vec<usize>,
    keys: usize,
}

impl Invocation {
    /// The call for a request. A renewal compares the server with the history.
    pub(super) fn new(config: &RedisConfig, key: &Key, request: &Request) -> Self {
        let mut words = Words::default();
        words.record(config, key);
        let (script, keys) = match request {
            Request::Acquire { holder, seen, ttl, quarantine, profile } => {
                words.bytes(config.history().as_bytes());
                words.holder(*holder);
                words.number(seen.map_or(0, Token::get));
                words.number(micros(*ttl));
                words.number(micros(*quarantine));
                words.bytes(profile.name().as_bytes());
                words.bytes(profile.metadata());
                words.bytes(if config.trust_empty_store { b"1" } else { b"0" });
                (&ALL.acquire, 2)
            }
            Request::Renew { holder, token, ttl } => {
                words.bytes(config.history().as_bytes());
                words.renewal(*holder, *token, *ttl);
                (&ALL.renew_and_compare, 2)
            }
            Request::Release { holder, token } => {
                words.holder(*holder);
                words.number(token.get());
                (&ALL.release, 1)
            }
            Request::Observe => (&ALL.observe, 1),
            Request::Notify { message } => {
                words.bytes(config.inbox(key).as_bytes());
                words.bytes(&message.encoded());
                (&ALL.notify, 1)
            }
        };
        Self::of(script, words, keys)
    }

    /// The call for renewals over a connection on which one has compared the server with the history; `None` if
    /// there are other requests among them.
    pub(super) fn renewals(config: &RedisConfig, requests: &[(Key, Request)]) -> Option<Self> {
        let mut words = Words::default();
        for (key, _) in requests {
            words.record(config, key);
        }
        for (_, request) in requests {
            let Request::Renew { holder, token, ttl } = request else { return None };
            words.renewal(*holder, *token, *ttl);
        }
        Some(Self::of(&ALL.renew, words, requests.len()))
    }

    fn of(script: &'static Script, Words { text, ends }: Words, keys: usize) -> Self {
        Self { script, text: text.freeze(), ends, keys }
    }

    #[cfg(feature = "redis")]
    pub(super) fn keys(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.keys).map(|word| &self.text[self.range(word)])
    }

    #[cfg(feature = "redis")]
    pub(super) fn arguments(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (self.keys..self.ends.len()).map(|word| &self.text[self.range(word)])
    }

    /// For clients that own what they send: parts of the text, not copies.
    #[cfg(feature = "fred")]
    pub(super) fn owned_keys(&self) -> impl ExactSizeIterator<Item = Bytes> {
        (0..self.keys).map(|word| self.text.slice(self.range(word)))
    }

    /// See [`owned_keys`](Self::owned_keys).
    #[cfg(feature = "fred")]
    pub(super) fn owned_arguments(&self) -> impl ExactSizeIterator<Item = Bytes> {
        (self.keys..self.ends.len()).map(|word| self.text.slice(self.range(word)))
    }

    /// How long the keys and arguments are together.
    #[cfg(feature = "redis")]
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    fn range(&self, word: usize) -> Range<usize> {
        let start = word.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[word]
    }
}

struct Words {
    text: BytesMut,
    ends: Vec<usize>,
}

impl Default for Words {
    /// Room for most requests.
    fn default() -> Self {
        Self { text: BytesMut::with_capacity(256), ends: Vec::with_capacity(9) }
    }
}

impl Words {
    /// The name of the election's record.
    fn record(&mut self, config: &RedisConfig, key: &Key) {
        for part in config.record_parts(key) {
            self.text.extend_from_slice(part.as_bytes());
        }
        self.end();
    }

    fn renewal(&mut self, holder: HolderId, token: Token, ttl: Duration) {
        self.holder(holder);
        self.number(token.get());
        self.number(micros(ttl));
    }

    fn bytes(&mut self, word: &[u8]) {
        self.text.extend_from_slice(word);
        self.end();
    }

    /// Ends a word: the text since the end of the last one.
    fn end(&mut self) {
        self.ends.push(self.text.len());
    }

    /// In hexadecimal, as `Display` writes it, but several times as fast.
    fn holder(&mut self, holder: HolderId) {
        let mut digits = [0; 32];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(holder.to_bits().to_be_bytes()) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 15)];
        }
        self.bytes(&digits);
    }

    fn number(&mut self, number: u64) {
        // Writing into a buffer that grows never fails.
        let _ = write!(self.text, "{number}");
        self.end();
    }
}

/// Whole microseconds, rounded down: the store's granularity covers what is lost.
fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(all(test, feature = "redis"))]
mod tests {
    use super::*;
    use crate::store::Profile;

    #[test]
    fn the_longest_call_has_every_word_in_its_place() {
        let config = RedisConfig::new("h", 1).prefix("app").unwrap();
        let key = Key::new("a:b").unwrap();
        let request = Request::Acquire {
            holder: HolderId::from_bits(0x0123_4567_89ab_cdef),
            seen: Token::new(42),
            ttl: Duration::from_nanos(1_500_999),
            quarantine: Duration::from_secs(2),
            profile: Profile::new("worker", "meta").unwrap(),
        };
        let call = Invocation::new(&config, &key, &request);
        let words = |words: Vec<&[u8]>| -> Vec<String> {
            words.into_iter().map(|word| String::from_utf8(word.to_vec()).unwrap()).collect()
        };
        assert_eq!(words(call.keys().collect()), [config.record(&key), config.history()]);
        let holder = HolderId::from_bits(0x0123_4567_89ab_cdef).to_string();
        assert_eq!(
            words(call.arguments().collect()),
            [&*holder, "42", "1500", "2000000", "worker", "meta", "0"]
        );
    }
}
