//! Rows about grants, to candidates one by one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure::store::contract::{Acquire, Loss, Mark, Reservation};
use tenure::store::{Profile, Reply, Request};
use tenure::{HolderId, Token};

use crate::conformance::probe::{
    Found, LONG, Probe, broken, holder, limit, must, profile, release, request_as, watched,
};

/// The assumed error of servers' clocks: the tests may run on another machine.
const CLOCKS_AGREE: Duration = Duration::from_secs(600);

pub(crate) async fn vacant_is_granted(probe: &mut Probe<'_>) -> Found<()> {
    let token = probe.granted(probe.acquire(1, None)).await?;
    probe.is_held_by(1, token).await?;
    Ok(())
}

pub(crate) async fn tokens_are_not_below_the_wall_clock(probe: &mut Probe<'_>) -> Found<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let floor = now.saturating_sub(CLOCKS_AGREE).as_micros();
    let mut seen = None;
    for number in 1..=2 {
        let token = probe.granted(probe.acquire(number, seen)).await?;
        must(u128::from(token.get()) >= floor, || format!("{token} is below {floor}"))?;
        probe.expect(release(number, token), Reply::Released).await?;
        seen = Some(token);
    }
    Ok(())
}

/// A server that ends leases itself grants none that was watched.
pub(crate) async fn tokens_increase(probe: &mut Probe<'_>) -> Found<()> {
    let (mut seen, mut mark) = (None, None);
    for number in 1..=4 {
        let asks = probe.acquire(number, seen);
        let token = probe.granted(Acquire { mark, ..asks }).await?;
        must(seen < Some(token), || format!("{token} follows {seen:?}"))?;
        (seen, mark) = (Some(token), None);
        if number % 2 == 0 || probe.traits.ends_leases {
            probe.expect(release(number, token), Reply::Released).await?;
        } else {
            mark = Some(Mark { holder: asks.holder, number: asks.number });
        }
    }
    Ok(())
}

pub(crate) async fn a_repeated_acquire_keeps_its_token(probe: &mut Probe<'_>) -> Found<()> {
    let first = probe.acquire(1, None);
    let token = probe.granted(first).await?;
    // What the candidate knows makes no difference.
    for seen in [None, Some(token)] {
        let asks = probe.acquire(1, seen);
        let again = probe.granted(Acquire { ttl: LONG * 2, quarantine: LONG * 3, ..asks }).await?;
        must(again == token, || format!("{again} is another tenure than {token}"))?;
        let record = probe.is_held_by(1, token).await?;
        must((record.ttl, record.quarantine) == (LONG, LONG), || {
            format!("a repeated acquire has changed the settings: {record:?}")
        })?;
        must(probe.traits.ends_leases || record.number == asks.number, || {
            format!("the mark is number {}, and not {}", record.number.get(), asks.number.get())
        })?;
    }
    let last = probe.record().await?.number;
    let again = probe.granted(first).await?;
    must(again == token, || format!("{again} is another tenure than {token}"))?;
    let number = probe.record().await?.number;
    must(number == last, || format!("number {} came after {}", number.get(), last.get()))
}

pub(crate) async fn candidates_of_one_name_are_different(probe: &mut Probe<'_>) -> Found<()> {
    let token = probe.granted(probe.acquire(1, None)).await?;
    for seen in [None, Some(token)] {
        let asks = probe.acquire(2, seen);
        match probe.ask(request_as(asks, profile(1))).await? {
            Reply::Not(_) => {}
            other => return broken(format!("the incumbent is another, and yet {other:?}")),
        }
    }
    probe.is_held_by(1, token).await?;
    Ok(())
}

pub(crate) async fn holders_are_compared_whole(probe: &mut Probe<'_>) -> Found<()> {
    let asks = probe.acquire(1, None);
    let token = probe.granted(asks).await?;
    let before = probe.record().await?;
    for bit in [0, 31, 32, 63, 64, 95, 96, 127] {
        let other = HolderId::from_bits(holder(1).to_bits() ^ (1 << bit));
        let mark = Some(Mark { holder: other, number: before.number });
        probe.refused(Acquire { holder: other, mark, ..probe.acquire(1, Some(token)) }).await?;
        let number = probe.next_number();
        let renewal = Request::Renew { holder: other, token, number, stamp: None };
        probe.expect(renewal, Reply::Superseded { last: Some(token) }).await?;
        let released = Request::Release { holder: other, token, reservation: None };
        probe.expect(released, Reply::NotHeld).await?;
    }
    let after = probe.is_held_by(1, token).await?;
    must(after == before, || format!("it was {before:?}, and is {after:?}"))
}

pub(crate) async fn a_lease_is_not_granted_to_others(probe: &mut Probe<'_>) -> Found<()> {
    let asks = probe.acquire(1, None);
    let token = probe.granted(asks).await?;
    for seen in [None, Some(token)] {
        let shown = probe.refused(probe.acquire(2, seen)).await?;
        let Some(incumbent) = shown.incumbent() else {
            return broken(format!("the answer does not contain the incumbent: {shown:?}"));
        };
        let is = (incumbent.token, incumbent.holder, incumbent.ttl);
        must(is == (token, holder(1), LONG), || format!("the incumbent is another: {is:?}"))?;
        let told = Profile::new(incumbent.name, incumbent.metadata).map_err(limit)?;
        must(told == profile(1), || format!("it has another name or metadata: {told:?}"))?;
    }
    probe.is_held_by(1, token).await?;
    Ok(())
}

/// The mark of the grant, of the renewal after it, and of the record that the lease has then.
pub(crate) async fn a_watched_lease_is_granted(probe: &mut Probe<'_>) -> Found<()> {
    let first = probe.acquire(1, None);
    let token = probe.granted(first).await?;
    let granted = Mark { holder: first.holder, number: first.number };
    let renewed = probe.is_renewed(1, token).await?;
    let others = [
        None,
        Some(granted),
        Some(Mark { number: probe.next_number(), ..renewed }),
        Some(Mark { holder: holder(2), ..renewed }),
    ];
    for mark in others {
        let asks = probe.acquire(2, Some(token));
        let shown = probe.refused(Acquire { mark, ..asks }).await?;
        let told = shown.sight.record.map(|record| record.mark());
        must(told == Some(renewed), || format!("the mark is {renewed:?}, and not {told:?}"))?;
    }
    probe.is_held_by(1, token).await?;
    // Whoever has watched the mark need not know the token.
    let asks = probe.acquire(2, None);
    let next = probe.granted(Acquire { mark: Some(renewed), ..asks }).await?;
    must(next > token, || format!("{next} is granted after {token}"))?;
    probe.is_held_by(2, next).await?;
    let superseded = Reply::Superseded { last: Some(next) };
    probe.expect(probe.renew(1, token), superseded).await
}

pub(crate) async fn a_candidate_without_the_last_token_is_refused(
    probe: &mut Probe<'_>,
) -> Found<()> {
    let first = probe.past_tenure(1).await?;
    for number in [1, 2] {
        let shown = probe.refused(probe.acquire(number, None)).await?;
        let told = shown.sight.last;
        must(told == Some(first), || format!("the last token is {first}, and not {told:?}"))?;
    }
    let second = probe.granted(probe.acquire(2, Some(first))).await?;
    probe.expect(release(2, second), Reply::Released).await?;
    for seen in [None, Some(first)] {
        probe.refused(probe.acquire(3, seen)).await?;
    }
    let third = probe.granted(probe.acquire(3, Some(second))).await?;
    must(third > second, || format!("{third} is granted after {second}"))
}

pub(crate) async fn a_grant_is_above_every_known_token(probe: &mut Probe<'_>) -> Found<()> {
    let known = beyond(probe.past_tenure(1).await?)?;
    let asks = probe.acquire(2, Some(known));
    let told = probe.refused(asks).await?.sight;
    let (lost, number) = (Some(Loss { last: told.last }), probe.next_number());
    let stamp = told.past.map(|past| watched(past, LONG));
    let token = probe.granted(Acquire { lost, stamp, number, ..asks }).await?;
    must(token > known, || format!("{token} is not above {known}"))?;
    if probe.traits.ends_leases {
        return Ok(());
    }
    // The clock is behind now, and what has watched the lease knows no token.
    let mark = Some(Mark { holder: asks.holder, number });
    let next = probe.granted(Acquire { mark, ..probe.acquire(3, None) }).await?;
    must(next > token, || format!("{next} is granted after {token}"))
}

/// A token that the store has not granted, and that its wall clock has not reached.
pub(crate) fn beyond(token: Token) -> Found<Token> {
    match Token::new(token.get() + 1_000_000_000_000) {
        Some(known) => Ok(known),
        None => broken("there is no such token"),
    }
}

/// A quarantine below the record's TTL, and a TTL above the record's quarantine.
pub(crate) async fn contradicting_settings_are_watched(probe: &mut Probe<'_>) -> Found<()> {
    let (ttl, quarantine) = (LONG, LONG * 2);
    let first = Acquire { ttl, quarantine, ..probe.acquire(1, None) };
    let mut seen = probe.granted(first).await?;
    probe.expect(release(1, seen), Reply::Released).await?;
    for (ttl, quarantine) in [(ttl / 2, ttl / 2), (LONG * 3, LONG * 3)] {
        let asks = Acquire { ttl, quarantine, ..probe.acquire(2, Some(seen)) };
        let told = probe.refused(asks).await?.sight.record;
        let mark = told.filter(|record| record.released).map(|record| record.mark());
        must(mark.is_some(), || format!("a record is to be watched, and not {told:?}"))?;
        if probe.traits.ends_leases {
            continue;
        }
        // After the watch.
        let asks = Acquire { mark, number: probe.next_number(), ..asks };
        let token = probe.granted(asks).await?;
        probe.expect(release(2, token), Reply::Released).await?;
        // As it was at first.
        let mark = Some(Mark { holder: asks.holder, number: asks.number });
        let again = Acquire { mark, number: probe.next_number(), seen: Some(token), ..first };
        seen = probe.granted(again).await?;
        probe.expect(release(1, seen), Reply::Released).await?;
    }
    // Settings that just agree.
    for (ttl, quarantine) in [(ttl / 2, ttl), (quarantine, quarantine)] {
        let asks = Acquire { ttl, quarantine, ..probe.acquire(2, Some(seen)) };
        let token = probe.granted(asks).await?;
        probe.expect(release(2, token), Reply::Released).await?;
        let back = Acquire { number: probe.next_number(), seen: Some(token), ..first };
        seen = probe.granted(back).await?;
        probe.expect(release(1, seen), Reply::Released).await?;
    }
    Ok(())
}

/// By a reserve, which others have to watch.
pub(crate) async fn a_lease_is_kept_for_a_name(probe: &mut Probe<'_>) -> Found<()> {
    let first = probe.acquire(1, None);
    let token = probe.granted(first).await?;
    let kept = Reservation { name: profile(2).name_id(), reserve: LONG / 5 };
    let holder = holder(1);
    let release = Request::Release { holder, token, reservation: Some(kept) };
    probe.expect(release.clone(), Reply::Released).await?;
    // The first release counts.
    let other = Reservation { name: profile(3).name_id(), ..kept };
    let again = Request::Release { holder, token, reservation: Some(other) };
    probe.expect(again, Reply::NotHeld).await?;
    for candidate in [1, 3] {
        let told = probe.refused(probe.acquire(candidate, Some(token))).await?.sight.record;
        must(told.and_then(|record| record.reservation) == Some(kept), || {
            format!("the lease is kept by {kept:?}, but the answer has {told:?}")
        })?;
        // A release changes no mark.
        let mark = told.map(|record| record.mark());
        let granted = Mark { holder, number: first.number };
        must(probe.traits.ends_leases || mark == Some(granted), || {
            format!("the mark was {granted:?}, and is {mark:?}")
        })?;
    }
    probe.refused(probe.acquire(2, None)).await?;
    let next = probe.granted(probe.acquire(2, Some(token))).await?;
    must(next > token, || format!("{next} is granted after {token}"))?;
    let record = probe.is_held_by(2, next).await?;
    must(record.reservation.is_none(), || format!("it is still kept: {record:?}"))?;
    if probe.traits.ends_leases {
        return Ok(());
    }
    // After the reserve, to anybody.
    let release = Request::Release { holder: record.holder, token: next, reservation: Some(other) };
    probe.expect(release, Reply::Released).await?;
    let asks = probe.acquire(1, Some(next));
    let last = probe.granted(Acquire { mark: Some(record.mark()), ..asks }).await?;
    must(last > next, || format!("{last} is granted after {next}"))
}
