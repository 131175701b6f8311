//! The object as the API server shows it, and the election that it holds.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};
use tenure_core::RequestId;
use tenure_core::contract::Record;

use crate::store::cas::{Election, Tenant};
use crate::store::key::fnv;
use crate::store::{Key, Profile, StoreError, StoreErrorKind};
use crate::{HolderId, Instant, Token};

/// The annotation that has the [`Election`].
pub(super) const ELECTION: &str = "tenure.dev/election";
/// The annotation that has the key, whatever the object's name is.
pub(super) const KEY: &str = "tenure.dev/key";
/// The annotation that has the holder and the time of the renewal, as this kind of candidates wrote
/// them last.
pub(super) const WROTE: &str = "tenure.dev/wrote";

/// What another kind has given back contradicts no settings.
const AGREES_WITH_ALL: Duration = Duration::from_secs(366 * 24 * 3_600);

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Lease {
    pub(super) metadata: Metadata,
    #[serde(default)]
    pub(super) spec: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) resource_version: String,
    #[serde(default)]
    pub(super) annotations: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
}

/// What one reading of an object says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) lease: Lease,
    /// The last tenure of this kind of candidates, as the annotation has it.
    pub(super) own: Option<Tenant>,
    /// The tenure of another kind of candidate, if it has written later.
    pub(super) other: Option<Tenant>,
}

impl Found {
    /// Reads an object, and the value that decisions rest on.
    pub(super) fn read(key: &Key, lease: Lease) -> Result<(Self, Bytes), StoreError> {
        let refused = |detail: String| Err(StoreError::new(StoreErrorKind::BadRecord, detail));
        let name = &lease.metadata.name;
        if let Some(other) =
            lease.metadata.annotations.get(KEY).filter(|other| *other != key.as_str())
        {
            return refused(format!(
                "the Lease {name:?} is of the election {other:?}: set another prefix, or another key"
            ));
        }
        for field in ["strategy", "preferredHolder"] {
            if lease.spec.contains_key(field) {
                return refused(format!(
                    "the Lease {name:?} has spec.{field}: another component chooses its holder, so it needs a Lease of \
                     its own"
                ));
            }
        }
        let election = match lease.metadata.annotations.get(ELECTION) {
            Some(text) => Election::read(key, text.as_bytes())?,
            None => Election::default(),
        };
        let other = if lease.is_as_we_wrote_it() { None } else { lease.other(&election)? };
        let tenant = other.clone().or_else(|| election.tenant.clone());
        let value = Election { tenant, past: election.past }.write();
        Ok((Self { lease, own: election.tenant, other }, value))
    }
}

impl Lease {
    pub(super) fn text(&self, field: &str) -> &str {
        self.spec.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// The holder and the time of the renewal, which every candidate of another kind changes with
    /// each of its writes.
    pub(super) fn written(spec: &Map<String, Value>) -> String {
        let text = |field| spec.get(field).and_then(Value::as_str).unwrap_or_default();
        format!("{} {}", text("renewTime"), text("holderIdentity"))
    }

    fn is_as_we_wrote_it(&self) -> bool {
        self.metadata
            .annotations
            .get(WROTE)
            .is_some_and(|wrote| *wrote == Self::written(&self.spec))
    }

    /// The tenure of a candidate of another kind: its mark is all that the object says, so that any
    /// change is a renewal. Its token is above all that were granted, and none that is granted
    /// later is equal to it.
    fn other(&self, before: &Election) -> Result<Option<Tenant>, StoreError> {
        let own = before.tenant.as_ref().map(|tenant| tenant.record.token);
        let last = own.or_else(|| before.past.and_then(|past| past.purged));
        let holder = self.text("holderIdentity");
        let released = holder.is_empty();
        if released && last.is_none() {
            return Ok(None);
        }
        let seconds = self.spec.get("leaseDurationSeconds").and_then(Value::as_u64);
        let ttl = match seconds {
            _ if released => Duration::ZERO,
            Some(seconds) => Duration::from_secs(seconds),
            None => {
                let detail = format!(
                    "the Lease {:?} has a holder, and no spec.leaseDurationSeconds",
                    self.metadata.name
                );
                return Err(StoreError::new(StoreErrorKind::BadRecord, detail));
            }
        };
        // Where it contradicts ours, the lease is watched for the longer of both: for no longer
        // than it lasts.
        let quarantine = if released { AGREES_WITH_ALL } else { ttl };
        let whole = Value::Object(self.spec.clone()).to_string();
        let record = Record {
            token: last.map_or(Token::FIRST, Token::next),
            holder: HolderId::from_bits(fnv(whole.as_bytes())),
            number: RequestId::FIRST,
            released,
            reservation: None,
            ttl,
            quarantine,
            wanted: None,
            asked: None,
            written: second_of(self.text("renewTime"))
                .map_or(Instant::ORIGIN, |second| Instant::ORIGIN + Duration::from_secs(second)),
        };
        let profile = profile(holder)?;
        Ok(Some(Tenant { record, profile, version: 0 }))
    }
}

/// As much of an identity as a name may have.
fn profile(identity: &str) -> Result<Profile, StoreError> {
    let end = (0..=identity.len().min(Profile::NAME_MOST)).rev();
    let end = end.into_iter().find(|end| identity.is_char_boundary(*end)).unwrap_or(0);
    let name = if end == 0 { "-" } else { &identity[..end] };
    Profile::new(name, "").map_err(|error| StoreError::showing(StoreErrorKind::BadRecord, error))
}

/// The second since 1970 of a time in the object.
pub(super) fn second_of(text: &str) -> Option<u64> {
    text.parse::<Timestamp>().ok().and_then(|time| u64::try_from(time.as_second()).ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// API servers of later versions have these fields.
    #[test]
    fn a_lease_whose_holder_is_chosen_is_refused() {
        let key = Key::new("job").unwrap();
        let lease = |spec: Value| {
            let metadata = json!({ "name": "job", "uid": "1", "resourceVersion": "1" });
            serde_json::from_value::<Lease>(json!({ "metadata": metadata, "spec": spec })).unwrap()
        };
        assert!(Found::read(&key, lease(json!({}))).is_ok());
        for field in ["strategy", "preferredHolder"] {
            let error = Found::read(&key, lease(json!({ field: "a" }))).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::BadRecord);
            assert!(error.to_string().contains(field), "{error}");
        }
    }

    /// Whatever the settings are, also those of a shorter quarantine than their lease.
    #[test]
    fn the_lease_of_another_kind_is_watched_for_as_long_as_it_lasts() {
        let key = Key::new("job").unwrap();
        let read = |holder: &str, annotations: &BTreeMap<&str, String>| {
            let lease = json!({
                "metadata": { "name": "job", "uid": "1", "resourceVersion": "1", "annotations": annotations },
                "spec": { "holderIdentity": holder, "leaseDurationSeconds": 15 },
            });
            Found::read(&key, serde_json::from_value(lease).unwrap()).unwrap().0
        };
        let record = |found: Found| found.other.unwrap().record;
        let name = tenure_core::NameId::from_bits(1);
        let held = record(read("theirs", &BTreeMap::new()));
        let ours = Election { tenant: read("theirs", &BTreeMap::new()).other, past: None }.write();
        let ours = String::from_utf8(ours.to_vec()).unwrap();
        let free = record(read("", &BTreeMap::from([(ELECTION, ours)])));
        for seconds in [5, 15, 60] {
            let own = Duration::from_secs(seconds);
            assert_eq!(held.demands(name, own, own), Duration::from_secs(15), "{seconds} s");
            assert_eq!(free.demands(name, own, own), Duration::ZERO, "{seconds} s");
            assert!(free.released && free.agrees(own, own) && free.token > held.token);
        }
    }

    #[test]
    fn identities_are_cut_between_characters() {
        for (identity, name) in [("a", "a"), ("", "-"), (&"ä".repeat(90), &*"ä".repeat(64))] {
            assert_eq!(profile(identity).unwrap().name(), name);
        }
    }
}
