//! The steps of an API server, from a [watch](super::watch) on the objects in its etcd, which it
//! writes as JSON.
//!
//! The watch shows each change of the election's Lease, in the order in which they happened, and
//! neither looks nor refusals. Where a candidate had its answer sooner than the change has arrived,
//! the change is as old as that, and no change is younger than the one after it. A mark is as old
//! as the one who wrote it says, by the machine's clock: it may have arrived later, and not sooner.

use serde::Deserialize;
use tenure::store::Key;
use tenure::store::cas::Election;

use super::watch::{KeyChange, Keys};
use super::{Answers, Past, Record, Stamped, Step, Steps};
use crate::trace::Answer;

/// The namespace of the run, in which the one object is that of its election.
pub(in super::super) const NAMESPACE: &str = "elections";
const LEASES: &[u8] = b"/registry/leases/elections/";

/// The state of the watch so far.
#[derive(Debug, Default)]
pub(in super::super) struct Leases {
    steps: Vec<Step>,
    server: u32,
    record: Option<Record>,
    past: Past,
    stamped: Vec<Stamped>,
    /// The time of a loss of data at a server that runs on, by the machine's wall clock in
    /// microseconds.
    lost_at: Option<u64>,
}

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    annotations: Annotations,
}

#[derive(Deserialize)]
struct Annotations {
    #[serde(rename = "tenure.dev/election")]
    election: String,
}

impl Keys for Leases {
    /// The mark is the key of no object.
    const PREFIX: &'static [u8] = b"/registry/";
    const MARK: &'static [u8] = b"/registry/all-was-shown";
    const MARK_IN_BASE_64: &'static str = "L3JlZ2lzdHJ5L2FsbC13YXMtc2hvd24=";

    fn shown(&mut self, at: u64, change: &KeyChange) -> Result<(), String> {
        if !change.key.starts_with(LEASES) {
            return Ok(());
        }
        let Some(value) = &change.value else {
            self.lost_at = self.knows_anything().then_some(at);
            self.are_lost();
            return Ok(());
        };
        let read = || -> Result<Election, Box<dyn std::error::Error>> {
            let object: Object = serde_json::from_slice(value)?;
            Ok(Election::read(&Key::new("job")?, object.metadata.annotations.election.as_bytes())?)
        };
        let wrong =
            |error| format!("{} holds no election: {error}", String::from_utf8_lossy(value));
        self.is(at, &read().map_err(wrong)?);
        Ok(())
    }

    fn are_lost(&mut self) -> bool {
        self.server += 1;
        self.past = Past::default();
        self.record.take().is_some()
    }

    fn has_a_record(&self) -> bool {
        self.record.is_some()
    }

    fn steps(&mut self, answers: &Answers) -> Steps {
        let mut all = std::mem::take(&mut self.steps);
        let mut latest = u64::MAX;
        for step in all.iter_mut().rev() {
            let answered =
                step.after.and_then(|Record { token, marked_at, .. }| match step.answer {
                    Answer::Granted { .. } => answers.granted(token),
                    Answer::Renewed { .. } => answers.renewed(token, marked_at),
                    _ => answers.released(token),
                });
            latest = step.at.min(answered.unwrap_or(u64::MAX)).min(latest);
            step.at = latest;
        }
        for step in &mut all {
            answers.complete(step);
        }
        let stamped = answers.told(std::mem::take(&mut self.stamped));
        Steps { all, stamped, has_gaps: true }
    }
}

impl Leases {
    /// The object holds that election.
    fn is(&mut self, at: u64, election: &Election) {
        if let Some(past) = election.past {
            let after = Past {
                identity: Some(past.identity.to_string()),
                stamp: Some(format!("{:?}", past.stamp)),
                stamped_at: 0,
                watched: micros(past.watched.as_nanos()),
                longest: micros(past.longest.as_nanos()),
            };
            self.stamped.extend(self.past.becomes(at, after, self.server));
        }
        let Some(tenant) = &election.tenant else { return };
        let kept = tenant.record;
        let after = Record {
            token: kept.token.get(),
            holder: kept.holder.to_bits(),
            number: kept.number.get(),
            ttl: micros(kept.ttl.as_nanos()),
            quarantine: micros(kept.quarantine.as_nanos()),
            released: kept.released,
            reserved_for: kept.reservation.map_or(0, |kept| kept.name.to_bits()),
            marked_at: kept.written.as_nanos() / 1_000,
            ends_at: None,
        };
        let before = self.record.replace(after);
        let Some((request, answer)) = Record::changed(before, after, &self.past) else { return };
        let (holder, server, after) = (after.holder, self.server, Some(after));
        self.steps.push(Step { at, holder, request, answer, before, after, server });
    }

    /// True if there is a record or a past.
    pub(in super::super) fn knows_anything(&self) -> bool {
        self.record.is_some() || self.past.stamp.is_some()
    }

    /// Takes the time of a loss at a server that runs on, since the last call.
    pub(in super::super) fn takes_loss(&mut self) -> Option<u64> {
        self.lost_at.take()
    }
}

fn micros(nanos: u128) -> u64 {
    u64::try_from(nanos / 1_000).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenure::store::Profile;
    use tenure::store::cas::Tenant;
    use tenure::store::contract::RequestId;
    use tenure::store::contract::{Past as KeptPast, Record as Kept};
    use tenure::{HolderId, Instant, Token};

    use super::super::watch::State;
    use super::super::{Grant, Release};
    use super::*;
    use crate::trace::Asked;

    const NAME: &str = "/registry/leases/elections/job";

    fn held(token: u64, number: u64, written: u64, released: bool) -> Election {
        let ttl = std::time::Duration::from_secs(5);
        let record = Kept {
            token: Token::new(token).unwrap(),
            holder: HolderId::from_bits(0xab),
            number: RequestId::new(number).unwrap(),
            released,
            reservation: None,
            ttl,
            quarantine: ttl,
            wanted: None,
            asked: None,
            written: Instant::from_nanos(written * 1_000),
        };
        let profile = Profile::new("node-0", "").unwrap();
        let stamp = tenure::store::contract::Stamp::from_bits(1);
        let watched = std::time::Duration::ZERO;
        let past = KeptPast { identity: 1, stamp, watched, longest: ttl, purged: None };
        Election { tenant: Some(Tenant { record, profile, version: 0 }), past: Some(past) }
    }

    fn put(revision: i64, election: &Election) -> KeyChange {
        let text = String::from_utf8(election.write().to_vec()).unwrap();
        let object = json!({ "metadata": { "annotations": { "tenure.dev/election": text } } });
        let value = Some(object.to_string().into_bytes());
        KeyChange { revision, key: NAME.into(), value }
    }

    fn shown(changes: &[(u64, KeyChange)]) -> State<Leases> {
        let mut state = State::default();
        for (at, change) in changes {
            state.shows(*at, std::slice::from_ref(change));
        }
        assert_eq!(state.failed, None);
        state
    }

    /// A grant, a renewal and a release, all of which arrive late.
    #[test]
    fn steps_are_as_old_as_their_answers() {
        let changes = [
            (2_000, put(5, &held(7, 1, 1_000, false))),
            (5_000, put(6, &held(7, 2, 4_000, false))),
            (8_000, put(7, &held(7, 2, 4_000, true))),
        ];
        let mut answers = Answers::default();
        let request = Asked::Acquire { seen: 0, watched: None };
        answers.was_granted(7, Grant { at: 1_500, sent_at: 900, request });
        // The first renewal was not carried out, or not answered.
        answers.renewed.extend([((7, 3_000), 3_500), ((7, 3_900), 4_500)]);
        answers.told.insert(1_700);
        answers.releases.insert(7, Release { sent_at: 7_000, answered_at: Some(7_500) });
        let Steps { all, stamped, .. } = shown(&changes).keys.steps(&answers);
        let seen: Vec<_> = all.iter().map(|step| (step.at, step.request)).collect();
        let (renew, release) = (Asked::Renew { token: 7 }, Asked::Release { token: 7 });
        assert_eq!(seen, [(1_500, request), (4_500, renew), (7_500, release)]);
        let marks: Vec<_> =
            all.iter().filter_map(|step| step.after).map(|after| after.marked_at).collect();
        assert_eq!(marks, [1_000, 4_000, 4_000]);
        assert_eq!(stamped, [Stamped { at: 1_700, server: 0, knew_more: false }]);
    }

    #[test]
    fn a_lease_that_is_deleted_is_lost() {
        let gone = KeyChange { revision: 6, key: NAME.into(), value: None };
        let again = put(7, &held(9, 1, 3, false));
        let mut state = shown(&[(10, put(5, &held(7, 1, 1, false))), (20, gone), (30, again)]);
        assert_eq!((state.keys.takes_loss(), state.keys.takes_loss()), (Some(20), None));
        let all = state.keys.steps(&Answers::default()).all;
        let seen: Vec<_> = all.iter().map(|step| (step.server, step.before)).collect();
        assert_eq!(seen, [(0, None), (1, None)]);
    }

    #[test]
    fn other_objects_are_no_elections() {
        let other =
            |key: &str| KeyChange { revision: 5, key: key.into(), value: Some(b"{}".to_vec()) };
        let mut state = State::<Leases>::default();
        state.shows(
            1,
            &[other("/registry/leases/elsewhere/job"), other("/registry/roles/elections/job")],
        );
        assert_eq!(state.failed, None);
        state.shows(2, &[KeyChange { revision: 6, ..other(NAME) }]);
        assert!(state.failed.is_some());
    }
}
