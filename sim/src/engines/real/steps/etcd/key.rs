//! The keys of the one election of a run, and what they say.

use super::super::{Past, Record};

/// It exists for as long as the lease is live.
pub(super) const LEADER: &[u8] = b"tenure/leader/job";
pub(super) const RECORD: &[u8] = b"tenure/record/job";
pub(super) const PAST: &[u8] = b"tenure/past";

const FORMAT: &str = "tenure2";

/// Reads the first line of a record that was written at that revision. A grant has 0 for its
/// revision; the token is that plus an offset. Renewals are not written, so its mark is that of the
/// grant.
pub(super) fn record(value: &[u8], revision: i64) -> Option<Record> {
    let line = value.split(|byte| *byte == b'\n').next()?;
    let words: Vec<&str> = std::str::from_utf8(line).ok()?.split(' ').collect();
    let [FORMAT, granted, offset, holder, number, released, _, _, ttl, quarantine, ..] = words[..]
    else {
        return None;
    };
    let number_of = |word: &str| word.parse::<u64>().ok();
    let micros = |word| number_of(word).map(|nanos| nanos / 1_000);
    let granted = number_of(granted).filter(|granted| *granted > 0);
    let granted = granted.or(u64::try_from(revision).ok())?;
    Some(Record {
        token: granted.checked_add(number_of(offset)?)?,
        holder: u128::from_str_radix(holder, 16).ok()?,
        number: number_of(number)?,
        ttl: micros(ttl)?,
        quarantine: micros(quarantine)?,
        released: released == "1",
        ..Record::default()
    })
}

/// Reads a past.
pub(super) fn past(value: &[u8]) -> Option<Past> {
    let words: Vec<&str> = std::str::from_utf8(value).ok()?.split(' ').collect();
    let [FORMAT, identity, stamp, watched, longest, ..] = words[..] else { return None };
    let micros = |word: &str| word.parse::<u64>().ok().map(|nanos| nanos / 1_000);
    Some(Past {
        identity: Some(identity.to_owned()),
        stamp: Some(stamp.to_owned()),
        stamped_at: 0,
        watched: micros(watched)?,
        longest: micros(longest)?,
    })
}
