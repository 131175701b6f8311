//! The scripts, and their calls.

use std::fmt::Write;
use std::ops::Range;
use std::sync::LazyLock;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use super::config::RedisConfig;
use crate::store::{Key, Request};
use crate::{HolderId, Token};

/// A script of these parts. One that has a first line of its own runs at maxmemory too.
macro_rules! script {
    (allow_oom $($part:literal)*) => {
        concat!("#!lua flags=allow-oom\n", script!($($part)*))
    };
    ($($part:literal)*) => {
        concat!($(include_str!(concat!("scripts/", $part, ".lua"))),*)
    };
}

const ACQUIRE: &str = script!("begin" "held" "server" "acquire");
const RENEW: &str = script!(allow_oom "begin" "own_lease" "renew_lease" "renew");
const RENEW_AND_COMPARE: &str =
    script!(allow_oom "begin" "own_lease" "renew_lease" "server" "renew_and_compare");
const RELEASE: &str = script!(allow_oom "begin" "own_lease" "release");
const DESCRIBE: &str = script!("describe");
const OBSERVE: &str = script!("begin" "held" "observe");
const NOTIFY: &str = script!("begin" "notify");
const PURGE: &str = script!(allow_oom "begin" "purge");

/// The scripts as they are sent to the server, by name: what a simulated server executes, and what an
/// operator may want to read.
pub const SCRIPTS: [(&str, &str); 8] = [
    ("acquire", ACQUIRE),
    ("renew", RENEW),
    ("renew_and_compare", RENEW_AND_COMPARE),
    ("release", RELEASE),
    ("describe", DESCRIBE),
    ("observe", OBSERVE),
    ("notify", NOTIFY),
    ("purge", PURGE),
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
    describe: Script,
    observe: Script,
    notify: Script,
    purge: Script,
}

static ALL: LazyLock<Scripts> = LazyLock::new(|| Scripts {
    acquire: Script::new(ACQUIRE),
    renew: Script::new(RENEW),
    renew_and_compare: Script::new(RENEW_AND_COMPARE),
    release: Script::new(RELEASE),
    describe: Script::new(DESCRIBE),
    observe: Script::new(OBSERVE),
    notify: Script::new(NOTIFY),
    purge: Script::new(PURGE),
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
    /// The calls for these requests, each with its part of them: one call if a script takes all of them together, or
    /// else one for each. A renewal compares the server with the history, unless one has done so over the same
    /// connection.
    pub(super) fn all<'a>(
        config: &RedisConfig,
        requests: &'a [(Key, Request)],
        has_compared: bool,
    ) -> impl Iterator<Item = (&'a [(Key, Request)], Self)> {
        let are = |is: fn(&Request) -> bool| requests.iter().all(|(_, request)| is(request));
        let together = are(|request| matches!(request, Request::Acquire { .. }))
            || has_compared && are(|request| matches!(request, Request::Renew { .. }));
        let in_call = if together { requests.len().max(1) } else { 1 };
        requests.chunks(in_call).filter_map(move |some| {
            let (_, first) = some.first()?;
            Some((some, Self::new(config, some, first, has_compared)))
        })
    }

    /// The call for requests of one kind, of which that is the first.
    fn new(
        config: &RedisConfig,
        requests: &[(Key, Request)],
        first: &Request,
        has_compared: bool,
    ) -> Self {
        let (script, has_history) = match first {
            Request::Acquire { .. } => (&ALL.acquire, true),
            Request::Renew { .. } if has_compared => (&ALL.renew, false),
            Request::Renew { .. } => (&ALL.renew_and_compare, true),
            Request::Release { .. } => (&ALL.release, false),
            Request::Describe { .. } => (&ALL.describe, false),
            Request::Observe => (&ALL.observe, false),
            Request::Notify { .. } => (&ALL.notify, false),
        };
        let mut words = Words::default();
        for (key, _) in requests {
            words.record(config, key);
        }
        if has_history {
            words.bytes(config.history().as_bytes());
        }
        let keys = words.ends.len();
        for (key, request) in requests {
            words.arguments(config, key, request);
        }
        if let Request::Acquire { .. } = first {
            words.bytes(if config.trust_empty_store { b"1" } else { b"0" });
        }
        Self { script, text: words.text.freeze(), ends: words.ends, keys }
    }

    /// Whether it is a renewal that compares the server with the history.
    #[cfg(feature = "redis")]
    pub(super) fn compares(&self) -> bool {
        std::ptr::eq(self.script, &raw const ALL.renew_and_compare)
    }

    /// The call that deletes those of these records that are older.
    pub(super) fn purge(config: &RedisConfig, records: &[Vec<u8>], age: Duration) -> Self {
        let mut words = Words::default();
        for record in records {
            words.bytes(record);
        }
        words.bytes(config.history().as_bytes());
        let keys = words.ends.len();
        words.number(micros(age));
        Self { script: &ALL.purge, text: words.text.freeze(), ends: words.ends, keys }
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

    /// The arguments of a script for that request.
    fn arguments(&mut self, config: &RedisConfig, key: &Key, request: &Request) {
        match request {
            Request::Acquire { holder, seen, ttl, quarantine, profile } => {
                self.holder(*holder);
                self.number(seen.map_or(0, Token::get));
                self.number(micros(*ttl));
                self.number(micros(*quarantine));
                self.bytes(profile.name().as_bytes());
                self.bytes(profile.metadata());
            }
            Request::Renew { holder, token, ttl } => {
                self.holder(*holder);
                self.number(token.get());
                self.number(micros(*ttl));
            }
            Request::Release { holder, token } => {
                self.holder(*holder);
                self.number(token.get());
            }
            Request::Describe { holder, token, version, profile } => {
                self.holder(*holder);
                self.number(token.get());
                self.number(*version);
                self.bytes(profile.name().as_bytes());
                self.bytes(profile.metadata());
            }
            Request::Observe => {}
            Request::Notify { message } => {
                self.bytes(config.inbox(key).as_bytes());
                self.bytes(&message.encoded());
            }
        }
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
    fn a_call_of_two_acquires_has_every_word_in_its_place() {
        let config = RedisConfig::new("h", 1).prefix("app").unwrap();
        let holders = [0x0123_4567_89ab_cdef, 2].map(HolderId::from_bits);
        let acquire = |holder, seen, name| Request::Acquire {
            holder,
            seen,
            ttl: Duration::from_nanos(1_500_999),
            quarantine: Duration::from_secs(2),
            profile: Profile::new(name, "meta").unwrap(),
        };
        let requests = [
            (Key::new("a:b").unwrap(), acquire(holders[0], Token::new(42), "worker")),
            (Key::new("c").unwrap(), acquire(holders[1], None, "other")),
        ];
        let (_, call) = Invocation::all(&config, &requests, false).next().unwrap();
        let words = |words: Vec<&[u8]>| -> Vec<String> {
            words.into_iter().map(|word| String::from_utf8(word.to_vec()).unwrap()).collect()
        };
        let records = requests.each_ref().map(|(key, _)| config.record(key));
        let history = config.history().clone();
        assert_eq!(words(call.keys().collect()), [&records[..], &[history]].concat());
        let [first, second] = holders.map(|holder| holder.to_string());
        let of_first = [&*first, "42", "1500", "2000000", "worker", "meta"];
        let of_second = [&*second, "0", "1500", "2000000", "other", "meta"];
        let wanted = [&of_first[..], &of_second, &["0"]].concat();
        assert_eq!(words(call.arguments().collect()), wanted);
    }
}
