//! Rows about who asks for the lead, and whom an operator wishes to lead.

use std::time::Duration;

use tenure::Token;
use tenure::store::contract::{Asked, Wish};
use tenure::store::{Reply, Request};

use crate::conformance::probe::{
    Found, LONG, Probe, RENEWED, as_grant, broken, key, must, profile, release, request,
};

fn asked(candidate: u128) -> Asked {
    let defer = Duration::from_secs(u64::try_from(candidate).unwrap_or_default());
    Asked { name: profile(candidate).name_id(), defer }
}

fn wishes(candidate: u128) -> Wish {
    Wish::Name(profile(candidate).name_id())
}

fn ask(token: Token, candidate: u128) -> Request {
    Request::Ask { token, asked: asked(candidate), seen: Some(token), quarantine: LONG }
}

fn want(token: Token, wish: Option<Wish>) -> Request {
    Request::Want { token, wish }
}

fn renewed(asked: Option<Asked>, wanted: Option<Wish>) -> Reply {
    Reply::Renewed { asked, wanted, past: None }
}

/// The one who asks, as the answer to an ask has it.
async fn asks(
    probe: &mut Probe<'_>,
    (token, candidate): (Token, u128),
    noted: Option<u128>,
) -> Found<()> {
    let Reply::At(shown) = probe.ask(ask(token, candidate)).await? else {
        return broken("an ask is answered as a look");
    };
    let told = shown.sight.record.and_then(|record| record.asked);
    let noted = noted.map(asked);
    must(told == noted, || format!("{noted:?} asks, but the answer has {told:?}"))
}

pub(crate) async fn a_leader_is_told_who_asks(probe: &mut Probe<'_>) -> Found<()> {
    let token = probe.granted(probe.acquire(1, None)).await?;
    asks(probe, (token.next(), 2), None).await?;
    probe.expect(probe.renew(1, token), RENEWED).await?;
    // The last one counts.
    asks(probe, (token, 2), Some(2)).await?;
    asks(probe, (token, 3), Some(3)).await?;
    let older = probe.renew(1, token);
    probe.expect(probe.renew(1, token), renewed(Some(asked(3)), None)).await?;
    // It was told.
    asks(probe, (token.next(), 2), None).await?;
    probe.expect(probe.renew(1, token), RENEWED).await?;
    asks(probe, (token, 2), Some(2)).await?;
    probe.expect(older, renewed(Some(asked(2)), None)).await?;
    let told = probe.record().await?.asked;
    must(told == Some(asked(2)), || format!("an older renewal was told, and now {told:?} asks"))?;
    let next = next_tenure(probe, token).await?;
    probe.expect(probe.renew(2, next), RENEWED).await
}

pub(crate) async fn a_wished_candidate_asks_first(probe: &mut Probe<'_>) -> Found<()> {
    let token = probe.granted(probe.acquire(1, None)).await?;
    probe.expect(want(token, Some(wishes(3))), Reply::Noted).await?;
    asks(probe, (token, 2), Some(2)).await?;
    asks(probe, (token, 3), Some(3)).await?;
    asks(probe, (token, 2), Some(3)).await?;
    probe.expect(probe.renew(1, token), renewed(Some(asked(3)), Some(wishes(3)))).await?;
    // To any candidate, the first one counts.
    probe.expect(want(token, Some(Wish::Anybody)), Reply::Noted).await?;
    asks(probe, (token, 2), Some(2)).await?;
    asks(probe, (token, 3), Some(2)).await
}

pub(crate) async fn a_wish_lasts_for_a_tenure(probe: &mut Probe<'_>) -> Found<()> {
    probe.expect(want(Token::FIRST, Some(Wish::Anybody)), Reply::NotNoted).await?;
    let token = probe.granted(probe.acquire(1, None)).await?;
    for wish in [Some(wishes(2)), Some(Wish::Anybody), None, Some(wishes(3))] {
        probe.expect(want(token, wish), Reply::Noted).await?;
        probe.expect(want(token.next(), Some(wishes(4))), Reply::NotNoted).await?;
        for _ in 0..2 {
            probe.expect(probe.renew(1, token), renewed(None, wish)).await?;
        }
        let told = probe.record().await?.wanted;
        must(told == wish, || format!("{wish:?} is wished, but the record has {told:?}"))?;
    }
    let again = probe.granted(probe.acquire(1, None)).await?;
    must(again == token, || format!("{again} is another tenure than {token}"))?;
    probe.expect(probe.renew(1, token), renewed(None, Some(wishes(3)))).await?;
    let next = next_tenure(probe, token).await?;
    probe.expect(probe.renew(2, next), RENEWED).await?;
    probe.expect(want(token, Some(wishes(3))), Reply::NotNoted).await
}

/// No wish is noted, and nobody asks, between two tenures.
async fn next_tenure(probe: &mut Probe<'_>, token: Token) -> Found<Token> {
    probe.expect(release(1, token), Reply::Released).await?;
    probe.expect(want(token, Some(Wish::Anybody)), Reply::NotNoted).await?;
    probe.ask(ask(token, 4)).await?;
    let asks = request(probe.acquire(2, Some(token)));
    as_grant(&probe.ask_about(&key("job")?, asks).await?)
}
