//! The writes: a new object, and changes of one that test what was read.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::lease::{ELECTION, Found, KEY, Lease, WROTE, second_of, transitions};
use crate::store::cas::{Election, Tenant};
use crate::store::{Key, StoreError, StoreErrorKind};

/// The label by which a process watches its elections, and lists them.
pub(super) const LABEL: (&str, &str) = ("tenure.dev/managed", "true");
/// A label of new objects, for people. In an object that is adopted, this label may be another
/// tool's.
const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "tenure");

/// A write, and what it makes of the object.
pub(super) struct Write {
    pub(super) body: Value,
    annotations: Vec<(&'static str, String)>,
    spec: Map<String, Value>,
}

impl Write {
    /// An error unless the object has what was sent: admission webhooks and policies may drop or
    /// change any of it, and the server tells of success.
    pub(super) fn is_in(&self, lease: &Lease) -> Result<(), StoreError> {
        let Lease { metadata, spec } = lease;
        let (mut annotations, mut fields) = (self.annotations.iter(), self.spec.iter());
        let annotation = annotations
            .find(|(name, text)| metadata.annotations.get(*name) != Some(text))
            .map(|(name, _)| format!("the annotation {name}"));
        let field = fields
            .find(|(field, value)| spec.get(*field) != Some(*value))
            .map(|(field, _)| format!("spec.{field}"));
        let Some(what) = annotation.or(field) else { return Ok(()) };
        let (name, (label, yes)) = (&metadata.name, LABEL);
        let detail = format!(
            "{what} of the Lease {name:?} was not stored as it was sent: an admission webhook or policy may have \
             changed it, so exempt Leases with the label {label}={yes}"
        );
        Err(StoreError::new(StoreErrorKind::Unsupported, detail))
    }
}

/// The selector of these objects in a listing or a stream.
pub(super) fn selector() -> String {
    format!("labelSelector={}%3D{}", LABEL.0.replace('/', "%2F"), LABEL.1)
}

/// A new object, of an election of which nothing is known.
pub(super) fn created(name: &str, key: &Key, value: &str) -> Write {
    let ((label, yes), (managed_by, tenure)) = (LABEL, MANAGED_BY);
    let body = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": name,
            "labels": { label: yes, managed_by: tenure },
            "annotations": { KEY: key.as_str(), ELECTION: value },
        },
        "spec": {},
    });
    let annotations = vec![(KEY, key.as_str().to_owned()), (ELECTION, value.to_owned())];
    Write { body, annotations, spec: Map::new() }
}

/// A JSON Patch (RFC 6902) from what was found to that election.
///
/// It tests the whole content, not only a version: the versions of a restored backup are used
/// again.
pub(super) fn changed(found: &Found, key: &Key, election: &Election, is_shared: bool) -> Write {
    let Found { lease, own, other } = found;
    // The tenure of another kind of candidate is not ours to write down.
    let is_others = election.tenant.is_some() && election.tenant == *other;
    let tenant = if is_others { own } else { &election.tenant };
    let text = Election { tenant: tenant.clone(), past: election.past }.write();
    let text = String::from_utf8_lossy(&text);
    let spec =
        tenant.as_ref().filter(|_| !is_others).and_then(|tenant| spec(found, tenant, is_shared));
    let mut operations = vec![test("/metadata/uid", &lease.metadata.uid)];
    let mut annotations = vec![(ELECTION, text.into_owned())];
    if let Some(spec) = &spec {
        annotations.push((WROTE, Lease::wrote(spec)));
    }
    let (before, labels) = (lease.metadata.annotations.get(ELECTION), &lease.metadata.labels);
    let has_label = labels.get(LABEL.0).is_some_and(|value| value == LABEL.1);
    if before.is_none() || !has_label {
        // Whatever stands there now is kept, so nothing else may have been written meanwhile.
        operations.push(test("/metadata/resourceVersion", &lease.metadata.resource_version));
    }
    if let Some(before) = before {
        operations.push(test(&path(ELECTION), before));
        let add =
            |(name, text): &(&str, String)| json!({"op": "add", "path": path(name), "value": text});
        operations.extend(annotations.iter().map(add));
    } else {
        annotations.push((KEY, key.as_str().to_owned()));
        let mut all = lease.metadata.annotations.clone();
        all.extend(annotations.iter().map(|(name, text)| ((*name).to_owned(), text.clone())));
        operations.push(json!({"op": "add", "path": "/metadata/annotations", "value": all}));
    }
    if !has_label {
        let mut labels = labels.clone();
        labels.insert(LABEL.0.to_owned(), LABEL.1.to_owned());
        operations.push(json!({"op": "add", "path": "/metadata/labels", "value": labels}));
    }
    operations.push(json!({"op": "test", "path": "/spec", "value": lease.spec}));
    if let Some(spec) = &spec {
        operations.push(json!({"op": "replace", "path": "/spec", "value": spec}));
    }
    Write { body: Value::Array(operations), annotations, spec: spec.unwrap_or_default() }
}

fn test(path: &str, value: &str) -> Value {
    json!({"op": "test", "path": path, "value": value})
}

fn path(annotation: &str) -> String {
    format!("/metadata/annotations/{}", annotation.replace('/', "~1"))
}

/// The spec for people and other kinds of candidates, if it changes with that tenure.
fn spec(found: &Found, tenant: &Tenant, is_shared: bool) -> Option<Map<String, Value>> {
    let before = found.own.as_ref().filter(|_| found.other.is_none()).map(|tenant| tenant.record);
    let record = tenant.record;
    let shown = |of: tenure_core::contract::Record| (of.token, of.number, of.released);
    if before.is_some_and(|before| shown(before) == shown(record)) {
        return None;
    }
    let mut spec = found.lease.spec.clone();
    let last = is_shared.then(|| found.lease.text("renewTime"));
    let time = renewed(last.and_then(second_of));
    let holder = if record.released {
        String::new()
    } else {
        format!("{}_{:08x}", tenant.profile.name(), record.holder.to_bits() >> 96)
    };
    let seconds = if record.released { 1 } else { record.ttl.as_nanos().div_ceil(1_000_000_000) };
    if before.is_none_or(|before| before.token != record.token) {
        let next = transitions(&spec).saturating_add(1);
        spec.insert("acquireTime".to_owned(), json!(time));
        spec.insert("leaseTransitions".to_owned(), json!(next));
    }
    spec.insert("holderIdentity".to_owned(), json!(holder));
    spec.insert(
        "leaseDurationSeconds".to_owned(),
        json!(u32::try_from(seconds).unwrap_or(u32::MAX)),
    );
    spec.insert("renewTime".to_owned(), json!(time));
    Some(spec)
}

/// The time of a renewal: now, or the next second after the last one that others may have seen.
/// client-go compares whole seconds, and would take two renewals of one second for one.
fn renewed(last: Option<u64>) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let after = last.map_or(0, |last| last + 1);
    let second = i64::try_from(now.max(after)).ok();
    let time = second.and_then(|second| Timestamp::from_second(second).ok());
    time.unwrap_or(Timestamp::UNIX_EPOCH).strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string()
}
