//! **Theorem (G5).** No delayed, duplicated or reordered request of one tenure grants, extends,
//! shortens, ends or changes another. Each step of the store is one that the store contract
//! (section 4 of the design) allows:
//!
//! - a new token comes from an acquire alone, by its holder, if the lease was vacant and the holder
//!   knew the last tenure, or if the holder says that it has watched exactly the lease's mark; it
//!   is above every token that either of them knew;
//! - a lease is extended by its own holder only, and is handed back only by its own holder and
//!   token;
//! - a lease that was handed back is never made live again under the same token;
//! - every refusal is right, and changes nothing; and nothing changes between steps, except if the
//!   store loses its data.
//!
//! Rests on nothing that a plan can break: it is always judged. Each server is judged separately.
//! The record of a server that replaces another one is not known until its first step, unless it
//! has all acknowledged data.

use super::{About, Found, Property, PropertyName, State, Tally};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::SimTime;
use crate::trace::{Answer, Asked, Event, Kept, StoreStep};

/// A request changes only its own lease.
#[derive(Debug, Default)]
pub(super) struct OwnLeaseOnly {
    /// The record that each server should still have. With an old primary, two servers take turns.
    records: Recent<u32, Record>,
    /// The number of the server that has replaced all others.
    newest: u32,
    /// The record that the next server begins with, if nothing is lost.
    handed_on: Record,
}

/// The record that a server should still have, as its last step left it.
#[derive(Clone, Copy, Debug, Default)]
enum Record {
    #[default]
    Unknown,
    Left(Option<Kept>),
}

impl Property for OwnLeaseOnly {
    fn about(&self) -> About {
        About::of(PropertyName::OWN_LEASE_ONLY)
    }

    fn observe(&mut self, _: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        match event {
            Event::Store(step) => {
                tally.count(true);
                self.untouched(step).and_then(|()| allowed(step)).map_err(|rule| {
                    Finding::StepNotAllowed { rule, step: Box::new(step.clone()) }
                })?;
                self.left(step);
            }
            Event::StoreCrashed { keeps_data } => {
                self.newest += 1;
                if !keeps_data {
                    self.handed_on = Record::Unknown;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The rule that a step has broken.
pub(crate) type Broken = &'static str;

impl OwnLeaseOnly {
    fn untouched(&self, step: &StoreStep) -> Result<(), Broken> {
        let record = match self.records.get(step.server) {
            Some(record) => *record,
            None if step.server == self.newest => self.handed_on,
            // An old primary without earlier steps.
            None => Record::Unknown,
        };
        match record {
            Record::Unknown => Ok(()),
            Record::Left(left) => {
                ensure(same(left, step.before), "the record changed between steps")
            }
        }
    }

    fn left(&mut self, step: &StoreStep) {
        let record = Record::Left(step.after);
        self.records.insert(step.server, record);
        if step.server == self.newest {
            self.handed_on = record;
        }
    }
}

/// Compares without the end in true time, which the engine works out.
fn same(one: Option<Kept>, other: Option<Kept>) -> bool {
    let timeless = |kept: Kept| Kept { lease_ends: SimTime::START, ..kept };
    one.map(timeless) == other.map(timeless)
}

/// The table of section 4, row by row.
pub(crate) fn allowed(step: &StoreStep) -> Result<(), Broken> {
    let own = step.before.filter(|lease| !lease.released && lease.mark.holder == step.holder);
    let own_tenure = |token| own.filter(|lease| lease.token == token);
    let last = step.before.map_or(0, |record| record.token);
    match (step.request, step.answer) {
        (Asked::Acquire { .. }, Answer::Granted { token }) if own.is_some() => {
            let same = own_tenure(token).is_some_and(|lease| extends(lease, step.after));
            ensure(same, "a repeated grant keeps its token, and extends its lease at most")
        }
        (Asked::Acquire { seen, watched }, Answer::Granted { token }) => {
            let vacant = step.before.is_none_or(|record| record.released && seen >= last);
            let taken = step.before.is_some_and(|record| watched == Some(record.mark));
            ensure(vacant || taken, "granted a lease that is neither vacant nor watched")?;
            ensure(token > last.max(seen), "granted a token that is not above all known ones")?;
            ensure(begins(step.holder, token, step.after), "the record differs from the grant")
        }
        (Asked::Acquire { seen, .. }, Answer::Not { past_is_watched }) => {
            let must_wait = !past_is_watched || seen > last;
            ensure(own.is_none() || must_wait, "refused its own lease")?;
            unchanged(step)
        }
        (Asked::Renew { token }, Answer::Renewed { .. }) => {
            let extended = own_tenure(token).is_some_and(|lease| extends(lease, step.after));
            ensure(extended, "a renewal extends its own lease only")
        }
        (Asked::Renew { token }, Answer::Superseded) => {
            ensure(own_tenure(token).is_none(), "superseded, but it holds the lease")?;
            unchanged(step)
        }
        (Asked::Release { token }, Answer::Released) => {
            let back = own_tenure(token).map(|lease| Kept { released: true, ..lease });
            ensure(
                back.is_some() && same(back, step.after),
                "a release hands back its own lease only",
            )
        }
        (Asked::Release { token }, Answer::NotHeld) => {
            ensure(own_tenure(token).is_none(), "refused as not held, but it holds the lease")?;
            unchanged(step)
        }
        (Asked::Look { .. }, Answer::At { .. }) | (_, Answer::Other) => unchanged(step),
        (
            Asked::Acquire { .. }
            | Asked::Look { .. }
            | Asked::Renew { .. }
            | Asked::Release { .. },
            _,
        ) => Err("an answer to another kind of request"),
    }
}

/// The same tenure, its mark not that of an earlier request.
fn extends(lease: Kept, after: Option<Kept>) -> bool {
    after.is_some_and(|after| {
        let (mark, lease_ends) = (after.mark, after.lease_ends);
        mark.number >= lease.mark.number
            && mark.holder == lease.mark.holder
            && after == Kept { mark, lease_ends, ..lease }
    })
}

/// A new tenure's lease.
fn begins(holder: u128, token: u64, after: Option<Kept>) -> bool {
    after
        .is_some_and(|after| !after.released && after.mark.holder == holder && after.token == token)
}

fn unchanged(step: &StoreStep) -> Result<(), Broken> {
    ensure(same(step.before, step.after), "a refusal changed the record")
}

fn ensure(holds: bool, rule: Broken) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(rule) }
}

#[cfg(test)]
mod tests;
