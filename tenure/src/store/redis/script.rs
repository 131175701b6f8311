//! The scripts, and their calls.

use std::fmt::Write;
use std::ops::Range;
use std::sync::LazyLock;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use tenure_core::{Acquire, Mark, WatchedStamp, Wish};

use super::config::RedisConfig;
use super::reply::EXACT;
use crate::Token;
use crate::store::{Key, Profile, Request};

/// A script of these parts. One that has a first line of its own runs at maxmemory too, where a refusal would cost leaders
/// their lead: its writes replace short values. A replica refuses it, also where it would only read.
macro_rules! script {
    (allow_oom $($part:literal)*) => {
        concat!("#!lua flags=allow-oom\n", script!($($part)*))
    };
    ($($part:literal)*) => {
        concat!($(include_str!(concat!("scripts/", $part, ".lua"))),*)
    };
}

const ACQUIRE: &str = script!("begin" "past" "server" "show" "acquire");
const LOOK: &str = script!(allow_oom "begin" "past" "server" "first" "show" "look");
const RENEW: &str = script!(allow_oom "begin" "past" "renew");
/// For the first call over a connection, so that later ones cost less.
const RENEW_FIRST: &str = script!(allow_oom "begin" "past" "server" "first" "renew");
const RELEASE: &str = script!(allow_oom "begin" "past" "server" "first" "release");
const WANT: &str = script!(allow_oom "begin" "past" "server" "first" "want");
const DESCRIBE: &str = script!("describe");
/// Without a first line: a replica may carry it out.
const OBSERVE: &str = script!("begin" "past" "show" "look");
const NOTIFY: &str = script!("begin" "notify");
const PURGE: &str = script!(allow_oom "begin" "past" "server" "first" "purge");

/// The scripts as they are sent to the server, by name: what a simulated server executes, and what an
/// operator may want to read.
pub const SCRIPTS: [(&str, &str); 10] = [
    ("acquire", ACQUIRE),
    ("look", LOOK),
    ("renew", RENEW),
    ("renew_first", RENEW_FIRST),
    ("release", RELEASE),
    ("want", WANT),
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
    look: Script,
    renew: Script,
    renew_first: Script,
    release: Script,
    want: Script,
    describe: Script,
    observe: Script,
    notify: Script,
    purge: Script,
}

static ALL: LazyLock<Scripts> = LazyLock::new(|| Scripts {
    acquire: Script::new(ACQUIRE),
    look: Script::new(LOOK),
    renew: Script::new(RENEW),
    renew_first: Script::new(RENEW_FIRST),
    release: Script::new(RELEASE),
    want: Script::new(WANT),
    describe: Script::new(DESCRIBE),
    observe: Script::new(OBSERVE),
    notify: Script::new(NOTIFY),
    purge: Script::new(PURGE),
});

const HEX: &[u8; 16] = b"0123456789abcdef";

/// What a call asks.
#[derive(Clone, Copy)]
pub(super) enum Asks<'a> {
    /// These requests, which one script takes together.
    Requests(&'a [(Key, Request)]),
    /// To delete those of these records that are older; each with the mark that was watched.
    Purge(&'a [(Vec<u8>, Option<String>)], Duration),
}

/// These requests in as few calls as the scripts allow: one if a script takes all of them together, or else one for each.
pub(super) fn in_calls(requests: &[(Key, Request)]) -> impl Iterator<Item = &[(Key, Request)]> {
    let are = |is: fn(&Request) -> bool| requests.iter().all(|(_, request)| is(request));
    let together = are(|request| matches!(request, Request::Acquire { .. }))
        || are(|request| matches!(request, Request::Look { .. } | Request::Ask { .. }))
        || are(|request| matches!(request, Request::Renew { .. }));
    requests.chunks(if together { requests.len().max(1) } else { 1 })
}

impl<'a> Asks<'a> {
    fn first(&self) -> Option<&'a Request> {
        match self {
            Self::Requests(requests) => requests.first().map(|(_, request)| request),
            Self::Purge(..) => None,
        }
    }

    pub(super) fn is_of_many(&self) -> bool {
        !matches!(self, Self::Requests([_]))
    }

    /// Whether it does without the past where that is at another node: a leader keeps or gives back its lease all the same.
    #[cfg(feature = "redis")]
    pub(super) fn does_without_past(&self) -> bool {
        matches!(self.first(), Some(Request::Renew { .. } | Request::Release { .. }))
    }
}

/// What a call does about the past.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PastUse {
    /// It is the first over its connection, which has drawn that number: it compares the server with the past.
    Compares(u128),
    /// A call over the same connection has compared.
    Reads,
    /// It does not need the past, or the past is at another node.
    Without,
}

/// One call of a script. Keys and arguments are parts of one text, so that they need one allocation.
pub(super) struct Invocation {
    pub(super) script: &'static Script,
    text: Bytes,
    /// Where in the text each key, and then each argument, ends.
    ends: Vec<usize>,
    keys: usize,
    /// Whether it compares the server with the past.
    pub(super) compares: bool,
}

impl Invocation {
    pub(super) fn new(config: &RedisConfig, asks: Asks<'_>, past: PastUse) -> Self {
        let script = match asks.first() {
            None => &ALL.purge,
            Some(Request::Acquire { .. }) => &ALL.acquire,
            Some(Request::Look { .. } | Request::Ask { .. }) => &ALL.look,
            Some(Request::Renew { .. }) if matches!(past, PastUse::Compares(_)) => &ALL.renew_first,
            Some(Request::Renew { .. }) => &ALL.renew,
            Some(Request::Release { .. }) => &ALL.release,
            Some(Request::Want { .. }) => &ALL.want,
            Some(Request::Describe { .. }) => &ALL.describe,
            Some(Request::Observe) => &ALL.observe,
            Some(Request::Notify { .. }) => &ALL.notify,
        };
        let past = match asks.first() {
            Some(Request::Describe { .. } | Request::Notify { .. }) => None,
            Some(Request::Observe) => Some(PastUse::Reads),
            Some(Request::Release { .. } | Request::Want { .. }) if past == PastUse::Reads => {
                Some(PastUse::Without)
            }
            _ => Some(past),
        };
        let mut words = Words::default();
        match asks {
            Asks::Requests(requests) => {
                requests.iter().for_each(|(key, _)| words.record(config, key));
            }
            Asks::Purge(records, _) => records.iter().for_each(|(record, _)| words.bytes(record)),
        }
        if let Some(PastUse::Compares(_) | PastUse::Reads) = past {
            words.bytes(config.past().as_bytes());
        }
        let keys = words.ends.len();
        match asks {
            Asks::Requests(requests) => {
                requests.iter().for_each(|(key, request)| words.arguments(config, key, request));
                if let Some(Request::Acquire { .. }) = asks.first() {
                    words.bytes(if config.trust_empty_store { b"1" } else { b"0" });
                }
            }
            Asks::Purge(records, age) => {
                for (_, mark) in records {
                    words.bytes(mark.as_deref().unwrap_or_default().as_bytes());
                }
                words.number(rounded_down(age));
            }
        }
        match past {
            Some(PastUse::Compares(number)) => words.bits(number),
            Some(PastUse::Reads) => words.bytes(b""),
            Some(PastUse::Without) => words.bytes(b"-"),
            None => {}
        }
        let compares = matches!(past, Some(PastUse::Compares(_)));
        Self { script, text: words.text.freeze(), ends: words.ends, keys, compares }
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

    fn bytes(&mut self, word: &[u8]) {
        self.text.extend_from_slice(word);
        self.end();
    }

    /// Ends a word: the text since the end of the last one.
    fn end(&mut self) {
        self.ends.push(self.text.len());
    }

    /// In hexadecimal, as identities are displayed, but several times as fast.
    fn bits(&mut self, bits: u128) {
        let mut digits = [0; 32];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(bits.to_be_bytes()) {
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

/// Whole microseconds. Longer than 280 years counts as that long: a script's numbers are exact below 2^53.
fn rounded_down(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).map_or(EXACT - 1, |micros| micros.min(EXACT - 1))
}

/// The same: no candidate may wait for less than it must.
fn rounded_up(duration: Duration) -> u64 {
    rounded_down(duration.saturating_add(Duration::from_nanos(999)))
}

#[cfg(all(test, feature = "redis"))]
mod tests {
    use tenure_core::{HolderId, Loss, NameId, RequestId, Stamp};

    use super::*;

    fn words<'a>(words: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
        words.map(|word| String::from_utf8(word.to_vec()).unwrap()).collect()
    }

    #[test]
    fn a_call_of_two_acquires_has_every_word_in_its_place() {
        let config = RedisConfig::new("h", 1).prefix("app").unwrap();
        let number = RequestId::new(7).unwrap();
        let holders = [0x0123_4567_89ab_cdef, 2].map(HolderId::from_bits);
        let time = Duration::from_nanos(1_500_001);
        let bare = Acquire {
            holder: holders[0],
            number,
            seen: None,
            lost: None,
            mark: None,
            stamp: None,
            ttl: time,
            quarantine: Duration::from_secs(2),
            name: NameId::from_bits(3),
        };
        let full = Acquire {
            holder: holders[1],
            seen: Token::new(42),
            lost: Some(Loss { last: None }),
            mark: Some(Mark { holder: holders[0], number }),
            stamp: Some(WatchedStamp { stamp: Stamp::from_bits(4), time }),
            ..bare
        };
        let acquire =
            |asks, name| Request::Acquire { asks, profile: Profile::new(name, "meta").unwrap() };
        let requests = [
            (Key::new("a:b").unwrap(), acquire(bare, "worker")),
            (Key::new("c").unwrap(), acquire(full, "other")),
        ];
        let asks = Asks::Requests(in_calls(&requests).next().unwrap());
        let call = Invocation::new(&config, asks, PastUse::Compares(5));
        let keys = requests.each_ref().map(|(key, _)| config.record(key));
        assert_eq!(words(call.keys()), [&keys[..], &[config.past()]].concat());
        let [first, second, digest, stamp, own] =
            [holders[0].to_bits(), 2, 3, 4, 5].map(|bits| format!("{bits:032x}"));
        let mark = format!("{first}:7");
        let of_first =
            [&*first, "7", "0", "", "", "", "0", "1501", "2000000", &digest, "worker", "meta"];
        let of_second =
            [&*second, "7", "42", "0", &mark, &stamp, "1500", "1501", "2000000", &digest, "other"];
        let wanted = [&of_first[..], &of_second, &["meta", "0", &own]].concat();
        assert_eq!(words(call.arguments()), wanted);
        assert!(call.compares);
    }

    #[test]
    fn a_release_names_the_past_only_if_it_compares() {
        let config = RedisConfig::new("h", 1);
        let release = Request::Release {
            holder: HolderId::from_bits(1),
            token: Token::FIRST,
            reservation: None,
        };
        let requests = [(Key::new("a").unwrap(), release)];
        let asks = Asks::Requests(in_calls(&requests).next().unwrap());
        for (past, keys, last) in [
            (PastUse::Compares(15), 2, "0000000000000000000000000000000f"),
            (PastUse::Reads, 1, "-"),
            (PastUse::Without, 1, "-"),
        ] {
            let call = Invocation::new(&config, asks, past);
            assert_eq!(call.keys().len(), keys);
            assert_eq!(words(call.arguments()).pop().unwrap(), last);
        }
    }
}
