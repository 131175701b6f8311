//! Rows about the deletion of records. A store without it is skipped.

use std::time::Duration;

use tenure::Token;
use tenure::store::{HistoryKind, Promise, Reply, Request};

use crate::conformance::Harness;
use crate::conformance::probe::{
    Found, Probe, acquire, acquire_after, as_grant, broken, key, must, release, renew,
};

/// The most purges until a record is deleted, at intervals of a quarter of the shortest TTL: a lease and the time for which
/// its settings bind take two such TTLs, and a store that has no clock for clients may count the second of them late.
const TRIES: u32 = 32;

/// Far above all tokens that are granted.
const AHEAD: u64 = 1_000_000_000_000;

/// One lease is live, one was handed back a moment ago, and one was handed back and is held again.
pub(crate) async fn a_purge_leaves_live_and_recent_elections<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    probe.purged().await?;
    let [live, recent, again] = [key("live")?, key("recent")?, key("again")?];
    let mut last = Vec::new();
    for job in [&live, &recent, &again] {
        last.push(as_grant(&probe.ask_about(job, acquire(1, None)).await?)?.0);
    }
    for (job, token) in [(&recent, last[1]), (&again, last[2])] {
        let released = probe.ask_about(job, release(1, token)).await?;
        must(released == Reply::Released, || format!("{released:?} instead of a release"))?;
    }
    let held = as_grant(&probe.ask_about(&again, acquire(2, Some(last[2]))).await?)?.0;
    let deleted = probe.purged().await?;
    must(deleted == 0, || format!("{deleted} records were deleted; none ended long ago"))?;
    for (job, number, token) in [(&live, 1, last[0]), (&again, 2, held)] {
        let renewed = probe.ask_about(job, renew(number, token)).await?;
        must(renewed == Reply::Renewed, || format!("a live lease was purged: {renewed:?}"))?;
        match probe.ask_about(job, Request::Observe).await? {
            Reply::Held(incumbent) if incumbent.token == token => {}
            other => return broken(format!("the lease is held by {token}, and not {other:?}")),
        }
    }
    let stale = probe.ask_about(&recent, acquire(2, None)).await?;
    must(stale == Reply::Stale { last: last[1] }, || {
        format!("a lease that has just ended was purged: {stale:?}")
    })
}

/// An election whose token is ahead of the store's clock takes part: its record may stay.
pub(crate) async fn tokens_increase_after_a_purge<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    probe.purged().await?;
    let ttl = probe.short();
    let [unknown, known, ahead] = [key("unknown")?, key("known")?, key("ahead")?];
    let mut last = Vec::new();
    for job in [&unknown, &known] {
        let reply = probe.ask_about(job, acquire_after(1, None, ttl, ttl)).await?;
        last.push(as_grant(&reply)?.0);
    }
    let seen = Token::new(last[1].get().saturating_add(AHEAD));
    let reply = probe.ask_about(&ahead, acquire_after(1, seen, ttl, ttl)).await?;
    last.push(as_grant(&reply)?.0);
    let (mut deleted, mut tries) = (0, 0);
    while deleted < 2 {
        must(tries < TRIES, || format!("{deleted} of 2 records were deleted after 8 TTLs"))?;
        probe.harness.wait(ttl / 4).await;
        (deleted, tries) = (deleted + probe.purged().await?, tries + 1);
    }
    must(deleted <= 3, || format!("{deleted} records were deleted of 3"))?;
    for (job, token) in [(&unknown, last[0]), (&ahead, last[2])] {
        match probe.ask_about(job, acquire_after(2, None, ttl, ttl)).await? {
            Reply::Stale { last } if last == token => {}
            Reply::Granted { token: next, .. } if next > token => {}
            other => return broken(format!("{token} was granted before, and now {other:?}")),
        }
    }
    let reply = probe.ask_about(&known, acquire_after(2, Some(last[1]), ttl, ttl)).await?;
    let (next, wait) = as_grant(&reply)?;
    must(next > last[1], || format!("{next} is granted after {}", last[1]))?;
    let traits = &probe.traits;
    let waits_for_losses =
        traits.history != HistoryKind::SharesFate && !traits.gives_up.contains(&Promise::StoreLoss);
    must(!waits_for_losses || wait == Duration::ZERO, || {
        format!("a token that was purged counts as the proof of a loss: a wait of {wait:?}")
    })
}
