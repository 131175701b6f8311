//! Rows about the duration of a lease.

use std::time::{Duration, Instant};

use tenure::Token;
use tenure::store::{Reply, Request, Store, StoreErrorKind};

use super::Stop;
use crate::conformance::Harness;
use crate::conformance::probe::{
    Found, LONG, Probe, acquire, acquire_after, as_grant, key, must, release, renew_for,
};

/// The most attempts on a machine that is too slow for a cut to show.
const TRIES: u128 = 24;
/// The part of these TTLs that a store with a precision of a tenth of a second cuts off. A cut shows for half of it.
const CUT: Duration = Duration::from_millis(90);

/// Seconds and most of a second: cut to whole seconds or tenths, it is shorter by at least [`CUT`].
fn uneven(seconds: u64) -> Duration {
    Duration::from_millis(seconds * 1_000 + 990)
}

const TOO_SLOW: Stop =
    Stop::Skipped("the store takes too long to answer for a cut of 90 ms to show");

/// The least remaining time after that time, by a clock that is fast by a hundredth.
fn least(ttl: Duration, granularity: Duration, elapsed: Duration) -> Duration {
    ttl.saturating_sub(granularity).saturating_sub(elapsed + elapsed / 100)
}

/// A store may refuse such a TTL.
async fn granted_for<H: Harness>(
    probe: &mut Probe<'_, H>,
    number: u128,
    (seen, ttl): (Option<Token>, Duration),
) -> Found<Token> {
    let request = acquire_after(number, seen, ttl, LONG * 2);
    let job = key("job")?;
    let answer = probe.store.call(&job, request.clone()).await;
    match answer {
        Err(error) if error.kind() == StoreErrorKind::Ttl => {
            probe.note(format!("{request:?} -> {error}"));
            Err(Stop::Skipped("the store refuses TTLs with a part of a second"))
        }
        answer => {
            probe.note(format!("{request:?} -> {answer:?}"));
            let reply = answer
                .map_err(|error| Stop::Broken(format!("it answered with an error: {error}")))?;
            as_grant(&reply).map(|(token, _)| token)
        }
    }
}

pub(crate) async fn a_ttl_is_not_cut<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let (ttl, granularity) = (uneven(LONG.as_secs()), probe.traits.granularity);
    let mut seen = None;
    for number in 1..=TRIES {
        let mut within = true;
        let asked = Instant::now();
        let token = granted_for(probe, number, (seen, ttl)).await?;
        seen = Some(token);
        for what in ["grant", "renewal"] {
            let began = if what == "grant" { asked } else { Instant::now() };
            if what == "renewal" {
                probe.expect(renew_for(number, token, ttl), Reply::Renewed).await?;
            }
            let remaining = probe.is_held_by(number, token).await?.remaining;
            let elapsed = began.elapsed();
            must(remaining >= least(ttl, granularity, elapsed), || {
                format!(
                    "{remaining:?} remain {elapsed:?} after the {what} of a TTL of {ttl:?}; \
                     the granularity is {granularity:?}"
                )
            })?;
            within &= elapsed < CUT / 2;
        }
        probe.expect(release(number, token), Reply::Released).await?;
        if within {
            return Ok(());
        }
    }
    Err(TOO_SLOW)
}

pub(crate) async fn a_lease_is_live_for_its_ttl<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let granularity = probe.traits.granularity;
    let ttl = uneven((probe.short() + granularity).as_secs() + 1);
    // Right before the lease may end, and after its end if its TTL was cut.
    let sleeps = ttl.saturating_sub(granularity).saturating_sub(CUT / 3 * 2);
    let mut seen = None;
    for number in 1..=TRIES {
        let asked = Instant::now();
        let token = granted_for(probe, number, (seen, ttl)).await?;
        seen = Some(token);
        tokio::time::sleep_until((asked + sleeps).into()).await;
        let reply = probe.ask(Request::Observe).await?;
        let elapsed = asked.elapsed();
        // After that the lease may have ended.
        if !least(ttl, granularity, elapsed).is_zero() {
            return must(matches!(reply, Reply::Held(_)), || {
                format!("a lease of {ttl:?} is over {elapsed:?} after its request")
            });
        }
        probe.let_pass(ttl).await;
    }
    Err(TOO_SLOW)
}

pub(crate) async fn the_remaining_time_decreases<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let (token, _) = probe.granted(acquire(1, None)).await?;
    let passed = probe.short().max(CUT);
    probe.let_pass(passed).await;
    // By a clock that is slow by a tenth.
    let most = LONG.saturating_sub(passed / 10 * 9);
    for asked in [Request::Observe, acquire(2, Some(token))] {
        let remaining = probe.held(asked).await?.remaining;
        must(remaining <= most, || {
            format!("{remaining:?} remain of a TTL of {LONG:?}, of which {passed:?} have passed")
        })?;
    }
    Ok(())
}
