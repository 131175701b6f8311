//! Rows about a lease that was granted.

use std::pin::pin;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use tenure::store::contract::{Acquire, Wish};
use tenure::store::{Reply, Request, Store, Watched};

use crate::conformance::probe::{Found, Probe, RENEWED, broken, key, must, release};

pub(crate) async fn a_renewal_changes_the_mark(probe: &mut Probe<'_>) -> Found<()> {
    let token = probe.granted(probe.acquire(1, None)).await?;
    for _ in 0..2 {
        let before = probe.is_held_by(1, token).await?;
        let mark = probe.is_renewed(1, token).await?;
        let after = probe.is_held_by(1, token).await?;
        let is = after.mark();
        must(probe.traits.ends_leases || is == mark, || {
            format!("the renewal has the mark {mark:?}, and the record {is:?}")
        })?;
        let settings = |record: tenure_core::contract::Record| (record.ttl, record.quarantine);
        must(settings(after) == settings(before), || {
            format!("a renewal has changed the settings: {after:?}")
        })?;
    }
    Ok(())
}

pub(crate) async fn an_older_renewal_changes_nothing(probe: &mut Probe<'_>) -> Found<()> {
    let token = probe.granted(probe.acquire(1, None)).await?;
    let (older, newer) = (probe.renew(1, token), probe.renew(1, token));
    probe.expect(newer.clone(), RENEWED).await?;
    let before = probe.is_held_by(1, token).await?;
    for late in [older, newer] {
        probe.expect(late, RENEWED).await?;
        let after = probe.is_held_by(1, token).await?;
        must(after == before, || format!("it was {before:?}, and is {after:?}"))?;
    }
    Ok(())
}

pub(crate) async fn anything_else_is_superseded(probe: &mut Probe<'_>) -> Found<()> {
    let first = probe.past_tenure(1).await?;
    probe.expect(probe.renew(1, first), Reply::Superseded { last: Some(first) }).await?;
    let second = probe.granted(probe.acquire(2, Some(first))).await?;
    let before = probe.is_held_by(2, second).await?;
    // Another holder, another token, both, and the tenure before it.
    for (number, token) in [(1, second), (2, second.next()), (2, first), (1, first)] {
        let superseded = Reply::Superseded { last: Some(second) };
        probe.expect(probe.renew(number, token), superseded).await?;
    }
    let after = probe.is_held_by(2, second).await?;
    must(after == before, || format!("it was {before:?}, and is {after:?}"))
}

pub(crate) async fn an_ended_tenure_is_never_resurrected(probe: &mut Probe<'_>) -> Found<()> {
    let token = probe.granted(probe.acquire(1, None)).await?;
    probe.expect(release(1, token), Reply::Released).await?;
    probe.expect(probe.renew(1, token), Reply::Superseded { last: Some(token) }).await?;
    probe.expect(release(1, token), Reply::NotHeld).await?;
    probe.refused(probe.acquire(1, None)).await?;
    let record = probe.record().await?;
    must(record.released, || format!("the lease was given back, and is {record:?}"))?;
    let next = probe.granted(probe.acquire(1, Some(token))).await?;
    must(next > token, || format!("{next} is granted after {token}"))
}

/// The shortest lease, ten times as long as it lasts.
pub(crate) async fn no_clock_of_the_store_ends_leases(probe: &mut Probe<'_>) -> Found<()> {
    let ttl = probe.short();
    let asks = probe.acquire(1, None);
    let token = probe.granted(Acquire { ttl, ..asks }).await?;
    probe.let_pass(ttl * 10).await;
    for seen in [None, Some(token)] {
        probe.refused(Acquire { ttl, ..probe.acquire(2, seen) }).await?;
    }
    probe.is_held_by(1, token).await?;
    probe.is_renewed(1, token).await?;
    Ok(())
}

/// The most attempts on a slow machine that takes longer than the least TTL between two requests.
const TRIES: u128 = 20;

/// Needs a server that ends leases itself.
pub(crate) async fn the_least_ttl_is_kept(probe: &mut Probe<'_>) -> Found<()> {
    let (mut seen, short) = (None, probe.short());
    for number in 1..=TRIES {
        let asks = probe.acquire(number, seen);
        let token = probe.granted(Acquire { ttl: short, ..asks }).await?;
        let is_live = probe.look().await?.incumbent().is_some();
        probe.let_pass(short).await;
        let after = probe.look().await?.incumbent();
        must(after.is_none(), || format!("after {short:?} the lease is held by {after:?}"))?;
        if is_live {
            return Ok(());
        }
        seen = Some(token);
    }
    broken(format!("in {TRIES} attempts no lease of {short:?} was live right after its grant"))
}

pub(crate) async fn a_release_ends_its_own_lease(probe: &mut Probe<'_>) -> Found<()> {
    let token = probe.past_tenure(1).await?;
    let shown = probe.look().await?;
    must(shown.incumbent().is_none(), || format!("the lease was given back, and yet {shown:?}"))?;
    let next = probe.granted(probe.acquire(2, Some(token))).await?;
    must(next > token, || format!("{next} is granted after {token}"))
}

pub(crate) async fn anything_else_is_not_held(probe: &mut Probe<'_>) -> Found<()> {
    let first = probe.past_tenure(1).await?;
    probe.expect(release(1, first), Reply::NotHeld).await?;
    let second = probe.granted(probe.acquire(2, Some(first))).await?;
    for (number, token) in [(1, second), (2, second.next()), (2, first), (1, first)] {
        probe.expect(release(number, token), Reply::NotHeld).await?;
    }
    probe.is_held_by(2, second).await?;
    Ok(())
}

const PASSED: Duration = Duration::from_millis(300);

/// It is a hint. So it is compared roughly, with the time that has passed on this machine.
pub(crate) async fn the_age_of_a_mark_is_told(probe: &mut Probe<'_>) -> Found<()> {
    let token = probe.granted(probe.acquire(1, None)).await?;
    probe.let_pass(PASSED).await;
    for _ in 0..2 {
        let began = Instant::now();
        probe.is_renewed(1, token).await?;
        probe.let_pass(PASSED).await;
        let Some(incumbent) = probe.look().await?.incumbent() else {
            return broken("the lease is held, and the answer has no incumbent");
        };
        let (age, most) = (incumbent.renewed_ago, began.elapsed() * 2);
        must((PASSED / 2..=most).contains(&age), || {
            format!("{age:?} instead of {PASSED:?} since the renewal")
        })?;
    }
    Ok(())
}

/// Hints are unreliable, and the first one means that the subscription is fresh.
const HINTED_WITHIN: Duration = Duration::from_secs(20);

pub(crate) async fn wishes_and_releases_send_hints(probe: &mut Probe<'_>) -> Found<()> {
    let token = probe.granted(probe.acquire(1, None)).await?;
    let waits = probe.harness.connect().await;
    let mut hints = pin!(waits.hints(Watched::only([key("job")?])));
    let wish = Request::Want { token, wish: Some(Wish::Anybody) };
    let causes = [
        ("a subscription", None),
        ("a wish", Some((wish, Reply::Noted))),
        ("a release", Some((release(1, token), Reply::Released))),
    ];
    for (cause, request) in causes {
        if let Some((request, reply)) = request {
            probe.expect(request, reply).await?;
        }
        let hinted = tokio::time::timeout(HINTED_WITHIN, hints.next()).await;
        must(matches!(hinted, Ok(Some(_))), || {
            format!("no hint came within {HINTED_WITHIN:?} after {cause}")
        })?;
        // Further ones for the same cause end after a while.
        while let Ok(Some(_)) = tokio::time::timeout(HINTED_WITHIN / 20, hints.next()).await {}
    }
    Ok(())
}
