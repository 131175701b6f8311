//! Rows about what is told to others, and about the keys of elections.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure::Token;
use tenure::store::contract::Reservation;
use tenure::store::{Key, Profile, Reply, Request, Shown};

use crate::conformance::probe::{
    Found, LONG, LOOK, Probe, as_grant, broken, key, limit, must, profile, release, request_as,
};

/// Stores list some hundred elections in one step.
const MORE_THAN_A_STEP: u64 = 300;

async fn observe(probe: &mut Probe<'_>) -> Found<Shown> {
    match probe.ask(Request::Observe).await? {
        Reply::At(shown) => Ok(shown),
        other => broken(format!("the answer to an observer was {other:?}")),
    }
}

pub(crate) async fn an_unknown_election_has_no_record(probe: &mut Probe<'_>) -> Found<()> {
    for _ in 0..2 {
        for shown in [probe.look().await?, observe(probe).await?] {
            let told = (shown.sight.record, shown.sight.last, shown.profile);
            must(told == (None, None, None), || format!("nobody has led, and yet {told:?}"))?;
        }
        probe.expect(probe.renew(1, Token::FIRST), Reply::Superseded { last: None }).await?;
        probe.expect(release(1, Token::FIRST), Reply::NotHeld).await?;
        let asks = Request::Want { token: Token::FIRST, wish: None };
        probe.expect(asks, Reply::NotNoted).await?;
    }
    Ok(())
}

pub(crate) async fn looks_tell_the_record(probe: &mut Probe<'_>) -> Found<()> {
    let asks = probe.acquire(1, None);
    let asks = tenure::store::contract::Acquire { ttl: LONG, quarantine: LONG * 3, ..asks };
    let token = probe.granted(asks).await?;
    let kept = Reservation { name: profile(2).name_id(), reserve: Duration::from_secs(7) };
    let holder = asks.holder;
    let release = Request::Release { holder, token, reservation: Some(kept) };
    for is_released in [false, true] {
        if is_released {
            probe.expect(release.clone(), Reply::Released).await?;
        }
        for looks in [LOOK, Request::Observe, LOOK] {
            let Reply::At(shown) = probe.ask(looks).await? else {
                return broken("a look is answered by what is there");
            };
            let Some(record) = shown.sight.record else {
                return broken(format!("there is a record, and the answer is {shown:?}"));
            };
            let told = (record.token, record.holder, record.released, record.reservation);
            let wanted = (token, holder, is_released, is_released.then_some(kept));
            must(told == wanted, || format!("the record is {wanted:?}, and told {told:?}"))?;
            let settings = (record.ttl, record.quarantine);
            must(settings == (LONG, LONG * 3), || format!("told the settings {settings:?}"))?;
            must(shown.sight.last == Some(token), || format!("{:?} is last", shown.sight.last))?;
            must(probe.traits.ends_leases || record.number == asks.number, || {
                format!("the mark is number {}, not {}", record.number.get(), asks.number.get())
            })?;
        }
    }
    Ok(())
}

pub(crate) async fn names_and_metadata_come_back(probe: &mut Probe<'_>) -> Found<()> {
    let bytes = |count| (0..=255_u8).cycle().take(count).collect::<Vec<_>>();
    let odd = "größer \r\n\0 \"'{}$*";
    let longest = "n".repeat(Profile::NAME_MOST);
    let mut seen = None;
    for (name, metadata) in [(odd, bytes(Profile::METADATA_MOST)), (&*longest, Vec::new())] {
        let profile = Profile::new(name, metadata).map_err(limit)?;
        let asks = request_as(probe.acquire(1, seen), profile.clone());
        let token = as_grant(&probe.ask(asks).await?)?;
        for shown in [probe.look().await?, observe(probe).await?] {
            must(shown.profile.as_ref() == Some(&profile), || {
                format!("the name or the metadata has changed: {:?}", shown.profile)
            })?;
        }
        probe.expect(release(1, token), Reply::Released).await?;
        seen = Some(token);
    }
    Ok(())
}

pub(crate) async fn elections_do_not_interfere(probe: &mut Probe<'_>) -> Found<()> {
    let (one, other) = (key("job")?, probe.settled("job:2").await?);
    let token = probe.granted_about(&one, probe.acquire(1, None)).await?;
    let shown = probe.look_about(&other).await?;
    must(shown.sight.record.is_none(), || format!("{other} is not vacant: {shown:?}"))?;
    let beside = probe.granted_about(&other, probe.acquire(2, None)).await?;
    // The tenure of one election, in requests about the other.
    for request in [probe.renew(1, token), release(1, token)] {
        let reply = probe.ask_about(&other, request).await?;
        let refused = matches!(reply, Reply::Superseded { .. } | Reply::NotHeld);
        must(refused, || format!("the answer to another election's tenure was {reply:?}"))?;
    }
    let reply = probe.ask_about(&other, release(2, beside)).await?;
    must(reply == Reply::Released, || {
        format!("the answer to the release of {other} was {reply:?}")
    })?;
    probe.is_held_by(1, token).await?;
    Ok(())
}

fn odd_names() -> Vec<String> {
    let longest = "k".repeat(Key::MOST);
    let almost = format!("{}j", &longest[1..]);
    let odd = [
        "{", "}", "{a}", "a", "A", "a ", "a\0", "a\r\n", "a*", "a?", "a%", "a_", "'a", "\"a",
        "a/b", "../a", "a:b", "größe", "🔒", "leader", "past",
    ];
    odd.map(str::to_owned).into_iter().chain([longest, almost]).collect()
}

pub(crate) async fn keys_may_have_any_characters(probe: &mut Probe<'_>) -> Found<()> {
    let mut tokens = Vec::new();
    let odd = odd_names();
    for (number, name) in (1..).zip(&odd) {
        let key = probe.settled(name).await?;
        let token = probe.granted_about(&key, probe.acquire(number, None)).await?;
        tokens.push((number, name, token));
    }
    for (number, name, token) in tokens {
        probe.is_held_about(&key(name)?, (number, token)).await?;
    }
    Ok(())
}

/// Every third lease was given back.
pub(crate) async fn elections_are_listed(probe: &mut Probe<'_>) -> Found<()> {
    let before = probe.keys().await?;
    let many = (0..MORE_THAN_A_STEP).map(|number| format!("job-{number}"));
    let mut wanted = BTreeSet::new();
    for (number, name) in (1..).zip(odd_names().into_iter().chain(many)) {
        let key = probe.settled(&name).await?;
        let token = probe.granted_about(&key, probe.acquire(number, None)).await?;
        if number % 3 == 0 {
            let reply = probe.ask_about(&key, release(number, token)).await?;
            must(reply == Reply::Released, || format!("{reply:?} instead of a release"))?;
        }
        wanted.insert(key);
    }
    let listed = probe.keys().await?;
    let missing: Vec<_> = wanted.difference(&listed).collect();
    must(missing.is_empty(), || format!("{missing:?} are not listed"))?;
    // Those that this probe has asked about before.
    let others: Vec<_> = listed.difference(&wanted).filter(|key| !before.contains(*key)).collect();
    must(others.is_empty(), || format!("{others:?} are listed, and nobody has asked about them"))
}
