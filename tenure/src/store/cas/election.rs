//! The value of one election, as JSON text.

use std::time::Duration;

use bytes::Bytes;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tenure_core::contract::{Past, Record};
use tenure_core::{Asked, NameId, RequestId, Reservation, Stamp, Wish};

use crate::store::{Key, Profile, StoreError, StoreErrorKind};
use crate::{HolderId, Instant, Token};

/// A value's content: what the contract keeps of an election and of its past, which each election
/// has for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Election {
    /// The last tenure, if there was one.
    pub tenant: Option<Tenant>,
    /// The known history of the value, if any.
    pub past: Option<Past>,
}

/// The last tenure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// The basis of decisions.
    pub record: Record,
    /// The part for other candidates.
    pub profile: Profile,
    /// The version of the profile; 0 for that of the grant.
    pub version: u64,
}

impl Election {
    /// The election that a value holds.
    ///
    /// # Errors
    /// [`StoreErrorKind::BadRecord`] if it holds none. A value that can't be read is no vacancy.
    pub fn read(key: &Key, value: &[u8]) -> Result<Self, StoreError> {
        let damaged = |detail: &dyn std::fmt::Display| {
            let detail = format_args!("{key:?} does not hold an election: {detail}");
            StoreError::showing(StoreErrorKind::BadRecord, detail)
        };
        let text: Text = serde_json::from_slice(value).map_err(|error| damaged(&error))?;
        text.election().ok_or_else(|| damaged(&"a number is out of its bounds"))
    }

    /// The value: text in UTF-8, in one line.
    pub fn write(&self) -> Bytes {
        self.replacing(None)
    }

    /// The value that replaces the version of that name. With names, no value is swapped in twice
    /// as long as none is lost, also if a version is a digest of the value.
    pub(super) fn replacing(&self, replaced: Option<String>) -> Bytes {
        Text { replaced, ..Text::from(self) }.write()
    }

    /// The name of the version that a value has replaced, if it has one.
    pub(super) fn replaced(value: &[u8]) -> Option<String> {
        serde_json::from_slice::<Text>(value).ok()?.replaced
    }

    /// The value that an election begins with, in which nothing is known. No two are equal.
    pub(super) fn beginning(fresh: Stamp) -> Bytes {
        Text { begun: Some(Bits(fresh.to_bits())), ..Text::from(&Self::default()) }.write()
    }
}

/// The form of this version. A field that another version adds is refused, and so is the lack of
/// one.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    format: Format,
    #[serde(deserialize_with = "Option::deserialize")]
    past: Option<PastText>,
    #[serde(deserialize_with = "Option::deserialize")]
    tenant: Option<TenantText>,
    /// A random number, until there is a past or a tenant. It means nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    begun: Option<Bits>,
    /// The name of the version that this value has replaced, if the backend names versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced: Option<String>,
}

#[derive(Serialize, Deserialize)]
enum Format {
    #[serde(rename = "tenure1")]
    One,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PastText {
    identity: Bits,
    stamp: Bits,
    watched_ns: u64,
    longest_ns: u64,
    #[serde(deserialize_with = "Option::deserialize")]
    purged: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TenantText {
    name: String,
    metadata: Metadata,
    version: u64,
    token: u64,
    holder: Bits,
    number: u64,
    written_ns: u64,
    ttl_ns: u64,
    quarantine_ns: u64,
    released: bool,
    #[serde(deserialize_with = "Option::deserialize")]
    kept_for: Option<NameText>,
    wanted: Option<WishText>,
    asked: Option<NameText>,
}

/// A name, and for how long it is waited for.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NameText {
    name: Bits,
    time_ns: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WishText {
    Anybody,
    Name(Bits),
}

/// Text where it is text, for people.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Metadata {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Election> for Text {
    fn from(election: &Election) -> Self {
        let past = |past: Past| PastText {
            identity: Bits(past.identity),
            stamp: Bits(past.stamp.to_bits()),
            watched_ns: nanos(past.watched),
            longest_ns: nanos(past.longest),
            purged: past.purged.map(Token::get),
        };
        let tenant = election.tenant.as_ref().map(TenantText::from);
        let past = election.past.map(past);
        Self { format: Format::One, past, tenant, begun: None, replaced: None }
    }
}

impl From<&Tenant> for TenantText {
    fn from(Tenant { record, profile, version }: &Tenant) -> Self {
        let bits = |name: NameId| Bits(name.to_bits());
        let named = |name, time| NameText { name: bits(name), time_ns: nanos(time) };
        let metadata = match str::from_utf8(profile.metadata()) {
            Ok(text) => Metadata::Text(text.to_owned()),
            Err(_) => Metadata::Bytes(profile.metadata().to_vec()),
        };
        Self {
            name: profile.name().to_owned(),
            metadata,
            version: *version,
            token: record.token.get(),
            holder: Bits(record.holder.to_bits()),
            number: record.number.get(),
            written_ns: record.written.as_nanos(),
            ttl_ns: nanos(record.ttl),
            quarantine_ns: nanos(record.quarantine),
            released: record.released,
            kept_for: record.reservation.map(|kept| named(kept.name, kept.reserve)),
            wanted: record.wanted.map(|wish| match wish {
                Wish::Anybody => WishText::Anybody,
                Wish::Name(name) => WishText::Name(bits(name)),
            }),
            asked: record.asked.map(|asked| named(asked.name, asked.defer)),
        }
    }
}

impl Text {
    fn write(&self) -> Bytes {
        serde_json::to_vec(self).expect("numbers and texts have a form in JSON").into()
    }

    /// `None` if a number or a text is out of its bounds.
    fn election(self) -> Option<Election> {
        let past = match self.past {
            Some(past) => Some(past.past()?),
            None => None,
        };
        let tenant = match self.tenant {
            Some(tenant) => Some(tenant.tenant()?),
            None => None,
        };
        Some(Election { tenant, past })
    }
}

impl PastText {
    /// The same.
    fn past(self) -> Option<Past> {
        let purged = match self.purged {
            Some(token) => Some(Token::new(token)?),
            None => None,
        };
        Some(Past {
            identity: self.identity.0,
            stamp: Stamp::from_bits(self.stamp.0),
            watched: Duration::from_nanos(self.watched_ns),
            longest: Duration::from_nanos(self.longest_ns),
            purged,
        })
    }
}

impl TenantText {
    /// The same.
    fn tenant(self) -> Option<Tenant> {
        let metadata = match self.metadata {
            Metadata::Text(text) => text.into_bytes(),
            Metadata::Bytes(bytes) => bytes,
        };
        let time = Duration::from_nanos;
        let record = Record {
            token: Token::new(self.token)?,
            holder: HolderId::from_bits(self.holder.0),
            number: RequestId::new(self.number)?,
            released: self.released,
            reservation: self
                .kept_for
                .map(|kept| Reservation { name: kept.name.into(), reserve: time(kept.time_ns) }),
            ttl: time(self.ttl_ns),
            quarantine: time(self.quarantine_ns),
            wanted: self.wanted.map(|wish| match wish {
                WishText::Anybody => Wish::Anybody,
                WishText::Name(name) => Wish::Name(name.into()),
            }),
            asked: self
                .asked
                .map(|asked| Asked { name: asked.name.into(), defer: time(asked.time_ns) }),
            written: Instant::from_nanos(self.written_ns),
        };
        let profile = Profile::new(&self.name, metadata).ok()?;
        Some(Tenant { record, profile, version: self.version })
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// 128 bits as 32 hexadecimal digits.
#[derive(Clone, Copy)]
struct Bits(u128);

impl From<Bits> for NameId {
    fn from(bits: Bits) -> Self {
        Self::from_bits(bits.0)
    }
}

impl Serialize for Bits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Bits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = String::deserialize(deserializer)?;
        let bits = u128::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 32);
        bits.map(Self).ok_or_else(|| D::Error::custom("128 bits have 32 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        Key::new("job").unwrap()
    }

    fn tenant() -> Tenant {
        let record = Record {
            token: Token::new(u64::MAX).unwrap(),
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
        let profile = Profile::new("größer \r\n\0", &b"meta"[..]).unwrap();
        Tenant { record, profile, version: 0 }
    }

    fn past() -> Past {
        let (identity, stamp) = (u128::MAX, Stamp::from_bits(1));
        let (watched, longest) = (tenure_core::contract::FOREVER, Duration::ZERO);
        Past { identity, stamp, watched, longest, purged: None }
    }

    #[test]
    fn values_are_read_as_written() {
        let (name, second) = (NameId::from_bits(5), Duration::from_secs(1));
        let all = Record {
            released: true,
            reservation: Some(Reservation { name, reserve: second }),
            wanted: Some(Wish::Name(name)),
            asked: Some(Asked { name, defer: second }),
            ..tenant().record
        };
        let anybody = Record { wanted: Some(Wish::Anybody), ..tenant().record };
        let metadata = [&b"\xff\0\n"[..], b"", b"10.0.0.7:80"];
        for (record, metadata) in [tenant().record, all, anybody].into_iter().zip(metadata) {
            let profile = Profile::new("a", metadata).unwrap();
            let tenant = Some(Tenant { record, profile, version: u64::MAX });
            let purged = Past { purged: Some(record.token), ..past() };
            for past in [None, Some(past()), Some(purged)] {
                let election = Election { tenant: tenant.clone(), past };
                assert_eq!(Election::read(&key(), &election.write()).unwrap(), election);
            }
        }
        let nothing = Election::default();
        assert_eq!(Election::read(&key(), &nothing.write()).unwrap(), nothing);
    }

    #[test]
    fn no_two_beginnings_are_equal() {
        let values = [1, 2].map(|fresh| Election::beginning(Stamp::from_bits(fresh)));
        assert_ne!(values[0], values[1]);
        for value in values {
            assert_eq!(Election::read(&key(), &value).unwrap(), Election::default());
        }
    }

    #[test]
    fn damage_is_no_vacancy() {
        let whole = Election { tenant: Some(tenant()), past: Some(past()) }.write();
        let whole = str::from_utf8(&whole).unwrap();
        for cut in 0..whole.len() {
            assert!(Election::read(&key(), &whole.as_bytes()[..cut]).is_err(), "{cut}");
        }
        // A field that is missing is no vacancy, and no lease that is kept for nobody.
        let changes = [
            (",\"kept_for\":null", ""),
            (",\"purged\":null", ""),
            ("\"past\":{", "\"post\":{"),
            ("\"tenant\":{", "\"tenants\":{"),
            ("tenure1", "tenure2"),
            ("\"number\":3", "\"number\":0"),
            ("\"number\":3", "\"number\":-3"),
            ("\"number\":3", "\"number\":\"3\""),
            ("\"number\":3,", ""),
            ("\"number\":3", "\"number\":3,\"more\":1"),
            ("\"purged\":null", "\"purged\":0"),
            ("00000007", "0000007"),
            ("00000007", "0000000g"),
        ];
        for (from, to) in changes {
            let damaged = whole.replacen(from, to, 1);
            assert_ne!(damaged, whole, "{from}");
            let error = Election::read(&key(), damaged.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::BadRecord, "{to}: {error}");
        }
    }
}
