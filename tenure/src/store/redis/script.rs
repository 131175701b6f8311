//! Calls of the scripts.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;

use super::config::RedisConfig;
use super::scripts::{Flags, Script, Which};
use super::words::{Words, rounded_down};
use crate::store::{Key, Request};

/// The content of a call of a script.
#[derive(Clone, Copy)]
pub(super) enum Payload<'a> {
    /// These requests, which one script takes together.
    Requests(&'a [(Key, Request)]),
    /// To delete those of these records that are older; each with the mark that was watched.
    Purge(&'a [(Vec<u8>, Option<String>)], Duration),
}

/// These requests in as few calls as the scripts allow: one if a script takes all of them together,
/// or else one for each.
pub(super) fn in_calls(requests: &[(Key, Request)]) -> impl Iterator<Item = &[(Key, Request)]> {
    let are = |is: fn(&Request) -> bool| requests.iter().all(|(_, request)| is(request));
    let together = are(|request| matches!(request, Request::Acquire { .. }))
        || are(|request| matches!(request, Request::Look { .. } | Request::Ask { .. }))
        || are(|request| matches!(request, Request::Renew { .. }));
    requests.chunks(if together { requests.len().max(1) } else { 1 })
}

impl<'a> Payload<'a> {
    fn first(&self) -> Option<&'a Request> {
        match self {
            Self::Requests(requests) => requests.first().map(|(_, request)| request),
            Self::Purge(..) => None,
        }
    }

    #[cfg(feature = "redis-without-tls")]
    pub(super) fn is_of_many(&self) -> bool {
        !matches!(self, Self::Requests([_]))
    }

    /// True if it does without the past where that is at another node: a leader keeps or gives back
    /// its lease all the same.
    #[cfg(feature = "redis-without-tls")]
    pub(super) fn does_without_past(&self) -> bool {
        matches!(self.first(), Some(Request::Renew { .. } | Request::Release { .. }))
    }
}

/// The use of the past by a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PastUse {
    /// It is the first over its connection, which has drawn that number: it compares the server
    /// with the past.
    Compares(u128),
    /// A call over the same connection has compared.
    Reads,
    /// It does not need the past, or the past is at another node.
    Without,
}

/// One call of a script. Keys and arguments are parts of one text, so that they need one
/// allocation.
pub(super) struct Invocation {
    pub(super) script: &'static Script,
    text: Bytes,
    /// The ends of keys, and then of arguments, in the text.
    ends: Vec<usize>,
    keys: usize,
    /// True if it compares the server with the past.
    pub(super) compares: bool,
}

impl Invocation {
    pub(super) fn new(
        config: &RedisConfig,
        payload: Payload<'_>,
        past: PastUse,
        flags: Flags,
    ) -> Self {
        let which = match payload.first() {
            None => Which::Purge,
            Some(Request::Acquire { .. }) => Which::Acquire,
            Some(Request::Look { .. } | Request::Ask { .. }) => Which::Look,
            Some(Request::Renew { .. }) if matches!(past, PastUse::Compares(_)) => {
                Which::RenewFirst
            }
            Some(Request::Renew { .. }) => Which::Renew,
            Some(Request::Release { .. }) => Which::Release,
            Some(Request::Want { .. }) => Which::Want,
            Some(Request::Describe { .. }) => Which::Describe,
            Some(Request::Observe) => Which::Observe,
            Some(Request::Notify { .. }) => Which::Notify,
        };
        let past = match payload.first() {
            Some(Request::Describe { .. } | Request::Notify { .. }) => None,
            Some(Request::Observe) => Some(PastUse::Reads),
            Some(Request::Release { .. } | Request::Want { .. }) if past == PastUse::Reads => {
                Some(PastUse::Without)
            }
            _ => Some(past),
        };
        let mut words = Words::default();
        match payload {
            Payload::Requests(requests) => {
                for (key, _) in requests {
                    words.record(config, key);
                }
            }
            Payload::Purge(records, _) => {
                for (record, _) in records {
                    words.bytes(record);
                }
            }
        }
        if let Some(PastUse::Compares(_) | PastUse::Reads) = past {
            words.bytes(config.past().as_bytes());
        }
        let keys = words.ends.len();
        match payload {
            Payload::Requests(requests) => {
                for (key, request) in requests {
                    words.arguments(config, key, request);
                }
                if let Some(Request::Acquire { .. }) = payload.first() {
                    words.bytes(if config.trust_empty_store { b"1" } else { b"0" });
                }
            }
            Payload::Purge(records, age) => {
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
        let script = which.script(flags);
        Self { script, text: words.text.freeze(), ends: words.ends, keys, compares }
    }

    #[cfg(feature = "redis-without-tls")]
    pub(super) fn keys(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.keys).map(|word| &self.text[self.range(word)])
    }

    #[cfg(feature = "redis-without-tls")]
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

    /// The length of the keys and arguments together.
    #[cfg(feature = "redis-without-tls")]
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    fn range(&self, word: usize) -> Range<usize> {
        let start = word.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[word]
    }
}

#[cfg(all(test, feature = "redis-without-tls"))]
mod tests {
    use tenure_core::{Acquire, HolderId, Loss, Mark, NameId, RequestId, Stamp, WatchedStamp};

    use super::*;
    use crate::Token;
    use crate::store::Profile;

    fn words<'a>(words: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
        words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    #[test]
    fn a_call_of_two_acquires_has_every_word_in_its_place() {
        let config = RedisConfig::new("h", 1).prefix("app").unwrap();
        let number = RequestId::new(7).unwrap();
        let holders = [0x0123_4567_89ab_cdef, 2].map(HolderId::from_bits);
        let time = Duration::from_nanos(1_500_001);
        let bare = Acquire {
            quarantine: Duration::from_secs(2),
            ..Acquire::new(holders[0], number, time, NameId::from_bits(3))
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
        let payload = Payload::Requests(in_calls(&requests).next().unwrap());
        let call = Invocation::new(&config, payload, PastUse::Compares(5), Flags::Known);
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
        let payload = Payload::Requests(in_calls(&requests).next().unwrap());
        for (past, keys, last) in [
            (PastUse::Compares(15), 2, "0000000000000000000000000000000f"),
            (PastUse::Reads, 1, "-"),
            (PastUse::Without, 1, "-"),
        ] {
            let call = Invocation::new(&config, payload, past, Flags::Known);
            assert_eq!(call.keys().len(), keys);
            assert_eq!(words(call.arguments()).pop().unwrap(), last);
        }
    }
}
