//! Rows about observing, and about the keys of elections.

use tenure::Token;
use tenure::store::{Key, Profile, Reply, Request};

use crate::conformance::Harness;
use crate::conformance::probe::{
    Found, LONG, Probe, acquire, as_grant, holder, key, limit, must, release, renew,
};

pub(crate) async fn an_unknown_election_is_vacant<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    probe.expect(Request::Observe, Reply::Vacant).await?;
    probe.expect(renew(1, Token::FIRST), Reply::Superseded { last: None }).await?;
    probe.expect(release(1, Token::FIRST), Reply::NotHeld).await?;
    probe.expect(Request::Observe, Reply::Vacant).await
}

pub(crate) async fn names_and_metadata_come_back<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let bytes = |count| (0..=255_u8).cycle().take(count).collect::<Vec<_>>();
    let odd = "größer \r\n\0 \"'{}$*";
    let longest = "n".repeat(Profile::NAME_MOST);
    let mut seen = None;
    for (name, metadata) in [(odd, bytes(Profile::METADATA_MOST)), (&*longest, Vec::new())] {
        let profile = Profile::new(name, metadata.clone()).map_err(limit)?;
        let (ttl, quarantine) = (LONG, LONG);
        let request = Request::Acquire { holder: holder(1), seen, ttl, quarantine, profile };
        let (token, _) = probe.granted(request).await?;
        let incumbent = probe.is_held_by(1, token).await?;
        must(incumbent.name == name, || format!("the name came back as {:?}", incumbent.name))?;
        must(incumbent.metadata == metadata, || "the metadata came back changed".to_owned())?;
        probe.expect(release(1, token), Reply::Released).await?;
        seen = Some(token);
    }
    Ok(())
}

pub(crate) async fn elections_do_not_interfere<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    let (one, other) = (key("job")?, key("job:2")?);
    let (token, _) = as_grant(&probe.ask_about(&one, acquire(1, None)).await?)?;
    let vacant = probe.ask_about(&other, Request::Observe).await?;
    must(vacant == Reply::Vacant, || format!("{other} is not vacant: {vacant:?}"))?;
    let (beside, _) = as_grant(&probe.ask_about(&other, acquire(2, None)).await?)?;
    // The tenure of one election, in requests about the other.
    for request in [renew(1, token), release(1, token)] {
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

pub(crate) async fn keys_may_have_any_characters<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let longest = "k".repeat(Key::MOST);
    let almost = format!("{}j", &longest[1..]);
    let odd = [
        &*longest, &*almost, "{", "}", "{a}", "a", "A", "a ", "a\0", "a\r\n", "a*", "a?", "a%",
        "a_", "'a", "\"a", "a/b", "../a", "a:b", "größe", "🔒", "leader", "history",
    ];
    let mut tokens = Vec::new();
    for (number, name) in (1..).zip(odd) {
        let reply = probe.ask_about(&key(name)?, acquire(number, None)).await?;
        tokens.push((number, name, as_grant(&reply)?.0));
    }
    for (number, name, token) in tokens {
        let reply = probe.ask_about(&key(name)?, Request::Observe).await?;
        let Reply::Held(incumbent) = &reply else {
            return must(false, || format!("{name:?} is not held any more: {reply:?}"));
        };
        let is = (incumbent.holder, incumbent.token);
        must(is == (holder(number), token), || format!("{name:?} is held by {is:?}"))?;
    }
    Ok(())
}
