//! Who has to wait because a leader may be left that the store has forgotten.

use std::time::{Duration, Instant};

use tenure::store::Reply;

use super::acquire::beyond;
use crate::conformance::probe::{
    Found, LONG, Probe, acquire, acquire_after, as_grant, broken, key, must, release, renew_for,
};
use crate::conformance::rows::Stop;
use crate::conformance::{Data, Harness, Mishap};

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
    let (token, wait) = probe.granted(acquire_after(1, None, short, short)).await?;
    must(wait <= short, || format!("the wait is {wait:?}, and must be at most {short:?}"))?;
    probe.goes_by(short).await;
    let (_, wait) = probe.granted(acquire_after(1, Some(token), short, short)).await?;
    must(wait.is_zero(), || format!("{wait:?} are left, though {short:?} have gone by"))?;
    let never_seen = acquire_after(2, None, short, short);
    let (_, wait) = as_grant(&probe.ask_about(&key("another job")?, never_seen).await?)?;
    must(wait.is_zero(), || format!("an election that is new there has to wait {wait:?}"))
}

pub(crate) async fn a_proven_loss_makes_wait<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let short = probe.short();
    let (first, _) = probe.granted(acquire(1, None)).await?;
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

pub(crate) async fn the_longest_ttl_is_waited_out<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let (longest, began) = (LONG * 2, Instant::now());
    probe.granted(acquire_after(1, None, longest, longest)).await?;
    // Of another election, to which no record of the first one says anything.
    let reply = probe.ask_about(&key("another job")?, acquire(2, None)).await?;
    let (_, wait) = as_grant(&reply)?;
    let least = longest.saturating_sub(began.elapsed());
    must((least..=longest).contains(&wait), || {
        format!("the wait is {wait:?}; a lease of {longest:?} may be left")
    })
}

/// The first length of a lease that must be live when it is renewed, over a new connection. It is doubled
/// if that has come too late.
const RENEWED_WITHIN: Duration = Duration::from_millis(500);
const LENGTHS: u32 = 6;

pub(crate) async fn a_renewal_begins_the_history<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let mut seen = None;
    for doubled in 0..LENGTHS {
        let ttl = probe.short().max(RENEWED_WITHIN * (1 << doubled));
        // Longer ones every time: what is longer contradicts nothing.
        let longest = RENEWED_WITHIN * (1 << LENGTHS);
        let (token, _) = probe.granted(acquire_after(1, seen, ttl, longest.max(ttl))).await?;
        if !probe.suffers(Mishap::OtherServer).await {
            return Err(Stop::Skipped("the harness can't replace the server"));
        }
        probe.store = probe.harness.connect().await;
        match probe.ask(renew_for(1, token, ttl)).await? {
            Reply::Renewed => return waits_for_nothing_in_the_end(probe, token, ttl).await,
            Reply::Superseded { .. } => seen = Some(token),
            other => return broken(format!("a renewal was answered with {other:?}")),
        }
    }
    broken("no renewal came in time")
}

/// A TTL and a quarantine after the renewal. The lease has ended by itself.
async fn waits_for_nothing_in_the_end<H: Harness>(
    probe: &mut Probe<'_, H>,
    token: tenure::Token,
    ttl: Duration,
) -> Found<()> {
    probe.goes_by(ttl * 2).await;
    // Another election, since this one's record asks for a longer quarantine.
    let reply = probe.ask_about(&key("another job")?, acquire_after(2, None, ttl, ttl)).await?;
    let (_, wait) = as_grant(&reply)?;
    must(wait.is_zero(), || {
        format!("{wait:?} are left, though the tenure {token} was renewed {:?} ago", ttl * 2)
    })
}
