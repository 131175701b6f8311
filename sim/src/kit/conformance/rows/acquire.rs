//! Rows about acquires.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure::store::{Reply, Request, Store};
use tenure::{HolderId, Token};

use crate::conformance::Harness;
use crate::conformance::probe::{
    Found, LONG, Probe, acquire, acquire_after, acquire_as, acquire_for, as_grant, broken, holder,
    key, must, release, renew_for, requests_in_two_calls,
};

/// The assumed error of servers' clocks: the tests may run on another machine.
const CLOCKS_AGREE: Duration = Duration::from_secs(600);

pub(crate) async fn vacant_is_granted<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let (token, _) = probe.granted(acquire(1, None)).await?;
    probe.is_held_by(1, token).await?;
    Ok(())
}

/// Of every four leases one is vacant and has never been held, one is held by another candidate, one by the same, and
/// one has ended, which every other candidate knows.
pub(crate) async fn acquires_of_one_call_are_judged_alone<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let (mut calls, mut before) = (Vec::new(), Vec::new());
    for election in 0..requests_in_two_calls(probe.traits.acquires_in_call) {
        let key = key(&format!("job-{election}"))?;
        let asks = async |probe: &mut Probe<'_, H>, number| {
            let reply = probe.ask_about(&key, acquire(number, None)).await?;
            as_grant(&reply).map(|(token, _)| token)
        };
        let (last, seen) = match election % 4 {
            0 => (None, None),
            1 => (Some(asks(probe, 2).await?), None),
            2 => (Some(asks(probe, 1).await?), None),
            _ => {
                let token = asks(probe, 2).await?;
                let released = probe.ask_about(&key, release(2, token)).await?;
                must(released == Reply::Released, || format!("{released:?} instead of a release"))?;
                (Some(token), (election % 8 == 3).then_some(token))
            }
        };
        calls.push((key, acquire(1, seen)));
        before.push((last, seen));
    }
    let mut replies = Vec::new();
    for call in calls.chunks(probe.traits.acquires_in_call.max(1)) {
        replies.extend(probe.store.call_all(call.to_vec()).await);
    }
    probe.note(format!("{} acquires in calls -> {replies:?}", calls.len()));
    must(replies.len() == calls.len(), || format!("{} answers", replies.len()))?;
    for (election, (reply, (last, seen))) in replies.into_iter().zip(before).enumerate() {
        let as_wanted = match (&reply, election % 4, last) {
            (Ok(Reply::Granted { token, .. }), 0, _) => Some((1, *token)),
            (Ok(Reply::Held(incumbent)), 1, Some(last)) if incumbent.token == last => {
                Some((2, last))
            }
            (Ok(Reply::Granted { token, .. }), 2, Some(last)) if *token == last => Some((1, last)),
            (Ok(Reply::Granted { token, .. }), 3, Some(last))
                if seen.is_some() && *token > last =>
            {
                Some((1, *token))
            }
            (Ok(Reply::Stale { last: told }), 3, Some(last)) if seen.is_none() && *told == last => {
                continue;
            }
            _ => None,
        };
        let Some((number, token)) = as_wanted else {
            return broken(format!("acquire {election}: {reply:?} after {last:?}, {seen:?} seen"));
        };
        let (key, _) = &calls[election];
        let Reply::Held(now) = probe.ask_about(key, Request::Observe).await? else {
            return broken(format!("election {election} is vacant after {reply:?}"));
        };
        let is = (now.holder, now.token) == (holder(number), token);
        must(is, || format!("election {election}: {now:?} holds the lease after {reply:?}"))?;
    }
    // Rivals of one process ask in the same call.
    let rivals = [1, 2].map(|number| Ok((key("job")?, acquire(number, None))));
    let rivals = rivals.into_iter().collect::<Found<Vec<_>>>()?;
    let mut replies = Vec::new();
    for call in rivals.chunks(probe.traits.acquires_in_call.max(1)) {
        replies.extend(probe.store.call_all(call.to_vec()).await);
    }
    match &replies[..] {
        [Ok(Reply::Granted { token, .. }), Ok(Reply::Held(now))] if now.token == *token => Ok(()),
        _ => broken(format!("two candidates of one lease: {replies:?}")),
    }
}

pub(crate) async fn tokens_are_not_below_the_wall_clock<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let floor = now.saturating_sub(CLOCKS_AGREE).as_micros();
    let mut seen = None;
    for number in 1..=2 {
        let (token, _) = probe.granted(acquire(number, seen)).await?;
        must(u128::from(token.get()) >= floor, || format!("{token} is below {floor}"))?;
        probe.expect(release(number, token), Reply::Released).await?;
        seen = Some(token);
    }
    Ok(())
}

pub(crate) async fn tokens_increase<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let mut seen = None;
    for number in 1..=4 {
        let runs_out = number % 2 == 0;
        let ttl = if runs_out { probe.short() } else { LONG };
        let (token, _) = probe.granted(acquire_for(number, seen, ttl)).await?;
        must(seen < Some(token), || format!("{token} follows {seen:?}"))?;
        if runs_out {
            probe.let_pass(ttl).await;
        } else {
            probe.expect(release(number, token), Reply::Released).await?;
        }
        seen = Some(token);
    }
    Ok(())
}

pub(crate) async fn a_repeated_acquire_keeps_its_token<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let (token, _) = probe.granted(acquire(1, None)).await?;
    // The token in the request makes no difference.
    for seen in [None, Some(token)] {
        let (again, _) = probe.granted(acquire_for(1, seen, probe.short())).await?;
        must(again == token, || format!("{again} is another tenure than {token}"))?;
    }
    probe.let_pass(probe.short()).await;
    probe.is_held_by(1, token).await?;

    let (again, _) = probe.granted(acquire_for(1, None, LONG * 3)).await?;
    must(again == token, || format!("{again} is another tenure than {token}"))?;
    let remaining = probe.is_held_by(1, token).await?.remaining;
    must(remaining > LONG * 2, || format!("only {remaining:?} remain: it was not extended"))
}

pub(crate) async fn candidates_of_one_name_are_different<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let name = "worker";
    let terms = |seen| (seen, LONG, LONG);
    let (token, _) = probe.granted(acquire_as(holder(1), name, terms(None))).await?;
    for seen in [None, Some(token)] {
        let incumbent = probe.held(acquire_as(holder(2), name, terms(seen))).await?;
        let is = (incumbent.token, incumbent.holder);
        must(is == (token, holder(1)), || format!("the incumbent is another: {is:?}"))?;
    }
    probe.is_held_by(1, token).await?;
    Ok(())
}

pub(crate) async fn holders_are_compared_whole<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let incumbent = holder(1);
    let terms = |seen| (seen, LONG, LONG);
    let (token, _) = probe.granted(acquire_as(incumbent, "worker-1", terms(None))).await?;
    for bit in [0, 31, 32, 63, 64, 95, 96, 127] {
        let other = HolderId::from_bits(incumbent.to_bits() ^ (1 << bit));
        probe.held(acquire_as(other, "worker-2", terms(Some(token)))).await?;
        let renewal = Request::Renew { holder: other, token, ttl: LONG * 3 };
        probe.expect(renewal, Reply::Superseded { last: Some(token) }).await?;
        probe.expect(Request::Release { holder: other, token }, Reply::NotHeld).await?;
    }
    let remaining = probe.is_held(incumbent, token).await?.remaining;
    must(remaining <= LONG, || format!("{remaining:?} remain: it was extended"))
}

pub(crate) async fn a_live_lease_is_held<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let (token, _) = probe.granted(acquire(1, None)).await?;
    for seen in [None, Some(token), Some(token.next())] {
        let incumbent = probe.held(acquire(2, seen)).await?;
        let is = (incumbent.token, incumbent.holder);
        must(is == (token, holder(1)), || format!("the incumbent is another: {is:?}"))?;
        let profile = (&*incumbent.name, &incumbent.metadata[..]);
        must(profile == ("worker-1", b"host-1"), || {
            format!("the incumbent has another name or metadata: {profile:?}")
        })?;
        let remaining = incumbent.remaining;
        must(!remaining.is_zero() && remaining <= LONG, || format!("{remaining:?} remain"))?;
    }
    probe.is_held_by(1, token).await?;
    Ok(())
}

pub(crate) async fn a_candidate_without_the_last_token_is_stale<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let first = probe.past_tenure(1).await?;
    for number in [1, 2] {
        probe.expect(acquire(number, None), Reply::Stale { last: first }).await?;
    }
    let (second, _) = probe.granted(acquire_for(2, Some(first), probe.short())).await?;
    probe.let_pass(probe.short()).await;
    for seen in [None, Some(first)] {
        probe.expect(acquire(3, seen), Reply::Stale { last: second }).await?;
    }
    probe.granted(acquire(3, Some(second))).await?;
    Ok(())
}

pub(crate) async fn a_grant_is_above_every_known_token<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let first = probe.past_tenure(1).await?;
    let known = beyond(first)?;
    let (token, _) = probe.granted(acquire(2, Some(known))).await?;
    must(token > known, || format!("{token} is not above {known}"))
}

/// A token that the store has not granted, and that its wall clock has not reached.
pub(crate) fn beyond(token: Token) -> Found<Token> {
    match Token::new(token.get() + 1_000_000_000_000) {
        Some(known) => Ok(known),
        None => broken("there is no such token"),
    }
}

pub(crate) async fn remaining_is_never_above_the_ttl<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let (token, _) = probe.granted(acquire(1, None)).await?;
    let is_within = |remaining: Duration, ttl: Duration| {
        must(remaining <= ttl, || format!("{remaining:?} remain of a TTL of {ttl:?}"))
    };
    is_within(probe.held(acquire(2, None)).await?.remaining, LONG)?;
    // The end of the lease does not move, so its remaining time is above the new TTL, as after a clock step.
    let less = LONG / 2;
    probe.expect(renew_for(1, token, less), Reply::Renewed).await?;
    is_within(probe.held(acquire(2, None)).await?.remaining, less)?;
    is_within(probe.held(Request::Observe).await?.remaining, less)
}

pub(crate) async fn contradicting_settings_are_refused<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let (ttl, quarantine) = (LONG, LONG * 2);
    let (token, _) = probe.granted(acquire_after(1, None, ttl, quarantine)).await?;
    let refused = Reply::Refused { ttl, quarantine: Some(quarantine) };
    for settings in [(ttl / 2, ttl / 2), (LONG * 3, LONG * 3)] {
        for seen in [None, Some(token)] {
            let asked = acquire_after(2, seen, settings.0, settings.1);
            probe.expect(asked, refused.clone()).await?;
        }
    }
    for settings in [(ttl / 2, ttl), (quarantine, quarantine)] {
        probe.held(acquire_after(2, None, settings.0, settings.1)).await?;
    }
    // The refused requests have changed nothing.
    probe.is_held_by(1, token).await?;
    Ok(())
}

pub(crate) async fn the_answer_contains_the_incumbents_ttl<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let (token, _) = probe.granted(acquire(1, None)).await?;
    for ttl in [LONG, LONG / 2] {
        for asked in [acquire(2, None), Request::Observe] {
            let answered = probe.held(asked).await?.ttl;
            must(answered == ttl, || {
                format!("the TTL is {ttl:?}, but the answer has {answered:?}")
            })?;
        }
        probe.expect(renew_for(1, token, LONG / 2), Reply::Renewed).await?;
    }
    Ok(())
}
