//! Rows about the past of a store: what has to be watched after grants may have been lost.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure::Token;
use tenure::store::contract::{Acquire, Loss, Stamp, UnwatchedPast};
use tenure::store::{Reply, Request, Shown};

use super::Stop;
use super::acquire::beyond;
use crate::conformance::probe::{
    Found, LONG, LOOK, Probe, RENEWED, as_grant, broken, key, must, release, request, watched,
};
use crate::conformance::{Data, Mishap};

/// Too short for a quarantine.
const ALMOST: Duration = Duration::from_secs(59);

/// The past that is to be watched.
fn unwatched(shown: &Shown) -> Found<UnwatchedPast> {
    shown.sight.past.map_or_else(|| broken(format!("no past is to be watched: {shown:?}")), Ok)
}

/// Asserts that this past is still to be watched.
fn is_same(past: UnwatchedPast, shown: &Shown) -> Found<()> {
    let stamp = unwatched(shown)?.stamp;
    must(stamp == past.stamp, || format!("{stamp:?} is to be watched instead of {past:?}"))
}

impl Probe<'_> {
    /// An acquire of a candidate that has watched the past for that long.
    fn after(&self, candidate: u128, past: UnwatchedPast, time: Duration) -> Acquire {
        Acquire { stamp: Some(watched(past, time)), ..self.acquire(candidate, None) }
    }

    /// A grant after the past was watched, whatever it is.
    async fn begun(&mut self, candidate: u128) -> Found<Token> {
        let past = unwatched(&self.look().await?)?;
        self.granted(self.after(candidate, past, LONG)).await
    }

    async fn moves(&mut self) -> Found<()> {
        if !self.suffers(Mishap::OtherServer).await {
            return Err(Stop::Skipped("the harness can't replace the server"));
        }
        self.reconnect().await;
        Ok(())
    }
}

pub(crate) async fn a_fresh_store_grants_nobody_anything(probe: &mut Probe<'_>) -> Found<()> {
    let past = unwatched(&probe.refused(probe.acquire(1, None)).await?)?;
    is_same(past, &probe.look().await?)?;
    for candidate in [1, 2, 1] {
        is_same(past, &probe.refused(probe.acquire(candidate, None)).await?)?;
    }
    if !probe.traits.past_per_election {
        let other = key("another job")?;
        is_same(past, &probe.refused_about(&other, probe.acquire(3, None)).await?)?;
    }
    probe.granted(probe.after(1, past, LONG)).await?;
    Ok(())
}

pub(crate) async fn a_past_is_watched_for_all(probe: &mut Probe<'_>) -> Found<()> {
    let past = unwatched(&probe.look().await?)?;
    is_same(past, &probe.refused(probe.after(1, past, ALMOST)).await?)?;
    // A watch of something else, and a shorter one.
    let other = UnwatchedPast { stamp: Stamp::from_bits(past.stamp.to_bits() ^ 1), ..past };
    is_same(past, &probe.refused(probe.after(2, other, LONG)).await?)?;
    is_same(past, &probe.refused(probe.after(2, past, Duration::ZERO)).await?)?;
    // For a shorter quarantine it was watched already.
    let shorter = Acquire { ttl: ALMOST, quarantine: ALMOST, ..probe.acquire(3, None) };
    let job = key("a third job")?;
    probe.granted_about(&job, shorter).await?;
    let token = probe.granted(probe.after(2, past, LONG)).await?;
    let shown = probe.look().await?;
    must(shown.sight.past.is_none(), || format!("the past was watched, and yet {shown:?}"))?;
    // Whoever comes later has nothing to watch, in no election.
    probe.granted_about(&key("another job")?, probe.acquire(4, None)).await?;
    probe.expect(release(2, token), Reply::Released).await?;
    probe.granted(probe.acquire(1, Some(token))).await?;
    // Except by a longer quarantine.
    let longer = Acquire { quarantine: LONG * 2, ..probe.acquire(5, None) };
    is_same(past, &probe.refused_about(&key("a fourth job")?, longer).await?)
}

pub(crate) async fn an_unwatched_past_refuses_its_leader(probe: &mut Probe<'_>) -> Found<()> {
    let token = probe.begun(1).await?;
    let asks = Acquire { seen: Some(beyond(token)?), ..probe.acquire(2, None) };
    let past = unwatched(&probe.refused(asks).await?)?;
    is_same(past, &probe.refused(probe.acquire(1, Some(token))).await?)?;
    // It may go on, and is told.
    let Reply::Renewed { past: told, .. } = probe.ask(probe.renew(1, token)).await? else {
        return broken("the tenure is live");
    };
    must(told == Some(past), || format!("the leader is told {told:?}, and not {past:?}"))?;
    let again = probe.granted(probe.after(1, past, LONG)).await?;
    must(again == token, || format!("{again} is another tenure than {token}"))
}

pub(crate) async fn a_leader_watches_the_past(probe: &mut Probe<'_>) -> Found<()> {
    let token = probe.begun(1).await?;
    let asks = Acquire { seen: Some(beyond(token)?), ..probe.acquire(2, None) };
    let past = unwatched(&probe.refused(asks).await?)?;
    let renewal = |probe: &Probe<'_>, time| match probe.renew(1, token) {
        Request::Renew { holder, token, number, .. } => {
            Request::Renew { holder, token, number, stamp: Some(watched(past, time)) }
        }
        other => other,
    };
    let older = renewal(probe, LONG);
    let is_unwatched = Reply::Renewed { asked: None, wanted: None, past: Some(past) };
    probe.expect(renewal(probe, ALMOST), is_unwatched.clone()).await?;
    // It changes nothing.
    probe.expect(older, is_unwatched).await?;
    is_same(past, &probe.look().await?)?;
    probe.expect(renewal(probe, LONG), RENEWED).await?;
    if !probe.traits.past_per_election {
        probe.granted_about(&key("another job")?, probe.acquire(3, None)).await?;
    }
    must(probe.look().await?.sight.past.is_none(), || "the past was watched".to_owned())
}

pub(crate) async fn the_longest_ttl_is_watched(probe: &mut Probe<'_>) -> Found<()> {
    let longest = LONG * 2;
    let past = unwatched(&probe.look().await?)?;
    let asks = Acquire { ttl: longest, quarantine: longest, ..probe.after(1, past, longest) };
    let token = probe.granted(asks).await?;
    probe.expect(release(1, token), Reply::Released).await?;
    // Another election, about which the first one's record contains nothing.
    let other = key("another job")?;
    let asks = Acquire { seen: Some(beyond(token)?), ..probe.acquire(2, None) };
    let told = probe.refused_about(&other, asks).await?;
    let past = unwatched(&told)?;
    must(past.longest == longest, || format!("the longest TTL is {longest:?}, not {past:?}"))?;
    let lost = Some(Loss { last: told.sight.last });
    let after = |probe: &Probe<'_>, time| {
        let asks = Acquire { lost, seen: asks.seen, ..probe.after(2, past, time) };
        request(asks)
    };
    match probe.ask_about(&other, after(probe, LONG)).await? {
        Reply::Not(shown) => is_same(past, &shown)?,
        other => return broken(format!("a lease of {longest:?} may be left, and yet {other:?}")),
    }
    let token = as_grant(&probe.ask_about(&other, after(probe, longest)).await?)?;
    must(Some(token) > asks.seen, || format!("{token} is granted after {:?}", asks.seen))
}

pub(crate) async fn a_proven_loss_begins_another_past(probe: &mut Probe<'_>) -> Found<()> {
    let first = probe.begun(1).await?;
    probe.expect(release(1, first), Reply::Released).await?;
    let before = {
        let longer = Request::Look { seen: None, quarantine: LONG * 2 };
        let Reply::At(shown) = probe.ask(longer).await? else { return broken("a look has failed") };
        unwatched(&shown)?
    };
    let seen = Some(beyond(first)?);
    let told = probe.refused(probe.acquire(2, seen)).await?;
    let past = unwatched(&told)?;
    must(past.stamp != before.stamp, || format!("the loss is not noted: {past:?}"))?;
    must(told.sight.last == Some(first), || format!("{:?} is the last token", told.sight.last))?;
    // Only of a past that was watched: two candidates would stamp each other away for ever.
    let longer = beyond(beyond(first)?)?;
    is_same(past, &probe.refused(probe.acquire(3, Some(longer))).await?)?;
    // Whoever has not watched the loss is refused, and its watch does not count.
    for lost in [None, Some(Loss { last: None }), Some(Loss { last: Some(first.next()) })] {
        let asks = Acquire { seen, lost, ..probe.after(2, past, LONG) };
        is_same(past, &probe.refused(asks).await?)?;
    }
    is_same(past, &probe.refused(probe.acquire(4, Some(first))).await?)?;
    let lost = Some(Loss { last: Some(first) });
    let token = probe.granted(Acquire { seen, lost, ..probe.after(2, past, LONG) }).await?;
    must(Some(token) > seen, || format!("{token} is granted to a candidate that knows {seen:?}"))
}

/// With all its data. The first request, whatever it asks, tells.
pub(crate) async fn every_first_request_examines_the_server(probe: &mut Probe<'_>) -> Found<()> {
    let (mut token, job) = (probe.begun(1).await?, key("job")?);
    let mut stamps = BTreeSet::new();
    for first in ["look", "renewal", "acquire", "release"] {
        probe.moves().await?;
        let request = match first {
            "look" => LOOK,
            "renewal" => probe.renew(1, token),
            "acquire" => request(probe.acquire(2, None)),
            _ => release(2, token),
        };
        probe.ask_about(&job, request).await?;
        // Over another connection, which has nothing to tell any more.
        let past = unwatched(&probe.look_about(&job).await?)?;
        must(stamps.insert(past.stamp.to_bits()), || format!("{past:?} after the first {first}"))?;
        is_same(past, &probe.refused(probe.acquire(1, Some(token))).await?)?;
        let again = probe.granted(probe.after(1, past, LONG)).await?;
        must(again == token, || format!("{again} is another tenure than {token}"))?;
        token = again;
    }
    Ok(())
}

/// The same request stamps each of them, as a late duplicate does.
pub(crate) async fn no_two_pasts_have_the_same_stamp(probe: &mut Probe<'_>) -> Found<()> {
    let asks = probe.acquire(1, None);
    let mut stamps = BTreeSet::new();
    for _ in 0..4 {
        let past = unwatched(&probe.refused(asks).await?)?;
        must(stamps.insert(past.stamp.to_bits()), || format!("{past:?} was there before"))?;
        if !probe.suffers(Mishap::AllLost).await {
            return Err(Stop::Skipped("the harness can't take the data away"));
        }
        probe.reconnect().await;
    }
    Ok(())
}

pub(crate) async fn a_restarted_server_has_another_past(probe: &mut Probe<'_>) -> Found<()> {
    let token = probe.begun(1).await?;
    probe.restart(Data::Kept).await?;
    let past = match probe.ask_until_answered(&request(probe.acquire(1, Some(token)))).await? {
        Reply::Not(shown) => unwatched(&shown)?,
        other => return broken(format!("the server is another one, and yet {other:?}")),
    };
    let Reply::Renewed { past: told, .. } = probe.ask(probe.renew(1, token)).await? else {
        return broken("the lease was lost");
    };
    must(told == Some(past), || format!("the leader is told {told:?}, and not {past:?}"))?;
    let again = probe.granted(probe.after(1, past, LONG)).await?;
    must(again == token, || format!("the lease of {token} was lost, and {again} was granted"))
}

pub(crate) async fn after_a_loss_nobody_leads_at_once(probe: &mut Probe<'_>) -> Found<()> {
    let past = unwatched(&probe.look().await?)?;
    let token = probe.granted(probe.after(1, past, LONG)).await?;
    probe.restart(Data::Lost).await?;
    // A candidate that knows no token: no request shows the store that it has lost anything.
    let asks = probe.after(2, past, LONG);
    let told = match probe.ask_until_answered(&request(asks)).await? {
        Reply::Not(shown) => unwatched(&shown)?,
        other => return broken(format!("the store has lost everything, and yet {other:?}")),
    };
    must(told.stamp != past.stamp, || format!("the past before the loss is told: {told:?}"))?;
    let next = probe.granted(probe.after(2, told, LONG)).await?;
    probe.expect(release(2, next), Reply::Released).await?;
    let known = token.max(next);
    let lost = Some(Loss { last: Some(next) });
    let asks = Acquire { seen: Some(known), lost, ..probe.acquire(1, None) };
    let third = probe.granted(asks).await?;
    must(third > known, || format!("{third} is granted to a candidate that knows {known}"))
}
