//! Rows about the quarantine: the wait for leaders that the store may have forgotten.

use std::time::{Duration, Instant};

use tenure::store::Reply;

use super::acquire::beyond;
use crate::conformance::probe::{
    Found, LONG, Probe, acquire, acquire_after, as_grant, broken, key, must, release, renew_for,
};
use crate::conformance::rows::Stop;
use crate::conformance::{Data, Harness, Mishap};

/// Asserts that the wait is a whole quarantine, less the time since `began`.
fn is_whole(wait: Duration, began: Instant) -> Found<()> {
    let least = LONG.saturating_sub(began.elapsed());
    must((least..=LONG).contains(&wait), || {
        format!("the wait is {wait:?}, and must be the whole {LONG:?}")
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
    probe.let_pass(Duration::from_millis(20)).await;
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
    probe.let_pass(short).await;
    let (_, wait) = probe.granted(acquire_after(1, Some(token), short, short)).await?;
    must(wait.is_zero(), || format!("{wait:?} are left, though {short:?} have passed"))?;
    let never_seen = acquire_after(2, None, short, short);
    let (_, wait) = as_grant(&probe.ask_about(&key("another job")?, never_seen).await?)?;
    must(wait.is_zero(), || format!("another election has to wait {wait:?}"))
}

pub(crate) async fn a_proven_loss_makes_wait<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let short = probe.short();
    let (first, _) = probe.granted(acquire(1, None)).await?;
    probe.expect(release(1, first), Reply::Released).await?;
    probe.let_pass(short).await;
    let began = Instant::now();
    let (_, wait) = probe.granted(acquire(2, Some(beyond(first)?))).await?;
    is_whole(wait, began)?;
    let (_, again) = probe.granted(acquire(2, None)).await?;
    is_whole(again, began)
}

pub(crate) async fn a_restart_makes_wait<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let short = probe.short();
    let (token, _) = probe.granted(acquire_after(1, None, LONG, short)).await?;
    probe.let_pass(short).await;
    probe.restart(Data::Kept).await?;
    let began = Instant::now();
    let reply = probe.ask_until_answered(&acquire(1, None)).await?;
    let (same, wait) = as_grant(&reply)?;
    must(same == token, || format!("the lease of {token} was lost, and {same} was granted"))?;
    is_whole(wait, began)
}

pub(crate) async fn a_loss_makes_wait<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let short = probe.short();
    let (token, _) = probe.granted(acquire_after(1, None, LONG, short)).await?;
    probe.let_pass(short).await;
    probe.restart(Data::Lost).await?;
    let began = Instant::now();
    // A candidate that knows no token: no request shows the store that it has lost anything.
    let reply = probe.ask_until_answered(&acquire(2, None)).await?;
    let (next, wait) = as_grant(&reply)?;
    is_whole(wait, began)?;
    probe.expect(release(2, next), Reply::Released).await?;
    let known = token.max(next);
    let (next, wait) = probe.granted(acquire(1, Some(known))).await?;
    must(next > known, || format!("{next} is granted to a candidate that knows {known}"))?;
    is_whole(wait, began)
}

pub(crate) async fn the_longest_ttl_is_waited_out<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let (longest, began) = (LONG * 2, Instant::now());
    probe.granted(acquire_after(1, None, longest, longest)).await?;
    // Another election, about which the first one's record contains nothing.
    let reply = probe.ask_about(&key("another job")?, acquire(2, None)).await?;
    let (_, wait) = as_grant(&reply)?;
    let least = longest.saturating_sub(began.elapsed());
    must((least..=longest).contains(&wait), || {
        format!("the wait is {wait:?}, but a lease of {longest:?} may be left")
    })
}

/// The first TTL of a lease that must be live when it is renewed over a new connection. It is doubled
/// if the renewal is too late.
const RENEWED_WITHIN: Duration = Duration::from_millis(500);
const LENGTHS: u32 = 6;

pub(crate) async fn a_renewal_begins_the_history<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let mut seen = None;
    for doubled in 0..LENGTHS {
        let ttl = probe.short().max(RENEWED_WITHIN * (1 << doubled));
        // The quarantine is longer than all these TTLs, so no settings contradict each other.
        let longest = RENEWED_WITHIN * (1 << LENGTHS);
        let (token, _) = probe.granted(acquire_after(1, seen, ttl, longest.max(ttl))).await?;
        if !probe.suffers(Mishap::OtherServer).await {
            return Err(Stop::Skipped("the harness can't replace the server"));
        }
        probe.store = probe.harness.connect().await;
        match probe.ask(renew_for(1, token, ttl)).await? {
            Reply::Renewed => return waits_for_nothing(probe, token, ttl).await,
            Reply::Superseded { .. } => seen = Some(token),
            other => return broken(format!("a renewal was answered with {other:?}")),
        }
    }
    broken("no renewal was in time")
}

/// Asserts that there is no wait a TTL and a quarantine after the renewal. The lease has ended by itself.
async fn waits_for_nothing<H: Harness>(
    probe: &mut Probe<'_, H>,
    token: tenure::Token,
    ttl: Duration,
) -> Found<()> {
    probe.let_pass(ttl * 2).await;
    // Another election, since this one's record asks for a longer quarantine.
    let reply = probe.ask_about(&key("another job")?, acquire_after(2, None, ttl, ttl)).await?;
    let (_, wait) = as_grant(&reply)?;
    must(wait.is_zero(), || {
        format!("{wait:?} are left, though the tenure {token} was renewed {:?} ago", ttl * 2)
    })
}
