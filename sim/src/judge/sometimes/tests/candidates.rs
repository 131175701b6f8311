//! Conditions on candidates, their leads and their messages.

use super::*;
use crate::judge::properties::history::{
    NOT, RENEWED, answered, asks, crashed, drain_moved, drains, given_up, grant, granted, kept,
    leads, leads_no_more, n, renew, sent, stepped_down, store_crashed, work_began, work_dropped,
    work_ended, wrote, wrote_after,
};
use crate::trace::{Asked, Reason};

const RENEW: Asked = Asked::Renew { token: 7 };

fn led() -> (u64, Event) {
    (1, leads(n(0), 7))
}

fn ended() -> (u64, Event) {
    (90, leads_no_more(n(0)))
}

#[test]
fn reasons_to_step_down() {
    let all = [Reason::Expired, Reason::Superseded, Reason::Resigned, Reason::RenewFailed];
    for (condition, wanted) in [
        (Condition::LeaderExpiredByClock, Reason::Expired),
        (Condition::LeaderSuperseded, Reason::Superseded),
    ] {
        for reason in all {
            let met = times(condition, &[(1, stepped_down(n(0), 7, reason))]);
            assert_eq!(met, u64::from(reason == wanted), "{condition:?} by {reason:?}");
        }
    }
}

#[test]
fn leader_crashed() {
    meets(Condition::LeaderCrashed, &[led(), (5, crashed(n(0)))]);
    let another = [led(), (5, crashed(n(1)))];
    misses(Condition::LeaderCrashed, &[&another, &[led(), ended(), (95, crashed(n(0)))]]);
}

#[test]
fn restarted_node_leads_again() {
    let again = |node, life| [led(), (5, crashed(n(0))), (9, leads(Who { node, life }, 8))];
    meets(Condition::RestartedNodeLedAgain, &again(0, 1));
    misses(Condition::RestartedNodeLedAgain, &[&again(0, 0), &again(1, 1)]);
}

#[test]
fn nobody_led_for_a_lease() {
    let leads_again =
        |at| [(0, grant(None, kept(1, 7, 100))), led(), ended(), (at, leads(n(1), 8))];
    meets(Condition::NobodyLedForALease, &leads_again(191));
    let crash = [(0, grant(None, kept(1, 7, 100))), led(), (5, crashed(n(0)))];
    meets(Condition::NobodyLedForALease, &[&crash[..], &[(106, leads(n(1), 8))]].concat());
    // The first lead of all is no lead after a gap.
    misses(Condition::NobodyLedForALease, &[&leads_again(190), &[(500, leads(n(1), 8))]]);
}

#[test]
fn ends_of_a_quarantine() {
    let waits = (1, Event::Watches { who: n(0) });
    let crash = (5, crashed(n(0)));
    let replaced = (5, store_crashed(true));
    let watched = (3, answered(n(0), 2, NOT));
    for (condition, end) in [
        (Condition::CrashedInAQuarantine, crash),
        (Condition::StoreReplacedInAQuarantine, replaced),
    ] {
        meets(condition, &[waits.clone(), end.clone()]);
        let over = [waits.clone(), led(), end.clone()];
        let watched = [waits.clone(), watched.clone(), end.clone()];
        misses(condition, &[&over, &watched, &[end]]);
    }
    misses(Condition::CrashedInAQuarantine, &[&[waits, (5, crashed(n(1)))]]);
}

#[test]
fn resigned_under_work() {
    let down = |token| (5, stepped_down(n(0), token, Reason::Resigned));
    let working = (1, work_began(n(0), 7));
    meets(Condition::ResignedUnderWork, &[working.clone(), down(7)]);
    misses(
        Condition::ResignedUnderWork,
        &[
            &[working.clone(), down(8)],
            &[working.clone(), (2, work_ended(n(0), 7)), down(7)],
            &[working, (5, stepped_down(n(0), 7, Reason::Superseded))],
            &[(1, work_began(n(1), 7)), down(7)],
        ],
    );
}

#[test]
fn stale_write_fenced() {
    meets(Condition::StaleWriteFenced, &[(1, wrote(n(0), 7, false))]);
    misses(Condition::StaleWriteFenced, &[&[(1, wrote(n(0), 7, true))]]);
}

#[test]
fn effect_after_the_lead() {
    let write = |at| (at, wrote(n(0), 7, true));
    meets(Condition::EffectAfterTheLead, &[led(), ended(), write(91)]);
    misses(Condition::EffectAfterTheLead, &[&[led(), write(89), ended()]]);
}

#[test]
fn pause_between_check_and_effect() {
    let pause = |at, node| (at, fault(FaultKind::PauseAtGuard, node));
    let write = |checked| (50, wrote_after(n(0), 7, checked));
    meets(Condition::PauseBetweenCheckAndEffect, &[led(), pause(10, 0), write(10)]);
    misses(
        Condition::PauseBetweenCheckAndEffect,
        &[
            &[led(), pause(9, 0), write(10)],
            &[led(), pause(10, 1), write(10)],
            &[led(), write(10)],
            &[led(), pause(50, 0), write(50)],
        ],
    );
}

#[test]
fn renewal_reply_lost() {
    let (first, again) = ((1, sent(n(0), 1, RENEW)), (9, sent(n(0), 2, RENEW)));
    let done = (2, renew(kept(1, 7, 100), 102));
    let reply = (3, answered(n(0), 1, RENEWED));
    let lost = [first.clone(), done.clone(), again.clone()];
    meets(Condition::RenewalReplyLost, &lost);
    meets(
        Condition::RenewalReplyLost,
        &[first.clone(), done.clone(), (3, given_up(n(0), 1)), again.clone()],
    );
    let next = (9, sent(n(0), 2, Asked::Renew { token: 8 }));
    misses(
        Condition::RenewalReplyLost,
        &[
            &[first.clone(), done.clone(), reply, again.clone()],
            &[first.clone(), again],
            &[first, done, next],
        ],
    );
}

#[test]
fn late_and_overtaken_replies() {
    let ask = |id| (id, sent(n(0), id, asks(0)));
    let reply = |id| (9, answered(n(0), id, granted(7)));
    let late = [ask(1), ask(2), reply(1)];
    meets(Condition::LateReply, &late);
    let overtaken = [ask(1), ask(2), reply(2), reply(1)];
    meets(Condition::ReplyOvertaken, &overtaken);
    let in_order = [ask(1), reply(1), ask(2), reply(2)];
    misses(Condition::LateReply, &[&in_order, &[ask(1), ask(2), (9, given_up(n(0), 1))]]);
    misses(Condition::ReplyOvertaken, &[&late, &in_order]);
}

#[test]
fn draining_work_dropped() {
    meets(Condition::DrainingWorkDropped, &[(9, work_dropped(n(0), 7))]);
    misses(Condition::DrainingWorkDropped, &[&[(9, work_ended(n(0), 7))]]);
}

#[test]
fn drain_lengthened_by_a_renewal() {
    let moved = |who, token, ends| {
        [(5, drains(n(0), 7, Reason::Resigned, 50)), (9, drain_moved(who, token, ends))]
    };
    meets(Condition::DrainLengthened, &moved(n(0), 7, 51));
    let others = [moved(n(0), 7, 50), moved(n(0), 8, 51), moved(n(1), 7, 51)];
    misses(Condition::DrainLengthened, &others.each_ref().map(|history| &history[..]));
    let over = [(5, drains(n(0), 7, Reason::Resigned, 50)), (51, drain_moved(n(0), 7, 51))];
    misses(Condition::DrainLengthened, &[&over]);
}
