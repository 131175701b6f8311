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
/// The annotation that has the holder, the time of the renewal and the transitions, as this kind of
/// candidates wrote them last.
pub(super) const WROTE: &str = "tenure.dev/wrote";

/// No settings contradict what another kind has given back.
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

/// One reading of an object.
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

    /// The annotation [`WROTE`] of a write of that content.
    pub(super) fn wrote(spec: &Map<String, Value>) -> String {
        format!("{} {}", written(spec), transitions(spec))
    }

    /// The text that this kind of candidates wrote last, and its transitions, which earlier
    /// versions left out. No holder of this kind ends with a number as a word of its own.
    fn last_wrote(&self) -> Option<(&str, Option<u64>)> {
        let text = self.metadata.annotations.get(WROTE)?.as_str();
        let with_transitions = text.rsplit_once(' ').and_then(|(written, transitions)| {
            Some((written, Some(transitions.parse::<u64>().ok()?)))
        });
        Some(with_transitions.unwrap_or((text, None)))
    }

    fn is_as_we_wrote_it(&self) -> bool {
        self.last_wrote().is_some_and(|(last, _)| last == written(&self.spec))
    }

    /// True if a candidate of another kind has taken the lease over since this kind wrote last: it
    /// raises the transitions then. Its release leaves them as they are.
    fn was_taken_over(&self) -> bool {
        let wrote = self.last_wrote().and_then(|(_, transitions)| transitions);
        wrote.is_some_and(|wrote| transitions(&self.spec) > wrote)
    }

    /// The tenure of a candidate of another kind: its mark is all that the object says, so that any
    /// change is a renewal. Its token is above all that were granted, and none that is granted
    /// later is equal to it.
    fn other(&self, before: &Election) -> Result<Option<Tenant>, StoreError> {
        let own = before.tenant.as_ref().map(|tenant| tenant.record);
        let purged = before.past.and_then(|past| past.purged);
        let last = own.map_or(purged, |own| Some(own.token));
        let holder = self.text("holderIdentity");
        let is_empty = holder.is_empty();
        if is_empty && last.is_none() {
            return Ok(None);
        }
        // client-go's release reads the object anew, and may so clear the holder of a tenure of
        // ours that began meanwhile. Its leader leads until its next renewal.
        let cleared = own.filter(|own| is_empty && !own.released && !self.was_taken_over());
        let released = is_empty && cleared.is_none();
        let (ttl, quarantine) = match cleared {
            Some(own) => (own.ttl, own.quarantine),
            None if released => (Duration::ZERO, AGREES_WITH_ALL),
            None => {
                // Where it contradicts ours, the lease is watched for the longer of both: for no
                // longer than it lasts.
                let ttl = self.duration()?;
                (ttl, ttl)
            }
        };
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

    /// The duration of the lease that the object states.
    fn duration(&self) -> Result<Duration, StoreError> {
        let seconds = self.spec.get("leaseDurationSeconds").and_then(Value::as_u64);
        seconds.map(Duration::from_secs).ok_or_else(|| {
            let name = &self.metadata.name;
            let detail =
                format!("the Lease {name:?} has a holder, and no spec.leaseDurationSeconds");
            StoreError::new(StoreErrorKind::BadRecord, detail)
        })
    }
}

/// The holder and the time of the renewal, which every candidate of another kind changes with each
/// of its writes.
fn written(spec: &Map<String, Value>) -> String {
    let text = |field| spec.get(field).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}", text("renewTime"), text("holderIdentity"))
}

/// The lease's transitions among candidates of whatever kind.
pub(super) fn transitions(spec: &Map<String, Value>) -> u64 {
    spec.get("leaseTransitions").and_then(Value::as_u64).unwrap_or(0)
}

/// The part of an identity that a name may have.
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
pub(super) mod tests {
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
        let mut ours = read("theirs", &BTreeMap::new()).other.unwrap();
        ours.record.released = true;
        let ours = Election { tenant: Some(ours), past: None }.write();
        let ours = String::from_utf8(ours.to_vec()).unwrap();
        let free = record(read("", &BTreeMap::from([(ELECTION, ours)])));
        for seconds in [5, 15, 60] {
            let own = Duration::from_secs(seconds);
            assert_eq!(held.demands(name, own, own), Duration::from_secs(15), "{seconds} s");
            assert_eq!(free.demands(name, own, own), Duration::ZERO, "{seconds} s");
            assert!(free.released && free.agrees(own, own) && free.token > held.token);
        }
    }

    /// The seventh tenure of ours.
    pub(in super::super) fn tenant(released: bool) -> Tenant {
        let record = Record {
            token: Token::new(7).unwrap(),
            holder: HolderId::from_bits(1),
            number: RequestId::FIRST,
            released,
            reservation: None,
            ttl: Duration::from_secs(30),
            quarantine: Duration::from_secs(60),
            wanted: None,
            asked: None,
            written: Instant::ORIGIN,
        };
        Tenant { record, profile: profile("ours").unwrap(), version: 0 }
    }

    /// A tenure, as a candidate of another kind has left its object.
    fn left(released: bool, wrote: &str, spec: &Value) -> Found {
        let key = Key::new("job").unwrap();
        let election = Election { tenant: Some(tenant(released)), past: None }.write();
        let election = String::from_utf8(election.to_vec()).unwrap();
        let lease = json!({
            "metadata": {
                "name": "job", "uid": "1", "resourceVersion": "1",
                "annotations": { ELECTION: election, WROTE: wrote },
            },
            "spec": spec,
        });
        Found::read(&key, serde_json::from_value(lease).unwrap()).unwrap().0
    }

    fn spec(holder: &str, second: u64, transitions: u64) -> Value {
        json!({
            "holderIdentity": holder, "leaseDurationSeconds": 1, "leaseTransitions": transitions,
            "renewTime": format!("2026-01-01T00:00:{second:02}.000000Z"),
        })
    }

    #[test]
    fn a_cleared_holder_is_no_release() {
        let ours = spec("our name_0000000a", 0, 5);
        let wrote = Lease::wrote(ours.as_object().unwrap());
        let without_transitions = wrote.strip_suffix(" 5").unwrap();
        let record = |found: Found| found.other.unwrap().record;
        for wrote in [wrote.as_str(), without_transitions] {
            assert_eq!(left(false, wrote, &ours).other, None);
            // client-go copies the transitions of its last tenure, or of what it reads.
            for copied in [0, 4, 5] {
                let cleared = record(left(false, wrote, &spec("", 1, copied)));
                let demands = (cleared.released, cleared.ttl, cleared.quarantine);
                assert_eq!(demands, (false, Duration::from_secs(30), Duration::from_secs(60)));
                assert!(cleared.token.get() > 7, "{cleared:?}");
                let again = record(left(false, wrote, &spec("", 2, copied)));
                assert_ne!(cleared.mark(), again.mark());
            }
            // After a tenure that was given back, the lease is free.
            assert!(record(left(true, wrote, &spec("", 1, 5))).released);
        }
        assert!(!record(left(false, without_transitions, &spec("", 1, 6))).released);
    }

    #[test]
    fn a_tenure_of_theirs_ends_with_its_release() {
        let wrote = Lease::wrote(spec("ours_0000000a", 0, 5).as_object().unwrap());
        let held = left(false, &wrote, &spec("theirs", 1, 6)).other.unwrap().record;
        let free = left(false, &wrote, &spec("", 2, 6)).other.unwrap().record;
        assert!(!held.released && free.released);
        assert_eq!((held.ttl, free.ttl), (Duration::from_secs(1), Duration::ZERO));
    }

    #[test]
    fn identities_are_cut_between_characters() {
        for (identity, name) in [("a", "a"), ("", "-"), (&"ä".repeat(90), &*"ä".repeat(64))] {
            assert_eq!(profile(identity).unwrap().name(), name);
        }
    }
}
