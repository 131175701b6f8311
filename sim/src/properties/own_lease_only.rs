//! **Theorem (G5).** No delayed, duplicated or reordered request of one tenure grants, extends,
//! shortens, ends or changes another. Each step of the store is one that the store contract (section 4
//! of the design) allows:
//!
//! - a new token comes from an acquire alone, by its holder, if the lease was vacant and the holder
//!   knew the last tenure; it is above every token that either of them knew;
//! - a live lease is extended by its own holder only, never moves back, and is handed back only by its
//!   own holder and token;
//! - a lease that has ended or was handed back is never made live again under the same token;
//! - every refusal is right, and changes nothing; and nothing changes between steps, except if the
//!   store loses its data.
//!
//! Rests on nothing that a plan can break: it is always judged.

use super::Property;
use crate::clock::True;
use crate::trace::{Answer, Asked, Event, Kept, StoreStep};

/// Requests change their own lease alone.
#[derive(Debug, Default)]
pub(super) struct OwnLeaseOnly {
    record: Record,
}

/// What the store should still have, as it was left.
#[derive(Debug, Default)]
enum Record {
    #[default]
    Unknown,
    Left(Option<Kept>),
}

impl Property for OwnLeaseOnly {
    fn name(&self) -> &'static str {
        "own-lease-only"
    }

    fn observe(&mut self, at: True, event: &Event) -> Result<(), String> {
        match event {
            Event::Store(step) => {
                self.untouched(step)
                    .and_then(|()| allowed(at, step))
                    .map_err(|broken| format!("{broken}: {step:?}"))?;
                self.record = Record::Left(step.after);
            }
            Event::StoreCrashed { keeps_data: false } => self.record = Record::Unknown,
            _ => {}
        }
        Ok(())
    }
}

/// The rule that a step has broken.
type Broken = &'static str;

impl OwnLeaseOnly {
    fn untouched(&self, step: &StoreStep) -> Result<(), Broken> {
        match self.record {
            Record::Unknown => Ok(()),
            Record::Left(left) => ensure(left == step.before, "the record changed between steps"),
        }
    }
}

/// The table of section 4, row by row.
fn allowed(at: True, step: &StoreStep) -> Result<(), Broken> {
    let live = step.before.filter(|lease| lease.is_live(at));
    let own = live.filter(|lease| lease.holder == step.holder);
    let last = step.before.map_or(0, |record| record.token);
    match (step.request, step.answer) {
        (Asked::Acquire { .. }, Answer::Granted { token, .. }) if own.is_some() => {
            let same = own.is_some_and(|lease| lease.token == token && extends(lease, step.after));
            ensure(same, "a grant told again keeps its token, and extends its lease at most")
        }
        (Asked::Acquire { seen }, Answer::Granted { token, .. }) => {
            ensure(live.is_none(), "granted while another's lease is live")?;
            ensure(seen >= last, "granted to a candidate that does not know the last tenure")?;
            ensure(token > last.max(seen), "granted a token that is not above all that are known")?;
            ensure(begins(at, step.holder, token, step.after), "the record is not what was granted")
        }
        (Asked::Acquire { .. }, Answer::Held) => {
            ensure(live.is_some() && own.is_none(), "refused as held, and no other holds it")?;
            unchanged(step)
        }
        (Asked::Acquire { seen }, Answer::Stale) => {
            ensure(live.is_none() && seen < last, "refused as stale, and it is not")?;
            unchanged(step)
        }
        (Asked::Renew { token }, Answer::Renewed) => {
            let own = own.filter(|lease| lease.token == token);
            let extended = own.is_some_and(|lease| extends(lease, step.after));
            ensure(extended, "a renewal extends its own live lease, and does nothing else")
        }
        (Asked::Renew { token }, Answer::Superseded) => {
            let own = own.filter(|lease| lease.token == token);
            ensure(own.is_none(), "superseded, and its lease is live")?;
            unchanged(step)
        }
        (Asked::Release { token }, Answer::Released) => {
            let own = own.filter(|lease| lease.token == token);
            let back = own.map(|lease| Kept { released: true, ..lease });
            ensure(
                back.is_some() && back == step.after,
                "a release hands back its own live lease, and does nothing else",
            )
        }
        (Asked::Release { token }, Answer::NotHeld) => {
            let own = own.filter(|lease| lease.token == token);
            ensure(own.is_none(), "refused as not held, and its lease is live")?;
            unchanged(step)
        }
        (_, Answer::Other) => unchanged(step),
        (Asked::Acquire { .. } | Asked::Renew { .. } | Asked::Release { .. }, _) => {
            Err("an answer to another question")
        }
    }
}

/// The same tenure, its lease not shorter.
fn extends(lease: Kept, after: Option<Kept>) -> bool {
    after.is_some_and(|after| {
        after.lease_ends >= lease.lease_ends
            && after == Kept { lease_ends: after.lease_ends, ..lease }
    })
}

/// A new tenure's live lease.
fn begins(at: True, holder: u128, token: u64, after: Option<Kept>) -> bool {
    after.is_some_and(|after| after.is_live(at) && after.holder == holder && after.token == token)
}

fn unchanged(step: &StoreStep) -> Result<(), Broken> {
    ensure(step.before == step.after, "a refusal changed the record")
}

fn ensure(holds: bool, rule: Broken) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(rule) }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        at, back, fails, grant, holds, kept, refuse, release, renew, step,
    };
    use super::*;

    /// Holder 1 under token 7, until 100.
    const LEASE: Kept = Kept { token: 7, holder: 1, lease_ends: 100, released: false };

    fn step_holds(when: True, event: Event) {
        holds(OwnLeaseOnly::default(), &[at(when, event)]);
    }

    fn step_fails(when: True, event: Event, rule: Broken) {
        let what = fails(OwnLeaseOnly::default(), &[at(when, event)]);
        assert!(what.starts_with(rule), "{what}");
    }

    fn acquire(seen: u64, token: u64, before: Option<Kept>, after: Kept) -> Event {
        let answer = Answer::Granted { token, waits: false };
        step(after.holder, Asked::Acquire { seen }, answer, before, Some(after))
    }

    #[test]
    fn a_tenure_from_its_grant_to_its_release_and_the_next_one() {
        let longer = kept(1, 7, 150);
        holds(
            OwnLeaseOnly::default(),
            &[
                at(0, grant(None, LEASE)),
                at(1, grant(Some(LEASE), LEASE)),
                at(2, refuse(2, Asked::Acquire { seen: 0 }, Answer::Held, Some(LEASE))),
                at(50, renew(LEASE, 150)),
                at(60, release(longer)),
                at(60, refuse(1, Asked::Release { token: 7 }, Answer::NotHeld, Some(back(longer)))),
                at(
                    61,
                    refuse(1, Asked::Renew { token: 7 }, Answer::Superseded, Some(back(longer))),
                ),
                at(61, refuse(2, Asked::Acquire { seen: 0 }, Answer::Stale, Some(back(longer)))),
                at(62, grant(Some(back(longer)), kept(2, 8, 162))),
                at(
                    63,
                    refuse(1, Asked::Renew { token: 7 }, Answer::Superseded, Some(kept(2, 8, 162))),
                ),
            ],
        );
    }

    #[test]
    fn a_lease_is_vacant_from_its_end_on() {
        let next = kept(2, 8, 200);
        step_holds(100, grant(Some(LEASE), next));
        step_fails(99, grant(Some(LEASE), next), "granted while another's lease is live");
        step_holds(99, refuse(2, Asked::Acquire { seen: 7 }, Answer::Held, Some(LEASE)));
        let late = refuse(2, Asked::Acquire { seen: 7 }, Answer::Held, Some(LEASE));
        step_fails(100, late, "refused as held");
        let own = refuse(1, Asked::Acquire { seen: 7 }, Answer::Held, Some(LEASE));
        step_fails(99, own, "refused as held");
    }

    #[test]
    fn a_late_duplicate_of_an_old_acquire_is_not_granted() {
        let next = kept(2, 8, 200);
        step_fails(100, acquire(6, 8, Some(LEASE), next), "granted to a candidate that does not");
        step_holds(100, acquire(7, 8, Some(LEASE), next));
        step_holds(100, refuse(2, Asked::Acquire { seen: 6 }, Answer::Stale, Some(LEASE)));
        let known = refuse(2, Asked::Acquire { seen: 7 }, Answer::Stale, Some(LEASE));
        step_fails(100, known, "refused as stale");
        let live = refuse(2, Asked::Acquire { seen: 6 }, Answer::Stale, Some(LEASE));
        step_fails(99, live, "refused as stale");
    }

    #[test]
    fn a_new_token_is_above_all_that_are_known() {
        let rule = "granted a token that is not above";
        step_fails(100, acquire(7, 7, Some(LEASE), kept(2, 7, 200)), rule);
        step_fails(100, acquire(9, 9, Some(LEASE), kept(2, 9, 200)), rule);
        step_fails(100, acquire(9, 9, None, kept(2, 9, 200)), rule);
        step_holds(100, acquire(9, 10, None, kept(2, 10, 200)));
        step_fails(100, acquire(0, 0, None, kept(2, 0, 200)), rule);
    }

    #[test]
    fn the_record_of_a_grant_is_what_was_granted() {
        let rule = "the record is not what was granted";
        let answer = Answer::Granted { token: 8, waits: false };
        let asked = Asked::Acquire { seen: 7 };
        let wrong = [
            Some(LEASE),
            None,
            Some(kept(1, 8, 200)),
            Some(kept(2, 9, 200)),
            Some(kept(2, 8, 100)),
            Some(back(kept(2, 8, 200))),
        ];
        for after in wrong {
            step_fails(100, step(2, asked, answer, Some(LEASE), after), rule);
        }
    }

    #[test]
    fn a_grant_told_again_keeps_token_and_lease() {
        let rule = "a grant told again";
        step_holds(50, acquire(0, 7, Some(LEASE), kept(1, 7, 150)));
        step_fails(50, acquire(7, 8, Some(LEASE), kept(1, 8, 150)), rule);
        step_fails(50, acquire(7, 7, Some(LEASE), kept(1, 7, 99)), rule);
        step_fails(50, acquire(7, 8, Some(LEASE), kept(1, 7, 150)), rule);
    }

    #[test]
    fn a_renewal_extends_its_own_live_lease_alone() {
        let rule = "a renewal extends its own live lease";
        let by = |holder, token, before, after| {
            step(holder, Asked::Renew { token }, Answer::Renewed, before, after)
        };
        step_holds(99, renew(LEASE, 150));
        step_holds(99, renew(LEASE, 100));
        step_fails(99, renew(LEASE, 99), rule);
        step_fails(100, renew(LEASE, 150), rule);
        step_fails(50, renew(back(LEASE), 150), rule);
        step_fails(50, by(2, 7, Some(LEASE), Some(kept(1, 7, 150))), rule);
        step_fails(50, by(1, 6, Some(LEASE), Some(kept(1, 7, 150))), rule);
        step_fails(50, by(1, 7, Some(LEASE), Some(kept(2, 7, 150))), rule);
        step_fails(50, by(1, 7, Some(LEASE), Some(back(kept(1, 7, 150)))), rule);
        step_fails(50, by(1, 7, Some(LEASE), None), rule);
        step_fails(50, by(1, 7, None, None), rule);
    }

    #[test]
    fn a_release_hands_back_its_own_live_lease_alone() {
        let rule = "a release hands back its own live lease";
        let by = |holder, token, before, after| {
            step(holder, Asked::Release { token }, Answer::Released, before, after)
        };
        step_holds(99, release(LEASE));
        step_fails(100, release(LEASE), rule);
        step_fails(50, release(back(LEASE)), rule);
        step_fails(50, by(2, 7, Some(LEASE), Some(back(LEASE))), rule);
        step_fails(50, by(1, 6, Some(LEASE), Some(back(LEASE))), rule);
        step_fails(50, by(1, 7, Some(LEASE), Some(LEASE)), rule);
        step_fails(50, by(1, 7, Some(LEASE), None), rule);
        step_fails(50, by(1, 7, None, None), rule);
    }

    #[test]
    fn a_live_tenure_is_not_turned_away() {
        for (asked, answer) in [
            (Asked::Renew { token: 7 }, Answer::Superseded),
            (Asked::Release { token: 7 }, Answer::NotHeld),
        ] {
            let rule = if answer == Answer::NotHeld { "refused as not held" } else { "superseded" };
            step_fails(99, refuse(1, asked, answer, Some(LEASE)), rule);
            step_holds(100, refuse(1, asked, answer, Some(LEASE)));
            step_holds(99, refuse(2, asked, answer, Some(LEASE)));
            step_holds(99, refuse(1, asked, answer, Some(kept(1, 8, 100))));
            step_holds(99, refuse(1, asked, answer, None));
        }
    }

    #[test]
    fn refusals_and_errors_change_nothing() {
        let before = kept(3, 7, 100);
        let refusals = [
            (50, Asked::Acquire { seen: 0 }, Answer::Held),
            (100, Asked::Acquire { seen: 0 }, Answer::Stale),
            (50, Asked::Renew { token: 7 }, Answer::Superseded),
            (50, Asked::Release { token: 7 }, Answer::NotHeld),
            (50, Asked::Acquire { seen: 0 }, Answer::Other),
        ];
        for (when, asked, answer) in refusals {
            let changed = [None, Some(back(before)), Some(kept(3, 7, 101)), Some(kept(2, 8, 200))];
            step_holds(when, step(1, asked, answer, Some(before), Some(before)));
            for after in changed {
                let event = step(1, asked, answer, Some(before), after);
                step_fails(when, event, "a refusal changed the record");
            }
        }
    }

    #[test]
    fn an_answer_belongs_to_its_question() {
        let rule = "an answer to another question";
        for (asked, answer) in [
            (Asked::Acquire { seen: 0 }, Answer::Renewed),
            (Asked::Renew { token: 7 }, Answer::Released),
            (Asked::Release { token: 7 }, Answer::Superseded),
            (Asked::Renew { token: 7 }, Answer::Granted { token: 7, waits: false }),
        ] {
            step_fails(50, refuse(1, asked, answer, Some(LEASE)), rule);
        }
    }

    #[test]
    fn nothing_changes_between_steps_unless_data_is_lost() {
        let granted = at(0, grant(None, LEASE));
        let next = at(60, grant(None, kept(2, 8, 160)));
        let crash = |keeps_data| at(50, Event::StoreCrashed { keeps_data });
        holds(OwnLeaseOnly::default(), &[granted.clone(), crash(false), next.clone()]);
        let what = fails(OwnLeaseOnly::default(), &[granted.clone(), crash(true), next.clone()]);
        assert!(what.starts_with("the record changed between steps"), "{what}");
        fails(OwnLeaseOnly::default(), &[granted.clone(), next]);
        holds(OwnLeaseOnly::default(), &[granted, crash(true), at(60, renew(LEASE, 160))]);
    }
}
