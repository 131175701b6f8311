//! Rows about a lease that was granted.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use tenure::store::{Reply, Request, Store, Watched};

use crate::conformance::Harness;
use crate::conformance::probe::{
    Found, LONG, Probe, acquire, acquire_for, as_grant, broken, key, must, release, renew,
    renew_for, requests_in_two_calls,
};

pub(crate) async fn a_renewal_extends_its_own_live_lease<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let (token, _) = probe.granted(acquire(1, None)).await?;
    probe.expect(renew_for(1, token, LONG * 3), Reply::Renewed).await?;
    let remaining = probe.is_held_by(1, token).await?.remaining;
    must(remaining > LONG * 2, || format!("only {remaining:?} remain: it was not extended"))
}

pub(crate) async fn anything_else_is_superseded<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let first = probe.past_tenure(1).await?;
    probe.expect(renew(1, first), Reply::Superseded { last: Some(first) }).await?;
    let (second, _) = probe.granted(acquire(2, Some(first))).await?;
    // Another holder, another token, both, and the tenure before it.
    for (number, token) in [(1, second), (2, second.next()), (2, first), (1, first)] {
        let superseded = Reply::Superseded { last: Some(second) };
        probe.expect(renew_for(number, token, LONG * 3), superseded).await?;
    }
    let remaining = probe.is_held_by(2, second).await?.remaining;
    must(remaining <= LONG, || format!("{remaining:?} remain: it was extended"))
}

pub(crate) async fn an_ended_lease_is_never_resurrected<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let (token, _) = probe.granted(acquire_for(1, None, probe.short())).await?;
    probe.let_pass(probe.short()).await;
    probe.expect(Request::Observe, Reply::Vacant).await?;
    probe.expect(renew(1, token), Reply::Superseded { last: Some(token) }).await?;
    probe.expect(release(1, token), Reply::NotHeld).await?;
    probe.expect(acquire(1, None), Reply::Stale { last: token }).await?;
    probe.expect(Request::Observe, Reply::Vacant).await?;
    let (next, _) = probe.granted(acquire(1, Some(token))).await?;
    must(next > token, || format!("{next} is granted after {token}"))
}

pub(crate) async fn a_renewal_never_shortens_a_lease<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let (token, _) = probe.granted(acquire(1, None)).await?;
    probe.expect(renew_for(1, token, probe.short()), Reply::Renewed).await?;
    probe.let_pass(probe.short()).await;
    probe.is_held_by(1, token).await?;
    probe.expect(renew(1, token), Reply::Renewed).await
}

/// Every fourth lease was handed back, is asked for under another token, is asked for by another holder, or is live.
pub(crate) async fn renewals_of_one_call_are_judged_alone<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let (mut calls, mut wanted) = (Vec::new(), Vec::new());
    for election in 0..requests_in_two_calls(probe.traits.renewals_in_call) {
        let key = key(&format!("job-{election}"))?;
        let (token, _) = as_grant(&probe.ask_about(&key, acquire(1, None)).await?)?;
        let (request, reply) = match election % 4 {
            0 => {
                let released = probe.ask_about(&key, release(1, token)).await?;
                must(released == Reply::Released, || format!("{released:?} instead of a release"))?;
                (renew_for(1, token, LONG * 3), None)
            }
            1 => (renew_for(1, token.next(), LONG * 3), None),
            2 => (renew_for(2, token, LONG * 3), None),
            _ => (renew_for(1, token, LONG * 3), Some(Reply::Renewed)),
        };
        calls.push((key, request));
        wanted.push(reply.unwrap_or(Reply::Superseded { last: Some(token) }));
    }
    // The first renewal over a connection may take another way than later ones.
    for _ in 0..2 {
        let mut replies = Vec::new();
        for call in calls.chunks(probe.traits.renewals_in_call.max(1)) {
            replies.extend(probe.store.call_all(call.to_vec()).await);
        }
        probe.note(format!("{} renewals in calls -> {replies:?}", calls.len()));
        must(replies.len() == wanted.len(), || format!("{} answers", replies.len()))?;
        for (place, (reply, wanted)) in replies.iter().zip(&wanted).enumerate() {
            let same = reply.as_ref().is_ok_and(|reply| reply == wanted);
            must(same, || format!("renewal {place}: {reply:?} instead of {wanted:?}"))?;
        }
    }
    for (election, (key, _)) in calls.iter().enumerate() {
        let extended = match probe.ask_about(key, Request::Observe).await? {
            Reply::Held(incumbent) => incumbent.remaining > LONG * 2,
            _ => false,
        };
        must(extended == (election % 4 == 3), || {
            format!("election {election} was {}extended", if extended { "" } else { "not " })
        })?;
    }
    Ok(())
}

/// Rivals of one process may renew in the same call. An earlier tenure of the same holder is a rival too.
pub(crate) async fn rivals_renewals_in_one_call_are_told_apart<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let (key, first) = (key("job")?, probe.past_tenure(2).await?);
    let (second, _) = probe.granted(acquire(1, Some(first))).await?;
    probe.expect(release(1, second), Reply::Released).await?;
    let (last, _) = probe.granted(acquire(2, Some(second))).await?;
    let present = renew_for(2, last, LONG * 3);
    let (other_holder, same_holder) = (renew(1, second), renew(2, first));
    let both = [&other_holder, &present, &same_holder, &present];
    // The first renewal over a connection may take another way than later ones.
    for order in [[0, 1], [0, 1], [1, 0], [1, 2], [2, 1], [1, 3]] {
        let asked = order.map(|place| (key.clone(), both[place].clone()));
        let mut replies = Vec::new();
        for call in asked.chunks(probe.traits.renewals_in_call.max(1)) {
            replies.extend(probe.store.call_all(call.to_vec()).await);
        }
        probe.note(format!("{asked:?} in one call -> {replies:?}"));
        must(replies.len() == asked.len(), || format!("{} answers", replies.len()))?;
        for ((_, request), reply) in asked.iter().zip(&replies) {
            let superseded = Reply::Superseded { last: Some(last) };
            let wanted = if *request == present { Reply::Renewed } else { superseded };
            must(reply.as_ref().is_ok_and(|reply| *reply == wanted), || {
                format!("{request:?} in one call with its rival: {reply:?} instead of {wanted:?}")
            })?;
        }
    }
    let remaining = probe.is_held_by(2, last).await?.remaining;
    must(remaining > LONG * 2, || format!("only {remaining:?} remain: it was not extended"))
}

pub(crate) async fn a_release_ends_its_own_live_lease<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let token = probe.past_tenure(1).await?;
    probe.expect(Request::Observe, Reply::Vacant).await?;
    let (next, _) = probe.granted(acquire(2, Some(token))).await?;
    must(next > token, || format!("{next} is granted after {token}"))
}

pub(crate) async fn anything_else_is_not_held<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let first = probe.past_tenure(1).await?;
    probe.expect(release(1, first), Reply::NotHeld).await?;
    let (second, _) = probe.granted(acquire(2, Some(first))).await?;
    for (number, token) in [(1, second), (2, second.next()), (2, first), (1, first)] {
        probe.expect(release(number, token), Reply::NotHeld).await?;
    }
    probe.is_held_by(2, second).await?;
    Ok(())
}

/// The most attempts on a slow machine that takes longer than the least TTL between two requests.
const TRIES: u128 = 20;

pub(crate) async fn the_least_ttl_is_kept<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let (mut seen, short) = (None, probe.short());
    for number in 1..=TRIES {
        let (token, _) = probe.granted(acquire_for(number, seen, short)).await?;
        let is_live = matches!(probe.ask(Request::Observe).await?, Reply::Held(_));
        probe.let_pass(short).await;
        probe.expect(Request::Observe, Reply::Vacant).await?;
        if is_live {
            return Ok(());
        }
        seen = Some(token);
    }
    broken(format!("in {TRIES} attempts no lease of {short:?} was live right after its grant"))
}

/// Hints are unreliable, and the first one means that the subscription is fresh.
const HINTED_WITHIN: Duration = Duration::from_secs(20);

pub(crate) async fn a_release_sends_a_hint<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let (token, _) = probe.granted(acquire(1, None)).await?;
    let waits = probe.harness.connect().await;
    let mut hints = pin!(waits.hints(Watched::only([key("job")?])));
    let fresh = tokio::time::timeout(HINTED_WITHIN, hints.next()).await;
    must(matches!(fresh, Ok(Some(_))), || "no hint came after the subscription".into())?;
    // Further hints because of the subscription end after a while.
    while let Ok(Some(_)) = tokio::time::timeout(HINTED_WITHIN / 20, hints.next()).await {}
    probe.expect(release(1, token), Reply::Released).await?;
    let hinted = tokio::time::timeout(HINTED_WITHIN, hints.next()).await;
    must(matches!(hinted, Ok(Some(_))), || format!("no hint came within {HINTED_WITHIN:?}"))
}
