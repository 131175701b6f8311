//! Every row of the table, its edge cases, and the steps that it forbids.

use super::super::history::{
    NOT, RENEWED, asks, at, back, by_server, fails, grant, granted, holds, kept, refuse, release,
    renew, step, store_crashed,
};
use super::*;
use crate::plan::ns;
use crate::trace::Mark;

/// Holder 1 under token 7.
const LEASE: Kept = kept(1, 7, 100);
/// An answer that tells of a past which nobody has watched yet.
const TOLD: Answer = Answer::Not { past_is_watched: false };

fn step_holds(event: Event) {
    holds(OwnLeaseOnly::default(), &[at(50, event)]);
}

#[track_caller]
fn is_against(rule: Broken, found: &Finding) {
    assert!(
        matches!(found, Finding::StepNotAllowed { rule: of, .. } if of.starts_with(rule)),
        "{found}"
    );
}

#[track_caller]
fn step_fails(event: Event, rule: Broken) {
    is_against(rule, &fails(OwnLeaseOnly::default(), &[at(50, event)]));
}

/// A grant to the holder of `after`, which knew that token and had watched that mark.
fn acquire(seen: u64, watched: Option<Mark>, before: Option<Kept>, after: Kept) -> Event {
    let asked = Asked::Acquire { seen, watched };
    step(after.mark.holder, asked, granted(after.token), before, Some(after))
}

#[test]
fn two_tenures_from_grant_to_release() {
    let longer = kept(1, 7, 150);
    holds(
        OwnLeaseOnly::default(),
        &[
            at(0, grant(None, LEASE)),
            at(1, grant(Some(LEASE), LEASE)),
            at(2, refuse(2, asks(0), NOT, Some(LEASE))),
            at(50, renew(LEASE, 150)),
            at(60, release(longer)),
            at(60, refuse(1, Asked::Release { token: 7 }, Answer::NotHeld, Some(back(longer)))),
            at(61, refuse(1, Asked::Renew { token: 7 }, Answer::Superseded, Some(back(longer)))),
            at(61, refuse(2, asks(0), NOT, Some(back(longer)))),
            at(62, grant(Some(back(longer)), kept(2, 8, 162))),
            at(63, refuse(1, Asked::Renew { token: 7 }, Answer::Superseded, Some(kept(2, 8, 162)))),
        ],
    );
}

#[test]
fn a_lease_is_taken_by_who_watched_its_mark() {
    let (next, rule) = (kept(2, 8, 200), "granted a lease that is neither vacant nor watched");
    step_holds(acquire(7, Some(LEASE.mark), Some(LEASE), next));
    step_holds(acquire(6, Some(LEASE.mark), Some(LEASE), next));
    step_fails(acquire(7, None, Some(LEASE), next), rule);
    let older = Mark { number: 99, ..LEASE.mark };
    step_fails(acquire(7, Some(older), Some(LEASE), next), rule);
}

#[test]
fn a_late_duplicate_acquire_is_not_granted() {
    let (next, rule) = (kept(2, 8, 200), "granted a lease that is neither vacant nor watched");
    step_fails(acquire(6, None, Some(back(LEASE)), next), rule);
    step_holds(acquire(7, None, Some(back(LEASE)), next));
    step_holds(acquire(6, Some(LEASE.mark), Some(back(LEASE)), next));
    step_holds(refuse(2, asks(6), NOT, Some(back(LEASE))));
}

#[test]
fn the_holder_itself_is_refused_only_if_it_must_wait() {
    step_fails(refuse(1, asks(7), NOT, Some(LEASE)), "refused its own lease");
    step_holds(refuse(1, asks(7), TOLD, Some(LEASE)));
    step_holds(refuse(1, asks(8), NOT, Some(LEASE)));
    step_holds(refuse(1, asks(7), NOT, Some(back(LEASE))));
}

#[test]
fn a_new_token_is_above_all_known_ones() {
    let rule = "granted a token that is not above";
    let back = Some(back(LEASE));
    step_fails(acquire(7, None, back, kept(2, 7, 200)), rule);
    step_fails(acquire(9, None, back, kept(2, 9, 200)), rule);
    step_fails(acquire(9, None, None, kept(2, 9, 200)), rule);
    step_holds(acquire(9, None, None, kept(2, 10, 200)));
    step_fails(acquire(0, None, None, kept(2, 0, 200)), rule);
}

#[test]
fn the_record_agrees_with_the_grant() {
    let rule = "the record differs from the grant";
    let wrong = [
        Some(LEASE),
        None,
        Some(kept(1, 8, 200)),
        Some(kept(2, 9, 200)),
        Some(back(kept(2, 8, 200))),
    ];
    for after in wrong {
        step_fails(step(2, asks(7), granted(8), Some(back(LEASE)), after), rule);
    }
}

#[test]
fn a_repeated_grant_keeps_token_and_lease() {
    let rule = "a repeated grant";
    let repeated = |answer, after| step(1, asks(7), granted(answer), Some(LEASE), Some(after));
    step_holds(repeated(7, kept(1, 7, 150)));
    step_fails(repeated(8, kept(1, 8, 150)), rule);
    step_fails(repeated(7, kept(1, 7, 99)), rule);
    step_fails(repeated(8, kept(1, 7, 150)), rule);
}

#[test]
fn a_renewal_extends_its_own_lease_alone() {
    let rule = "a renewal extends its own lease";
    let by =
        |holder, token, before, after| step(holder, Asked::Renew { token }, RENEWED, before, after);
    step_holds(renew(LEASE, 150));
    step_holds(renew(LEASE, 100));
    step_fails(renew(LEASE, 99), rule);
    step_fails(renew(back(LEASE), 150), rule);
    step_fails(by(2, 7, Some(LEASE), Some(kept(1, 7, 150))), rule);
    step_fails(by(1, 6, Some(LEASE), Some(kept(1, 7, 150))), rule);
    step_fails(by(1, 7, Some(LEASE), Some(kept(2, 7, 150))), rule);
    step_fails(by(1, 7, Some(LEASE), Some(back(kept(1, 7, 150)))), rule);
    step_fails(by(1, 7, Some(LEASE), None), rule);
    step_fails(by(1, 7, None, None), rule);
}

#[test]
fn a_release_ends_its_own_lease_alone() {
    let rule = "a release hands back its own lease";
    let by = |holder, token, before, after| {
        step(holder, Asked::Release { token }, Answer::Released, before, after)
    };
    step_holds(release(LEASE));
    step_fails(release(back(LEASE)), rule);
    step_fails(by(2, 7, Some(LEASE), Some(back(LEASE))), rule);
    step_fails(by(1, 6, Some(LEASE), Some(back(LEASE))), rule);
    step_fails(by(1, 7, Some(LEASE), Some(LEASE)), rule);
    step_fails(by(1, 7, Some(LEASE), None), rule);
    step_fails(by(1, 7, None, None), rule);
}

#[test]
fn a_tenure_that_is_not_over_is_not_refused() {
    for (asked, answer) in [
        (Asked::Renew { token: 7 }, Answer::Superseded),
        (Asked::Release { token: 7 }, Answer::NotHeld),
    ] {
        let rule = if answer == Answer::NotHeld { "refused as not held" } else { "superseded" };
        step_fails(refuse(1, asked, answer, Some(LEASE)), rule);
        step_holds(refuse(1, asked, answer, Some(back(LEASE))));
        step_holds(refuse(2, asked, answer, Some(LEASE)));
        step_holds(refuse(1, asked, answer, Some(kept(1, 8, 100))));
        step_holds(refuse(1, asked, answer, None));
    }
}

#[test]
fn refusals_looks_and_errors_change_nothing() {
    let before = kept(3, 7, 100);
    let refusals = [
        (asks(0), NOT),
        (Asked::Look { seen: 0 }, Answer::At { past_is_watched: true }),
        (Asked::Renew { token: 7 }, Answer::Superseded),
        (Asked::Release { token: 7 }, Answer::NotHeld),
        (asks(0), Answer::Other),
    ];
    for (asked, answer) in refusals {
        let changed = [None, Some(back(before)), Some(kept(3, 7, 101)), Some(kept(2, 8, 200))];
        step_holds(step(1, asked, answer, Some(before), Some(before)));
        for after in changed {
            let event = step(1, asked, answer, Some(before), after);
            step_fails(event, "a refusal changed the record");
        }
    }
}

#[test]
fn an_answer_fits_its_request() {
    let rule = "an answer to another kind of request";
    for (asked, answer) in [
        (asks(0), RENEWED),
        (Asked::Look { seen: 0 }, NOT),
        (Asked::Renew { token: 7 }, Answer::Released),
        (Asked::Release { token: 7 }, Answer::Superseded),
        (Asked::Renew { token: 7 }, granted(7)),
    ] {
        step_fails(refuse(1, asked, answer, Some(LEASE)), rule);
    }
}

#[test]
fn nothing_changes_between_steps_unless_data_is_lost() {
    let granted = at(0, grant(None, LEASE));
    let next = |server| at(60, by_server(server, grant(None, kept(2, 8, 160))));
    let continues = |server| at(60, by_server(server, renew(LEASE, 160)));
    let crash = |keeps_data| at(50, store_crashed(keeps_data));
    holds(OwnLeaseOnly::default(), &[granted.clone(), crash(false), next(1)]);
    let what = fails(OwnLeaseOnly::default(), &[granted.clone(), crash(true), next(1)]);
    is_against("the record changed between steps", &what);
    fails(OwnLeaseOnly::default(), &[granted.clone(), next(0)]);
    holds(OwnLeaseOnly::default(), &[granted.clone(), crash(true), continues(1)]);
    holds(OwnLeaseOnly::default(), &[granted.clone(), crash(false), crash(true), next(2)]);
    holds(OwnLeaseOnly::default(), &[granted, crash(true), crash(true), continues(2)]);
}

#[test]
fn an_old_primary_is_judged_separately() {
    let promoted = kept(2, 8, 200);
    let both = [
        at(0, grant(None, LEASE)),
        at(50, store_crashed(false)),
        at(100, by_server(1, grant(Some(LEASE), promoted))),
        at(101, by_server(0, grant(Some(LEASE), kept(3, 9, 201)))),
        at(102, by_server(1, renew(promoted, 202))),
        at(103, by_server(0, renew(kept(3, 9, 201), 203))),
    ];
    holds(OwnLeaseOnly::default(), &both);
    let crashed = at(103, store_crashed(true));
    let next = at(104, by_server(2, renew(kept(2, 8, 202), 204)));
    holds(OwnLeaseOnly::default(), &[both.as_slice(), &[crashed, next]].concat());
    let mixed_up = at(103, by_server(0, renew(promoted, 202)));
    fails(OwnLeaseOnly::default(), &[both.as_slice(), &[mixed_up]].concat());
}

/// The engine works the end out, and may do so anew.
#[test]
fn another_end_is_the_same_record() {
    let moved = Kept { lease_ends: ns(90), ..LEASE };
    let refused = refuse(2, asks(7), NOT, Some(moved));
    holds(OwnLeaseOnly::default(), &[at(0, grant(None, LEASE)), at(50, refused)]);
}

#[test]
fn an_old_primary_may_begin_after_its_successor() {
    let early = |server| at(60, by_server(server, refuse(2, asks(0), NOT, Some(back(LEASE)))));
    let late = |server| at(60, by_server(server, renew(LEASE, 160)));
    let replaced =
        [at(0, grant(None, LEASE)), at(50, store_crashed(true)), at(51, store_crashed(false))];
    holds(OwnLeaseOnly::default(), &[replaced.as_slice(), &[late(1), early(2)]].concat());
    holds(OwnLeaseOnly::default(), &[replaced.as_slice(), &[early(2), late(1)]].concat());
}
