//! Conditions on the store's answers and its data.

use super::*;
use crate::judge::properties::history::{
    NOT, answered, asks, back, by_server, grant, granted, kept, leads, leads_no_more, millis, n,
    refuse, release, renew, sent, step, stepped_down, store_crashed, work_began, work_ended,
};
use crate::trace::{Answer, Asked, Kept, Reason};

const LEASE: Kept = kept(1, 7, 100);
const NEXT: Kept = kept(2, 8, 200);

fn began() -> (u64, Event) {
    (0, grant(None, LEASE))
}

#[test]
fn takeover_after_expiry() {
    let taken = |at, before, after| [began(), (at, grant(before, after))];
    meets(Condition::TakeoverAfterExpiry, &taken(100, Some(LEASE), NEXT));
    misses(
        Condition::TakeoverAfterExpiry,
        &[
            // Handed back, its own, lost with the store's data.
            &taken(100, Some(back(LEASE)), NEXT),
            &taken(100, Some(LEASE), kept(1, 8, 200)),
            &taken(100, None, NEXT),
        ],
    );
}

#[test]
fn takeover_under_a_renewal() {
    let renews = |token| (50, sent(n(0), 2, Asked::Renew { token }));
    let taken = (100, grant(Some(LEASE), NEXT));
    meets(Condition::TakeoverUnderARenewal, &[began(), renews(7), taken.clone()]);
    let arrived = (60, renew(LEASE, 110));
    misses(
        Condition::TakeoverUnderARenewal,
        &[
            &[began(), taken.clone()],
            &[began(), renews(6), taken.clone()],
            &[began(), renews(7), arrived, taken],
        ],
    );
}

#[test]
fn graceful_handover() {
    let lease = kept(1, 7, millis(9_000));
    let handed = |at, by| {
        let next = grant(Some(back(lease)), kept(by, 8, millis(99_000)));
        [(1, grant(None, lease)), (millis(1_000), release(lease)), (at, next)]
    };
    meets(Condition::GracefulHandover, &handed(millis(3_000), 2));
    misses(
        Condition::GracefulHandover,
        &[&handed(millis(3_000) + 1, 2), &handed(millis(1_000), 1)],
    );
}

#[test]
fn release_lost_lease_ran_out() {
    let ran_out = |reason, at, before| {
        [began(), (50, stepped_down(n(0), 7, reason)), (at, grant(Some(before), NEXT))]
    };
    meets(Condition::ResignedLeaseRanOut, &ran_out(Reason::Resigned, 100, LEASE));
    misses(
        Condition::ResignedLeaseRanOut,
        &[&ran_out(Reason::Expired, 100, LEASE), &ran_out(Reason::Resigned, 60, back(LEASE))],
    );
}

#[test]
fn lost_grant_retried() {
    let ask = |at, id| (at, sent(n(0), id, asks(0)));
    let reply = |id| (20, answered(n(0), id, granted(7)));
    let (first, done, again) = (ask(0, 1), (5, grant(None, LEASE)), (9, grant(Some(LEASE), LEASE)));
    let retried = [first.clone(), done.clone(), ask(8, 2), again.clone(), reply(2)];
    meets(Condition::LostGrantRetried, &retried);
    misses(
        Condition::LostGrantRetried,
        &[
            // No loss; a duplicate; a late first request; a late answer to it.
            &[first.clone(), done.clone(), reply(1)],
            &[first.clone(), done.clone(), again.clone(), reply(1)],
            &[first.clone(), ask(4, 2), done.clone(), again, reply(2)],
            &[first, done, ask(8, 2), reply(1)],
        ],
    );
}

#[test]
fn grant_above_a_lost_tenure() {
    let by = |seen| [(1, step(2, asks(seen), granted(9), Some(LEASE), Some(kept(2, 9, 300))))];
    meets(Condition::GrantBeyondTheRecord, &by(8));
    misses(Condition::GrantBeyondTheRecord, &[&by(7)]);
}

#[test]
fn grant_handed_back_unused() {
    let unused = [began(), (50, release(LEASE))];
    meets(Condition::GrantHandedBackUnused, &unused);
    let [grant, release] = unused;
    misses(Condition::GrantHandedBackUnused, &[&[grant, (1, leads(n(0), 7)), release]]);
}

#[test]
fn refusals() {
    let record = Some(back(LEASE));
    let stale = |by| (1, refuse(by, asks(0), NOT, record));
    let superseded = |record| (1, refuse(1, Asked::Renew { token: 7 }, Answer::Superseded, record));
    meets(Condition::StaleAcquireRefused, &[stale(2)]);
    meets(Condition::RenewalSuperseded, &[superseded(Some(NEXT))]);
    let others = [
        (1, refuse(2, asks(0), NOT, Some(LEASE))),
        (2, refuse(2, Asked::Release { token: 6 }, Answer::NotHeld, Some(LEASE))),
        (3, renew(LEASE, 103)),
    ];
    misses(Condition::StaleAcquireRefused, &[&others, &[superseded(record)]]);
    misses(Condition::RenewalSuperseded, &[&others, &[stale(2)]]);
    meets(Condition::LateAcquireRefused, &[began(), stale(1)]);
    misses(Condition::LateAcquireRefused, &[&[began(), stale(2)], &[stale(1)]]);
    meets(Condition::RenewalAfterRelease, &[superseded(record)]);
    let another = Some(back(NEXT));
    misses(
        Condition::RenewalAfterRelease,
        &[&[superseded(Some(LEASE))], &[superseded(another)], &[superseded(None)]],
    );
}

#[test]
fn renewal_at_the_last_moment() {
    // The lease lasts 1,000 from then on.
    let renewed = |remains: u64| {
        let lease = kept(1, 7, 2_000 + remains);
        [(2_000, renew(lease, 3_000))]
    };
    meets(Condition::RenewedAtTheLastMoment, &renewed(50));
    misses(Condition::RenewedAtTheLastMoment, &[&renewed(51)]);
}

#[test]
fn renewed_without_a_leader() {
    let (led, ended) = ((1, leads(n(0), 7)), (80, leads_no_more(n(0))));
    let renewed = (90, renew(LEASE, 190));
    let without = [led.clone(), ended.clone(), renewed.clone()];
    meets(Condition::RenewedWithoutALeader, &without);
    let resigned = (79, stepped_down(n(0), 7, Reason::Resigned));
    misses(
        Condition::RenewedWithoutALeader,
        &[
            &[led.clone(), renewed.clone()],
            // It waits out a quarantine.
            std::slice::from_ref(&renewed),
            &[led, resigned, ended, renewed.clone()],
        ],
    );
}

#[test]
fn quarantine_waited() {
    let crashed = |keeps_data| (0, store_crashed(keeps_data));
    let told = |past_is_watched| (1, refuse(1, asks(0), Answer::Not { past_is_watched }, None));
    let granted = (2, grant(None, LEASE));
    meets(Condition::QuarantineWaited, &[crashed(false), told(false), granted.clone()]);
    misses(
        Condition::QuarantineWaited,
        &[
            &[crashed(false), told(true), granted.clone()],
            &[crashed(true), told(false), granted.clone()],
            &[told(false), crashed(false), granted],
        ],
    );
}

#[test]
fn store_lost_data_under_a_leader() {
    let lost = |keeps_data| (5, store_crashed(keeps_data));
    let leading = (1, leads(n(0), 7));
    meets(Condition::StoreLostDataUnderALeader, &[leading.clone(), lost(false)]);
    misses(
        Condition::StoreLostDataUnderALeader,
        &[
            &[leading.clone(), lost(true)],
            &[leading, (2, leads_no_more(n(0))), lost(false)],
            &[lost(false)],
        ],
    );
}

#[test]
fn old_primary_acknowledged() {
    let acknowledged = |at, server| (at, by_server(server, renew(LEASE, 102)));
    meets(Condition::OldPrimaryAcknowledged, &[acknowledged(1, 1), acknowledged(2, 0)]);
    let refusal = refuse(2, asks(0), NOT, Some(LEASE));
    misses(
        Condition::OldPrimaryAcknowledged,
        &[
            &[(1, store_crashed(true)), acknowledged(2, 0)],
            &[acknowledged(1, 0), acknowledged(2, 1)],
            &[acknowledged(1, 1), (2, refusal)],
        ],
    );
}

#[test]
fn release_after_drain() {
    let (worked, ended) = ((1, work_began(n(0), 7)), (2, work_ended(n(0), 7)));
    let released = |token| (3, release(kept(1, token, 100)));
    meets(Condition::ReleaseAfterDrain, &[worked.clone(), ended.clone(), released(7)]);
    let another = [worked.clone(), ended, released(8)];
    misses(Condition::ReleaseAfterDrain, &[&another, &[worked, released(7)]]);
}
