//! Rows about the deletion of records. A store without it is skipped.

use std::time::Duration;

use tenure::Token;
use tenure::store::Reply;
use tenure::store::contract::{Acquire, Loss};

use super::acquire::beyond;
use crate::conformance::probe::{Found, LONG, Probe, RENEWED, must, release, request, watched};

/// The most purges until a record is deleted, at intervals of a quarter of the shortest TTL: a
/// purge watches a record for the longer of its TTL and its quarantine, from the first purge that
/// has seen it.
const TRIES: u32 = 32;
/// Two readings of a store's clock that are so far apart differ.
const CLOCK_MOVES: Duration = Duration::from_millis(5);

/// One lease is held, one was given back and is held again, and one is renewed before each purge.
pub(crate) async fn a_purge_leaves_leases(probe: &mut Probe<'_>) -> Found<()> {
    probe.purged().await?;
    let jobs = [probe.settled("held").await?, probe.settled("again").await?];
    let ttl = probe.short();
    let mut tokens = Vec::new();
    for job in &jobs {
        tokens.push(probe.granted_about(job, probe.acquire(1, None)).await?);
    }
    let released = probe.ask_about(&jobs[1], release(1, tokens[1])).await?;
    must(released == Reply::Released, || format!("{released:?} instead of a release"))?;
    tokens[1] = probe.granted_about(&jobs[1], probe.acquire(2, Some(tokens[1]))).await?;
    let renewed = probe.settled("renewed").await?;
    // A server that ends leases ends a short one on a slow machine.
    let ttl_of_renewed = if probe.traits.ends_leases { LONG } else { ttl };
    let asks = Acquire { ttl: ttl_of_renewed, quarantine: ttl, ..probe.acquire(1, None) };
    let token = probe.granted_about(&renewed, asks).await?;
    for _ in 0..8 {
        let reply = probe.ask_about(&renewed, probe.renew(1, token)).await?;
        must(reply == RENEWED, || format!("a lease was purged that is renewed: {reply:?}"))?;
        let deleted = probe.purged().await?;
        must(deleted == 0, || format!("{deleted} records were deleted of leases that are held"))?;
        probe.harness.wait(ttl / 4).await;
    }
    for ((job, candidate), token) in jobs.iter().zip([1, 2]).zip(tokens) {
        probe.is_held_about(job, (candidate, token)).await?;
    }
    Ok(())
}

/// One lease was given back, one was not, and one has a token that is ahead of the store's clock.
pub(crate) async fn tokens_increase_after_a_purge(probe: &mut Probe<'_>) -> Found<()> {
    probe.purged().await?;
    let ttl = probe.short();
    let mut jobs = Vec::new();
    for name in ["released", "held", "ahead"] {
        jobs.push(probe.settled(name).await?);
    }
    let short = |asks| Acquire { ttl, quarantine: ttl, ..asks };
    let mut last: Vec<Token> = Vec::new();
    for job in &jobs[..2] {
        last.push(probe.granted_about(job, short(probe.acquire(1, None))).await?);
    }
    let released = probe.ask_about(&jobs[0], release(1, last[0])).await?;
    must(released == Reply::Released, || format!("{released:?} instead of a release"))?;
    let asks = short(probe.acquire(1, Some(beyond(last[1])?)));
    let told = probe.refused_about(&jobs[2], asks).await?.sight;
    let stamp = told.past.map(|past| watched(past, LONG));
    let (loss, number) = (Some(Loss { last: told.last }), probe.next_number());
    last.push(probe.granted_about(&jobs[2], Acquire { lost: loss, stamp, number, ..asks }).await?);
    let (mut deleted, mut tries) = (0, 0);
    while deleted < 3 {
        must(tries < TRIES, || format!("{deleted} of 3 records were deleted after 8 TTLs"))?;
        probe.harness.wait(CLOCK_MOVES.max(ttl / 4)).await;
        (deleted, tries) = (deleted + probe.purged().await?, tries + 1);
    }
    must(deleted == 3, || format!("{deleted} records were deleted of 3"))?;
    for (job, token) in jobs.iter().zip(last) {
        // A late duplicate does not know it.
        let told = probe.refused_about(job, short(probe.acquire(2, None))).await?.sight;
        must(told.last >= Some(token), || format!("{token} was purged, and not {:?}", told.last))?;
        // A token that was purged proves no loss.
        if let Reply::Not(shown) =
            probe.ask_about(job, request(short(probe.acquire(2, Some(token))))).await?
        {
            must(shown.sight.past.is_none(), || {
                format!("{token} was purged, not lost: {shown:?}")
            })?;
        }
        let asks = short(probe.acquire(2, told.last));
        let next = probe.granted_about(job, asks).await?;
        must(next > token, || format!("{next} is granted after {token}"))?;
    }
    Ok(())
}
