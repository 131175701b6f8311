//! The calls of the shipped scripts, in the terms of the trace: what was asked in which election,
//! and what was answered.

use std::collections::BTreeMap;
use std::str::FromStr;

use bytes::Bytes;
use sha1_smol::Sha1;
use tenure::store::redis::SCRIPTS;

use crate::engines::redis::Reply;
use crate::trace::{Answer, Asked, Mark};

/// The scripts of candidates, by the digest by which the server knows them.
pub(super) struct Scripts(BTreeMap<Bytes, Script>);

#[derive(Clone, Copy)]
enum Script {
    Acquire,
    Look,
    Renew,
    Release,
}

/// A request in one election.
pub(super) struct Call<'a> {
    /// The name of the election's record.
    pub(super) record: &'a Bytes,
    /// Zero for a look.
    pub(super) holder: u128,
    pub(super) request: Asked,
    pub(super) answer: Answer,
}

impl Scripts {
    pub(super) fn shipped() -> Self {
        let known = SCRIPTS.iter().filter_map(|(name, text)| {
            let script = match *name {
                "acquire" => Script::Acquire,
                "look" => Script::Look,
                "renew" | "renew_first" => Script::Renew,
                "release" => Script::Release,
                _ => return None,
            };
            Some((Bytes::from(Sha1::from(*text).digest().to_string()), script))
        });
        Self(known.collect())
    }

    /// The requests of a command, one for each election that it names; `None` if it is no request
    /// of a candidate.
    pub(super) fn read<'a>(&self, command: &'a [Bytes], reply: &Reply) -> Option<Vec<Call<'a>>> {
        let [name, sha, keys, rest @ ..] = command else { return None };
        if !name.eq_ignore_ascii_case(b"EVALSHA") || is_noscript(reply) {
            return None;
        }
        let script = *self.0.get(sha)?;
        let (keys, arguments) = rest.split_at_checked(number(keys)?)?;
        // The key of the past comes after those of the elections, and its argument after theirs.
        let each = keys.iter().zip(arguments.chunks_exact(script.words())).enumerate();
        let call = |(place, (record, words))| {
            let (holder, request) = script.asked(words)?;
            Some(Call { record, holder, request, answer: answer(script.answer_to(place, reply)?) })
        };
        each.map(call).collect()
    }
}

impl Script {
    /// The number of arguments for each request.
    const fn words(self) -> usize {
        match self {
            Self::Acquire => 12,
            Self::Look | Self::Release => 4,
            Self::Renew => 5,
        }
    }

    /// A request, from its arguments. What a look's candidate knows is not on the wire.
    fn asked(self, words: &[Bytes]) -> Option<(u128, Asked)> {
        let tenure = || Some((bits(words.first()?)?, number(words.get(1)?)?));
        Some(match self {
            Self::Acquire => {
                let [holder, _, seen, _, watched, ..] = words else { return None };
                let seen = number(seen)?;
                (bits(holder)?, Asked::Acquire { seen, watched: mark(watched) })
            }
            Self::Look => (0, Asked::Look { seen: 0 }),
            Self::Renew => {
                let (holder, token) = tenure()?;
                (holder, Asked::Renew { token })
            }
            Self::Release => {
                let (holder, token) = tenure()?;
                (holder, Asked::Release { token })
            }
        })
    }

    /// The answer to one of the requests: most scripts answer with a list of answers, or with one
    /// refusal of all.
    fn answer_to(self, place: usize, reply: &Reply) -> Option<&Reply> {
        match (self, reply) {
            (Self::Acquire | Self::Look | Self::Renew, Reply::Array(replies))
                if !matches!(replies.first(), Some(Reply::Bulk(_))) =>
            {
                replies.get(place)
            }
            _ => Some(reply),
        }
    }
}

fn is_noscript(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(text) if text.starts_with(b"NOSCRIPT"))
}

fn answer(reply: &Reply) -> Answer {
    let Reply::Array(fields) = reply else { return Answer::Other };
    let [Reply::Bulk(word), rest @ ..] = &fields[..] else { return Answer::Other };
    let is_watched = |stamp: &Bytes| stamp.is_empty();
    match (&word[..], rest) {
        (b"granted", [Reply::Integer(token)]) => Answer::Granted { token: token.unsigned_abs() },
        // After the last token and the time.
        (b"not", [_, _, Reply::Bulk(stamp), ..]) => {
            Answer::Not { past_is_watched: is_watched(stamp) }
        }
        (b"at", [_, _, Reply::Bulk(stamp), ..]) => {
            Answer::At { past_is_watched: is_watched(stamp) }
        }
        (b"renewed", []) => Answer::Renewed { past_is_watched: true },
        // After who asks, for how long that one defers, and who is wanted.
        (b"renewed", [_, _, _, Reply::Bulk(stamp), _]) => {
            Answer::Renewed { past_is_watched: is_watched(stamp) }
        }
        (b"superseded", _) => Answer::Superseded,
        (b"released", _) => Answer::Released,
        (b"not_held", _) => Answer::NotHeld,
        _ => Answer::Other,
    }
}

/// A mark: its holder and its number.
fn mark(word: &Bytes) -> Option<Mark> {
    let (holder, number) = text(word)?.split_once(':')?;
    Some(Mark { holder: u128::from_str_radix(holder, 16).ok()?, number: number.parse().ok()? })
}

pub(super) fn text(word: &Bytes) -> Option<&str> {
    std::str::from_utf8(word).ok()
}

pub(super) fn number<T: FromStr>(word: &Bytes) -> Option<T> {
    text(word)?.parse().ok()
}

pub(super) fn bits(word: &Bytes) -> Option<u128> {
    u128::from_str_radix(text(word)?, 16).ok()
}
