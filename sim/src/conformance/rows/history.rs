//! Who has to wait because a leader may be left that the store has forgotten.

use std::time::{Duration, Instant};

use tenure::store::Reply;

use super::acquire::beyond;
use crate::conformance::probe::{
    Found, LONG, Probe, acquire, acquire_after, as_grant, key, must, release,
};
use crate::conformance::{Data, Harness};

/// All of a quarantine, but for what has gone by since `began`.
fn is_whole(wait: Duration, began: Instant) -> Found<()> {
    let least = LONG.saturating_sub(began.elapsed());
    must((least..=LONG).contains(&wait), || {
        format!("the wait is {wait:?}, and must be all of {LONG:?}")
    })
}

pub(crate) async fn a_fresh_store_makes_its_first_leader_wait<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let began = Instant::now();
    let (_, wait) = probe.granted(acquire(1, None)).await?;
    is_whole(wait, began)
}

pub(crate) async fn repeated_grants_carry_the_rest<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let began = Instant::now();
    let (_, first) = probe.granted(acquire(1, None)).await?;
    let (_, rest) = probe.granted(acquire(1, None)).await?;
    must(rest <= first, || format!("{rest:?} are left of {first:?}"))?;
    is_whole(rest, began)
}

pub(crate) async fn the_quarantine_belongs_to_the_store<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let began = Instant::now();
    let (token, first) = probe.granted(acquire(1, None)).await?;
    probe.expect(release(1, token), Reply::Released).await?;
    probe.goes_by(Duration::from_millis(20)).await;
    let (_, next) = probe.granted(acquire(2, Some(token))).await?;
    let reply = probe.ask_about(&key("another job")?, acquire(3, None)).await?;
    let (_, elsewhere) = as_grant(&reply)?;
    for wait in [next, elsewhere] {
        must(wait < first, || format!("{wait:?} are left of {first:?}: it began again"))?;
        is_whole(wait, began)?;
    }
    Ok(())
}

pub(crate) async fn the_quarantine_ends<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let short = probe.short();
    let (token, wait) = probe.granted(acquire_after(1, None, LONG, short)).await?;
    must(wait <= short, || format!("the wait is {wait:?}, and must be at most {short:?}"))?;
    probe.goes_by(short).await;
    let (_, wait) = probe.granted(acquire_after(1, None, LONG, short)).await?;
    must(wait.is_zero(), || format!("{wait:?} are left, though {short:?} have gone by"))?;
    probe.expect(release(1, token), Reply::Released).await?;
    let never_seen = acquire_after(2, None, LONG, short);
    let (_, wait) = as_grant(&probe.ask_about(&key("another job")?, never_seen).await?)?;
    must(wait.is_zero(), || format!("an election that is new there has to wait {wait:?}"))
}

pub(crate) async fn a_proven_loss_makes_wait<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let short = probe.short();
    let (first, _) = probe.granted(acquire_after(1, None, LONG, short)).await?;
    probe.expect(release(1, first), Reply::Released).await?;
    probe.goes_by(short).await;
    let began = Instant::now();
    let (_, wait) = probe.granted(acquire(2, Some(beyond(first)?))).await?;
    is_whole(wait, began)?;
    let (_, again) = probe.granted(acquire(2, None)).await?;
    is_whole(again, began)
}

pub(crate) async fn a_restart_makes_wait<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let short = probe.short();
    let (token, _) = probe.granted(acquire_after(1, None, LONG, short)).await?;
    probe.goes_by(short).await;
    probe.restart(Data::Kept).await?;
    let began = Instant::now();
    let reply = probe.ask_again_and_again(&acquire(1, None)).await?;
    let (same, wait) = as_grant(&reply)?;
    must(same == token, || format!("the lease of {token} is gone, and {same} granted"))?;
    is_whole(wait, began)
}

pub(crate) async fn a_loss_makes_wait<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let short = probe.short();
    let (token, _) = probe.granted(acquire_after(1, None, LONG, short)).await?;
    probe.goes_by(short).await;
    probe.restart(Data::Lost).await?;
    let began = Instant::now();
    // Somebody who knows nothing: nobody tells the store that it has lost anything.
    let reply = probe.ask_again_and_again(&acquire(2, None)).await?;
    let (next, wait) = as_grant(&reply)?;
    is_whole(wait, began)?;
    probe.expect(release(2, next), Reply::Released).await?;
    let known = token.max(next);
    let (next, wait) = probe.granted(acquire(1, Some(known))).await?;
    must(next > known, || format!("{next} is granted to who knows {known}"))?;
    is_whole(wait, began)
}
