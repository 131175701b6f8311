//! The values under each key, and how they are read.
//!
//! One line of words, so that `etcdctl get` shows it; after it, in a record, the candidate's name
//! and metadata byte for byte. Times are nanoseconds. A value that can't be read is damage and an
//! error, never a vacancy.

use std::time::Duration;

use tenure_core::contract::{Past, Record};
use tenure_core::{Asked, NameId, RequestId, Reservation, Stamp, Wish};

use crate::store::{Profile, StoreError, StoreErrorKind};
use crate::{HolderId, Instant, Token};

/// The first word: this format, and no other.
const FORMAT: &str = "tenure2";
/// The first word of the format before it.
const OLDER: &str = "tenure1";
/// Instead of a word that there is not.
const NONE: &str = "-";
const ANYBODY: &str = "any";

/// More bytes than any value has. etcd can't be asked for less than a value; by default it keeps
/// none above 1.5 MiB.
const MOST: usize = Profile::NAME_MOST + Profile::METADATA_MOST + 1024;

/// Under the key of an election's record, which outlives its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Election {
    /// The record as it was written. The leader's key tells whether the lease has ended since.
    pub(super) record: Record,
    /// The revision of the grant; the token is this plus the offset.
    pub(super) granted: u64,
    pub(super) profile: Profile,
    /// The version of the profile; 0 for that of the grant.
    pub(super) version: u64,
}

impl Election {
    /// A transaction's revision is not known before it: the value of a grant has 0 instead, for the
    /// revision that wrote it.
    pub(super) fn write(&self, is_grant: bool) -> Vec<u8> {
        let Self { record, granted, profile, version } = self;
        let offset = record.token.get() - granted;
        let granted = if is_grant { 0 } else { *granted };
        let (holder, number) = (record.holder, record.number.get());
        let released = u8::from(record.released);
        let named = |one: Option<(NameId, Duration)>| match one {
            Some((name, time)) => (bits(name.to_bits()), nanos(time)),
            None => (NONE.to_owned(), 0),
        };
        let (kept_for, reserve) = named(record.reservation.map(|kept| (kept.name, kept.reserve)));
        let (asked, defer) = named(record.asked.map(|asked| (asked.name, asked.defer)));
        let wanted = match record.wanted {
            None => NONE.to_owned(),
            Some(Wish::Anybody) => ANYBODY.to_owned(),
            Some(Wish::Name(name)) => bits(name.to_bits()),
        };
        let (ttl, quarantine) = (nanos(record.ttl), nanos(record.quarantine));
        let (written, length) = (record.written.as_nanos(), profile.name().len());
        let line = format!(
            "{FORMAT} {granted} {offset} {holder} {number} {released} {kept_for} {reserve} {ttl} {quarantine} {wanted} \
             {asked} {defer} {written} {version} {length}\n"
        );
        [line.as_bytes(), profile.name().as_bytes(), profile.metadata()].concat()
    }

    pub(super) fn read(text: &[u8], modified: u64) -> Option<Self> {
        let end = text.iter().position(|&byte| byte == b'\n')?;
        let (line, rest) = (&text[..end], &text[end + 1..]);
        let [
            granted,
            offset,
            holder,
            number,
            released,
            kept_for,
            reserve,
            ttl,
            quarantine,
            wanted,
            asked,
            defer,
            written,
            version,
            length,
        ] = words(line)?;
        let granted = Some(granted.parse().ok()?).filter(|granted| *granted > 0);
        let granted = granted.unwrap_or(modified);
        let (reserve, defer) = (time(reserve)?, time(defer)?);
        let record = Record {
            token: Token::new(granted.checked_add(offset.parse().ok()?)?)?,
            holder: HolderId::from_bits(of_bits(holder)?),
            number: RequestId::new(number.parse().ok()?)?,
            released: match released {
                "0" => false,
                "1" => true,
                _ => return None,
            },
            reservation: name(kept_for)?.map(|name| Reservation { name, reserve }),
            ttl: time(ttl)?,
            quarantine: time(quarantine)?,
            wanted: match wanted {
                ANYBODY => Some(Wish::Anybody),
                other => name(other)?.map(Wish::Name),
            },
            asked: name(asked)?.map(|name| Asked { name, defer }),
            written: Instant::from_nanos(written.parse().ok()?),
        };
        let (name, metadata) = rest.split_at_checked(length.parse().ok()?)?;
        let profile = Profile::new(std::str::from_utf8(name).ok()?, metadata.to_vec()).ok()?;
        Some(Self { record, granted, profile, version: version.parse().ok()? })
    }
}

/// Under the prefix's key of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct History {
    /// The contract's past; its identity is the cluster's.
    pub(super) past: Past,
    /// The offset of new tokens.
    pub(super) offset: u64,
    /// An index that the cluster's log had reached before this was written.
    pub(super) index: u64,
}

impl History {
    pub(super) fn write(&self) -> Vec<u8> {
        let Self { past: Past { identity, stamp, watched, longest, purged }, offset, index } = self;
        let (stamp, watched, longest) = (bits(stamp.to_bits()), nanos(*watched), nanos(*longest));
        let purged = purged.map_or(0, Token::get);
        format!("{FORMAT} {identity:x} {stamp} {watched} {longest} {purged} {offset} {index}")
            .into_bytes()
    }

    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let [identity, stamp, watched, longest, purged, offset, index] = words(text)?;
        let past = Past {
            identity: u64::from_str_radix(identity, 16).ok()?.into(),
            stamp: Stamp::from_bits(of_bits(stamp)?),
            watched: time(watched)?,
            longest: time(longest)?,
            purged: Token::new(purged.parse().ok()?),
        };
        Some(Self { past, offset: offset.parse().ok()?, index: index.parse().ok()? })
    }
}

/// Under the key of a live lease. What counts is its create revision, and the lease that it is
/// attached to; the holder is for people.
pub(super) fn leader(holder: HolderId) -> Vec<u8> {
    format!("{FORMAT} {holder}").into_bytes()
}

/// Reads the value of a live lease.
pub(super) fn is_leader(text: &[u8]) -> Option<()> {
    words(text).map(|[_]: [_; 1]| ())
}

/// The value under that key, as `read` takes it.
pub(super) fn readable<T>(
    (key, text): (&[u8], &[u8]),
    what: &str,
    read: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<T, StoreError> {
    if text.starts_with(OLDER.as_bytes()) {
        return Err(older(&String::from_utf8_lossy(key)));
    }
    Some(text).filter(|text| text.len() <= MOST).and_then(read).ok_or_else(|| {
        let detail = format!("{:?} does not hold {what}", String::from_utf8_lossy(key));
        StoreError::new(StoreErrorKind::BadRecord, detail)
    })
}

/// The refusal of a prefix that candidates of an earlier version have used.
pub(super) fn older(key: &str) -> StoreError {
    let detail = format_args!(
        "{key:?} is of an earlier version of tenure: stop all candidates of that version, and remove the prefix's keys by \
         etcdctl del --prefix"
    );
    StoreError::showing(StoreErrorKind::BadRecord, detail)
}

fn bits(bits: u128) -> String {
    format!("{bits:032x}")
}

fn of_bits(word: &str) -> Option<u128> {
    u128::from_str_radix(word, 16).ok().filter(|_| word.len() == 32)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn time(word: &str) -> Option<Duration> {
    word.parse().ok().map(Duration::from_nanos)
}

/// A name or none; `None` if it is neither.
#[expect(clippy::option_option, reason = "the outer one says whether it can be read")]
fn name(word: &str) -> Option<Option<NameId>> {
    match word {
        NONE => Some(None),
        bits => of_bits(bits).map(|bits| Some(NameId::from_bits(bits))),
    }
}

/// The words after the format.
fn words<const N: usize>(line: &[u8]) -> Option<[&str; N]> {
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let format = words.next()?;
    let words: Vec<&str> = words.collect();
    words.try_into().ok().filter(|_| format == FORMAT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn election() -> Election {
        let record = Record {
            token: Token::new(1_042).unwrap(),
            holder: HolderId::from_bits(7),
            number: RequestId::new(3).unwrap(),
            released: false,
            reservation: None,
            ttl: Duration::from_secs(15),
            quarantine: Duration::from_nanos(15_000_000_001),
            wanted: None,
            asked: None,
            written: Instant::from_nanos(9),
        };
        let profile = Profile::new("größer \r\n\0", &b"\0\n meta"[..]).unwrap();
        Election { record, granted: 42, profile, version: 0 }
    }

    #[test]
    fn values_are_read_as_written() {
        let name = NameId::from_bits(5);
        let all = Record {
            released: true,
            reservation: Some(Reservation { name, reserve: Duration::from_secs(3) }),
            wanted: Some(Wish::Name(name)),
            asked: Some(Asked { name, defer: Duration::from_millis(1) }),
            ..election().record
        };
        let anybody = Record { wanted: Some(Wish::Anybody), ..election().record };
        for record in [election().record, all, anybody] {
            let kept = Election { record, version: u64::MAX, ..election() };
            assert_eq!(Election::read(&kept.write(false), 99), Some(kept.clone()));
            // The value of a grant is of the revision that wrote it.
            assert_eq!(Election::read(&kept.write(true), 42), Some(kept));
        }
        let past = Past {
            identity: u64::MAX.into(),
            stamp: Stamp::from_bits(u128::MAX),
            watched: tenure_core::contract::FOREVER,
            longest: Duration::from_secs(60),
            purged: None,
        };
        for purged in [None, Token::new(u64::MAX)] {
            let history = History { past: Past { purged, ..past }, offset: u64::MAX, index: 2 };
            assert_eq!(History::read(&history.write()), Some(history));
        }
        assert_eq!(is_leader(&leader(HolderId::from_bits(7))), Some(()));
    }

    #[test]
    fn anything_else_is_damage() {
        let whole = election().write(false);
        // Of the whole record only the metadata's end can be missed.
        for end in 0..whole.len() - election().profile.metadata().len() {
            assert_eq!(Election::read(&whole[..end], 99), None, "{end}");
        }
        let of = |history: &str| History::read(history.as_bytes());
        let stamp = "0123456789abcdef0123456789abcdef";
        assert!(of(&format!("tenure2 a {stamp} 1 2 3 4 5")).is_some());
        for text in [
            String::new(),
            format!("tenure3 a {stamp} 1 2 3 4 5"),
            format!("tenure2 a {stamp} 1 2 3 4"),
            format!("tenure2 a {stamp} 1 2 3 4 5 6"),
            format!("tenure2 a {stamp} 1 2 3 4 5\n"),
            format!("tenure2 a {stamp} -1 2 3 4 5"),
            format!("tenure2 a {stamp}0 1 2 3 4 5"),
        ] {
            assert_eq!(of(&text), None, "{text:?}");
        }
        let long = vec![b'x'; MOST + 1];
        for (text, shown) in [
            (&b"hush"[..], "\"a/past\" does not hold a past"),
            (&long, "does not hold a past"),
            (b"tenure1 5 42 7 15", "\"a/past\" is of an earlier version of tenure"),
        ] {
            let error = readable((b"a/past", text), "a past", History::read).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::BadRecord);
            let error = error.to_string();
            assert!(error.contains(shown) && !error.contains("hush"), "{error}");
        }
    }
}
