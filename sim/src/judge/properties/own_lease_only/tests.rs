//! Every row of the table, its edge cases, and the steps that it forbids.

use super::super::history::{
    at, back, by_server, fails, grant, holds, kept, refuse, release, renew, step, store_crashed,
};
use super::*;
use crate::plan::ns;

/// Holder 1 under token 7, until 100.
const LEASE: Kept =
    Kept { token: 7, holder: 1, lease_end: 100, lease_ends: ns(100), released: false };

fn step_holds(when: u64, event: Event) {
    holds(OwnLeaseOnly::default(), &[at(when, event)]);
}

#[track_caller]
fn is_against(rule: Broken, found: &Finding) {
    assert!(
        matches!(found, Finding::StepNotAllowed { rule: of, .. } if of.starts_with(rule)),
        "{found}"
    );
}

#[track_caller]
fn step_fails(when: u64, event: Event, rule: Broken) {
    is_against(rule, &fails(OwnLeaseOnly::default(), &[at(when, event)]));
}

fn acquire(seen: u64, token: u64, before: Option<Kept>, after: Kept) -> Event {
    let answer = Answer::Granted { token, waits: false };
    step(after.holder, Asked::Acquire { seen }, answer, before, Some(after))
}

#[test]
fn two_tenures_from_grant_to_release() {
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
            at(61, refuse(1, Asked::Renew { token: 7 }, Answer::Superseded, Some(back(longer)))),
            at(61, refuse(2, Asked::Acquire { seen: 0 }, Answer::Stale, Some(back(longer)))),
            at(62, grant(Some(back(longer)), kept(2, 8, 162))),
            at(63, refuse(1, Asked::Renew { token: 7 }, Answer::Superseded, Some(kept(2, 8, 162)))),
        ],
    );
}

#[test]
fn a_lease_is_vacant_from_its_end_on() {
    let next = kept(2, 8, 200);
    step_holds(100, grant(Some(LEASE), next));
    step_fails(99, grant(Some(LEASE), next), "granted while another holder's lease is live");
    step_holds(99, refuse(2, Asked::Acquire { seen: 7 }, Answer::Held, Some(LEASE)));
    let late = refuse(2, Asked::Acquire { seen: 7 }, Answer::Held, Some(LEASE));
    step_fails(100, late, "refused as held");
    let own = refuse(1, Asked::Acquire { seen: 7 }, Answer::Held, Some(LEASE));
    step_fails(99, own, "refused as held");
}

#[test]
fn a_late_duplicate_acquire_is_not_granted() {
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
fn a_new_token_is_above_all_known_ones() {
    let rule = "granted a token that is not above";
    step_fails(100, acquire(7, 7, Some(LEASE), kept(2, 7, 200)), rule);
    step_fails(100, acquire(9, 9, Some(LEASE), kept(2, 9, 200)), rule);
    step_fails(100, acquire(9, 9, None, kept(2, 9, 200)), rule);
    step_holds(100, acquire(9, 10, None, kept(2, 10, 200)));
    step_fails(100, acquire(0, 0, None, kept(2, 0, 200)), rule);
}

#[test]
fn the_record_agrees_with_the_grant() {
    let rule = "the record differs from the grant";
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
fn a_repeated_grant_keeps_token_and_lease() {
    let rule = "a repeated grant";
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
fn a_release_ends_its_own_live_lease_alone() {
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
fn a_live_tenure_is_not_refused() {
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
fn an_answer_fits_its_request() {
    let rule = "an answer to another kind of request";
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

#[test]
fn a_server_clock_step_leaves_the_record_unchanged() {
    let moved = Kept { lease_ends: ns(90), ..LEASE };
    let refused = refuse(2, Asked::Acquire { seen: 7 }, Answer::Held, Some(moved));
    holds(OwnLeaseOnly::default(), &[at(0, grant(None, LEASE)), at(50, refused)]);
}

#[test]
fn an_old_primary_may_begin_after_its_successor() {
    let early = |server| {
        at(
            60,
            by_server(
                server,
                refuse(2, Asked::Acquire { seen: 0 }, Answer::Stale, Some(back(LEASE))),
            ),
        )
    };
    let late = |server| at(60, by_server(server, renew(LEASE, 160)));
    let replaced =
        [at(0, grant(None, LEASE)), at(50, store_crashed(true)), at(51, store_crashed(false))];
    holds(OwnLeaseOnly::default(), &[replaced.as_slice(), &[late(1), early(2)]].concat());
    holds(OwnLeaseOnly::default(), &[replaced.as_slice(), &[early(2), late(1)]].concat());
}
