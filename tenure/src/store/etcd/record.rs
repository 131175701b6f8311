//! The records under each key, and how they are read.
//!
//! One line of words, so that `etcdctl get` shows it; after it, if there are any, a candidate's name and metadata
//! byte for byte. A record that can't be read is damage and an error, never a vacancy.

use std::time::Duration;

use bytes::Bytes;

use crate::HolderId;
use crate::store::{Profile, StoreError, StoreErrorKind};

/// The first word: this format, and no other.
const FORMAT: &str = "tenure1";

/// More bytes than any record has. etcd can't be asked for less than a value; by default it keeps none above 1.5 MiB.
const MOST: usize = Profile::NAME_MOST + Profile::METADATA_MOST + 256;

/// Under the key of a live lease. Its token is the key's create revision plus the offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leader {
    pub(super) holder: HolderId,
    /// The TTL of the last grant or renewal, in seconds: the most that can remain.
    pub(super) ttl: u64,
    pub(super) offset: u64,
    pub(super) name: String,
    pub(super) metadata: Bytes,
    /// The version of the name and the metadata; 0 for those of the grant.
    pub(super) version: u64,
}

/// Written with each grant, and without a lease: the last tenure. Its token is this key's
/// mod revision plus the offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Last {
    pub(super) offset: u64,
    /// An index that the log had reached before the grant.
    pub(super) index: u64,
}

/// The settings of the last tenure's candidate, and how long they bind others. Written with each grant, so
/// its key is as new as that of the last tenure, or newer; an older one is of an earlier tenure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// The TTL of the last grant or renewal, in seconds.
    pub(super) ttl: u64,
    /// In microseconds.
    pub(super) quarantine: u64,
    /// Since the tenure's end, a candidate with contradicting settings has asked: these settings bind for as long
    /// as that etcd lease exists.
    pub(super) binding: Option<i64>,
}

/// The longest TTL that was granted under the prefix, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Longest(pub(super) u64);

/// Written with each purge: records of tenures up to the token of this revision may have been deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Purged {
    /// That of the history's tokens.
    pub(super) offset: u64,
}

/// An election that a purge has found without a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// The revision of its last tenure.
    pub(super) last: i64,
    /// When, in seconds since 1970 by the wall clock of the process that wrote this.
    at: u64,
}

/// The history of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct History {
    /// The cluster that wrote this; another one may have lost grants.
    pub(super) cluster: u64,
    /// The offset of new tokens.
    pub(super) offset: u64,
    /// An index that the log had reached before this was written.
    pub(super) index: u64,
    /// For how many seconds the history is known to be whole once no quarantine is left.
    pub(super) proven: u64,
}

/// A record that can be stored under a key.
pub(super) trait Record: Sized {
    /// For errors.
    const WHAT: &'static str;

    fn write(&self) -> Vec<u8>;
    fn read(text: &[u8]) -> Option<Self>;

    fn read_from(key: &[u8], text: &[u8]) -> Result<Self, StoreError> {
        let text = Some(text).filter(|text| text.len() <= MOST);
        text.and_then(Self::read).ok_or_else(|| {
            let key = String::from_utf8_lossy(key);
            let detail = format!("{key:?} does not hold {}", Self::WHAT);
            StoreError::new(StoreErrorKind::BadRecord, detail)
        })
    }
}

impl Leader {
    pub(super) fn new(holder: HolderId, ttl: u64, offset: u64, profile: &Profile) -> Self {
        let (name, metadata) = (profile.name().to_owned(), profile.metadata().clone());
        Self { holder, ttl, offset, name, metadata, version: 0 }
    }
}

impl Record for Leader {
    const WHAT: &'static str = "a lease";

    fn write(&self) -> Vec<u8> {
        let Self { holder, ttl, offset, name, metadata, version } = self;
        // Programs that know no versions can read the record of a grant.
        let version = if *version > 0 { format!(" {version}") } else { String::new() };
        let line = format!("{FORMAT} {holder} {ttl} {offset} {}{version}\n", name.len());
        [line.as_bytes(), name.as_bytes(), metadata].concat()
    }

    fn read(text: &[u8]) -> Option<Self> {
        let end = text.iter().position(|&byte| byte == b'\n')?;
        let (line, rest) = (&text[..end], &text[end + 1..]);
        let of_grant = words(line).map(|[a, b, c, d]: [_; 4]| [a, b, c, d, "0"]);
        let [holder, ttl, offset, length, version] = of_grant.or_else(|| words(line))?;
        let (name, metadata) = rest.split_at_checked(length.parse().ok()?)?;
        Some(Self {
            holder: HolderId::from_bits(u128::from_str_radix(holder, 16).ok()?),
            ttl: ttl.parse().ok().filter(|ttl| *ttl > 0)?,
            offset: offset.parse().ok()?,
            name: String::from_utf8(name.to_vec()).ok()?,
            metadata: Bytes::copy_from_slice(metadata),
            version: version.parse().ok()?,
        })
    }
}

impl Record for Last {
    const WHAT: &'static str = "the last tenure";

    fn write(&self) -> Vec<u8> {
        format!("{FORMAT} {} {}", self.offset, self.index).into_bytes()
    }

    fn read(text: &[u8]) -> Option<Self> {
        let [offset, index] = words(text)?;
        Some(Self { offset: offset.parse().ok()?, index: index.parse().ok()? })
    }
}

impl Settings {
    pub(super) fn new(ttl: u64, quarantine: Duration) -> Self {
        let quarantine = u64::try_from(quarantine.as_micros()).unwrap_or(u64::MAX);
        Self { ttl, quarantine, binding: None }
    }

    pub(super) fn quarantine(&self) -> Duration {
        Duration::from_micros(self.quarantine)
    }
}

impl Record for Settings {
    const WHAT: &'static str = "a candidate's settings";

    fn write(&self) -> Vec<u8> {
        let Self { ttl, quarantine, binding } = self;
        format!("{FORMAT} {ttl} {quarantine} {}", binding.unwrap_or(0)).into_bytes()
    }

    fn read(text: &[u8]) -> Option<Self> {
        let [ttl, quarantine, binding] = words(text)?;
        let binding: i64 = binding.parse().ok()?;
        Some(Self {
            ttl: ttl.parse().ok()?,
            quarantine: quarantine.parse().ok()?,
            // No etcd lease has the number 0.
            binding: Some(binding).filter(|lease| *lease != 0),
        })
    }
}

impl Record for Longest {
    const WHAT: &'static str = "the longest TTL";

    fn write(&self) -> Vec<u8> {
        format!("{FORMAT} {}", self.0).into_bytes()
    }

    fn read(text: &[u8]) -> Option<Self> {
        let [seconds] = words(text)?;
        seconds.parse().ok().map(Self)
    }
}

impl Record for Purged {
    const WHAT: &'static str = "what was purged";

    fn write(&self) -> Vec<u8> {
        format!("{FORMAT} {}", self.offset).into_bytes()
    }

    fn read(text: &[u8]) -> Option<Self> {
        let [offset] = words(text)?;
        Some(Self { offset: offset.parse().ok()? })
    }
}

impl Mark {
    pub(super) fn new(last: i64, at: Duration) -> Self {
        Self { last, at: at.as_secs() }
    }

    pub(super) fn at(&self) -> Duration {
        Duration::from_secs(self.at)
    }
}

impl Record for Mark {
    const WHAT: &'static str = "the mark of an election without a leader";

    fn write(&self) -> Vec<u8> {
        format!("{FORMAT} {} {}", self.last, self.at).into_bytes()
    }

    fn read(text: &[u8]) -> Option<Self> {
        let [last, at] = words(text)?;
        Some(Self { last: last.parse().ok()?, at: at.parse().ok()? })
    }
}

impl Record for History {
    const WHAT: &'static str = "a history";

    fn write(&self) -> Vec<u8> {
        let Self { cluster, offset, index, proven } = self;
        format!("{FORMAT} {cluster:x} {offset} {index} {proven}").into_bytes()
    }

    fn read(text: &[u8]) -> Option<Self> {
        let [cluster, offset, index, proven] = words(text)?;
        Some(Self {
            cluster: u64::from_str_radix(cluster, 16).ok()?,
            offset: offset.parse().ok()?,
            index: index.parse().ok()?,
            proven: proven.parse().ok()?,
        })
    }
}

/// The words of a line after the format's name, of which there must be exactly that many.
fn words<const N: usize>(line: &[u8]) -> Option<[&str; N]> {
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let format = words.next()?;
    let words: Vec<&str> = words.collect();
    words.try_into().ok().filter(|_| format == FORMAT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leader() -> Leader {
        let profile = Profile::new("größer \r\n\0", &b"\0\n meta"[..]).unwrap();
        Leader::new(HolderId::from_bits(7), 15, 42, &profile)
    }

    #[test]
    fn records_are_read_as_written() {
        for version in [0, 1, u64::MAX] {
            let leader = Leader { version, ..leader() };
            assert_eq!(Leader::read(&leader.write()), Some(leader));
        }
        let last = Last { offset: 0, index: u64::MAX };
        assert_eq!(Last::read(&last.write()), Some(last));
        for binding in [None, Some(i64::MAX)] {
            let settings = Settings { ttl: 15, quarantine: u64::MAX, binding };
            assert_eq!(Settings::read(&settings.write()), Some(settings));
        }
        assert_eq!(Longest::read(&Longest(60).write()), Some(Longest(60)));
        let (purged, mark) = (Purged { offset: u64::MAX }, Mark { last: 7, at: 1 });
        assert_eq!(Purged::read(&purged.write()), Some(purged));
        assert_eq!(Mark::read(&mark.write()), Some(mark));
        let history = History { cluster: u64::MAX, offset: 1, index: 2, proven: 3 };
        assert_eq!(History::read(&history.write()), Some(history));
    }

    #[test]
    fn anything_else_is_damage() {
        let whole = leader().write();
        // Of the whole record only the metadata's end can be missed.
        for end in 0..whole.len() - leader().metadata.len() {
            assert_eq!(Leader::read(&whole[..end]), None, "{end}");
        }
        for text in
            ["", "tenure1", "tenure1 1", "tenure2 1 2", "tenure1 1 2 3", "tenure1 1 -2", "x"]
        {
            assert_eq!(Last::read(text.as_bytes()), None, "{text}");
        }
        for text in ["tenure1 1 2 3", "tenure1 g 2 3 4", "tenure1 1 2 3 4 5", "tenure1 1 2 3 4\n"] {
            assert_eq!(History::read(text.as_bytes()), None, "{text}");
        }
        for text in ["tenure1 1 2", "tenure1 1 -2 0", "tenure1 1 2 x", "tenure1 1 2 0 0"] {
            assert_eq!(Settings::read(text.as_bytes()), None, "{text}");
        }
        for text in ["", "tenure1", "tenure1 1 2", "tenure1 1s"] {
            assert_eq!(Longest::read(text.as_bytes()), None, "{text}");
        }
        let long = Leader { metadata: vec![0; MOST].into(), ..leader() };
        let error = Leader::read_from(b"tenure/leader/job", &long.write()).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::BadRecord);
        let error = Last::read_from(b"tenure/last/job", b"hush").unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::BadRecord);
        assert!(error.to_string().contains("\"tenure/last/job\" does not hold the last tenure"));
        assert!(!error.to_string().contains("hush"));
    }
}
