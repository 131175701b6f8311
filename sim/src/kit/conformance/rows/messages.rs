//! Requests that arrive late, twice, or at the same time, or whose replies are lost.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use tenure::store::contract::{Acquire, Mark, RequestId};
use tenure::store::{AnyStore, Key, Profile, Reply, Request, Store};
use tenure::{HolderId, Token};
use tenure_core::Sight;

use crate::conformance::probe::{
    Found, LONG, LOOK, Probe, RENEWED, as_grant, broken, holder, key, must, profile, release,
    request,
};
use crate::engines::calls;
use crate::judge::properties::linearizable::{Exchange, is_explained};
use crate::plan::draw::Draw;
use crate::trace::{Answer, Asked};

pub(crate) async fn a_lost_reply_is_harmless(probe: &mut Probe<'_>) -> Found<()> {
    // The candidate sees the second reply only.
    let asks = probe.acquire(1, None);
    let lost = probe.granted(asks).await?;
    let again = Acquire { number: probe.next_number(), ..asks };
    let token = probe.granted(again).await?;
    must(lost == token, || format!("the retry of {lost} was granted another tenure, {token}"))?;
    probe.ask(probe.renew(1, token)).await?;
    probe.expect(probe.renew(1, token), RENEWED).await?;
    probe.is_held_by(1, token).await?;
    probe.ask(release(1, token)).await?;
    probe.expect(release(1, token), Reply::NotHeld).await?;
    let shown = probe.look().await?;
    must(shown.incumbent().is_none(), || format!("the lease was given back: {shown:?}"))?;
    let next = probe.granted(probe.acquire(2, Some(token))).await?;
    must(next > token, || format!("{next} is granted after {token}"))
}

/// Also of one that has taken a lease which it had watched.
pub(crate) async fn a_late_duplicate_acquire_is_never_granted(probe: &mut Probe<'_>) -> Found<()> {
    let first = probe.acquire(1, None);
    let token = probe.granted(first).await?;
    probe.expect(release(1, token), Reply::Released).await?;
    probe.refused(first).await?;
    let second = probe.acquire(2, Some(token));
    let token = probe.granted(second).await?;
    probe.refused(first).await?;
    let mut third = probe.acquire(3, None);
    if probe.traits.ends_leases {
        probe.expect(release(2, token), Reply::Released).await?;
        third.seen = Some(token);
    } else {
        third.mark = Some(Mark { holder: second.holder, number: second.number });
    }
    let token = probe.granted(third).await?;
    for late in [first, second] {
        probe.refused(late).await?;
    }
    probe.is_held_by(3, token).await?;
    probe.expect(release(3, token), Reply::Released).await?;
    for late in [first, second, third] {
        probe.refused(late).await?;
    }
    Ok(())
}

pub(crate) async fn late_requests_of_an_old_tenure_change_nothing(
    probe: &mut Probe<'_>,
) -> Found<()> {
    let first = probe.past_tenure(1).await?;
    // The same candidate again: only the token distinguishes its tenures.
    let second = probe.granted(probe.acquire(1, Some(first))).await?;
    probe.expect(release(1, first), Reply::NotHeld).await?;
    probe.expect(probe.renew(1, first), Reply::Superseded { last: Some(second) }).await?;
    probe.is_held_by(1, second).await?;
    Ok(())
}

/// Polls a request that many times, then gives it up.
async fn give_up<T>(request: impl Future<Output = T>, polls: u32) {
    let mut request = std::pin::pin!(request);
    for _ in 0..polls {
        if futures_util::poll!(request.as_mut()).is_ready() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn a_dropped_request_leaves_the_store_usable(probe: &mut Probe<'_>) -> Found<()> {
    let (job, asks) = (key("job")?, request(probe.acquire(1, None)));
    for polls in 1..=3 {
        give_up(probe.store.call(&job, asks.clone()), polls).await;
    }
    let reply = probe.ask_until_answered(&asks).await?;
    let token = as_grant(&reply)?;
    for polls in 1..=3 {
        give_up(probe.store.call(&job, probe.renew(1, token)), polls).await;
        give_up(probe.store.call(&job, LOOK), polls).await;
    }
    let reply = probe.ask_until_answered(&probe.renew(1, token)).await?;
    must(reply == RENEWED, || format!("the tenure is live, but the answer was {reply:?}"))?;
    // The answer to a request that was given up must not be delivered to the next one.
    let reply = probe.ask_until_answered(&LOOK).await?;
    let is_held = matches!(&reply, Reply::At(shown) if shown.incumbent().is_some());
    must(is_held, || format!("the lease is held, but the answer was {reply:?}"))
}

const CONNECTIONS: usize = 4;
const CANDIDATES: u128 = 16;
const ROUNDS: usize = 5;

pub(crate) async fn of_many_at_once_one_is_granted(probe: &mut Probe<'_>) -> Found<()> {
    let job = key("job")?;
    let stores = connections(probe).await;
    let mut seen: Option<Token> = None;
    for _ in 0..ROUNDS {
        let ask = |number: u128| {
            let store = &stores[usize::try_from(number).unwrap_or(0) % CONNECTIONS];
            let (job, request) = (job.clone(), request(probe.acquire(number, seen)));
            async move { (number, store.call(&job, request).await) }
        };
        let mut granted = Vec::new();
        for (number, answer) in join_all((1..=CANDIDATES).map(ask)).await {
            match answer {
                Ok(Reply::Granted { token, .. }) => granted.push((number, token)),
                Ok(Reply::Not(_)) => {}
                other => {
                    return broken(format!(
                        "the answer should be granted or not, but was {other:?}"
                    ));
                }
            }
        }
        let [(winner, token)] = granted[..] else {
            return broken(format!("exactly one must be granted, but these were: {granted:?}"));
        };
        must(seen < Some(token), || format!("{token} follows {seen:?}"))?;
        probe.is_held_by(winner, token).await?;
        probe.expect(release(winner, token), Reply::Released).await?;
        seen = Some(token);
    }
    Ok(())
}

async fn connections(probe: &Probe<'_>) -> Vec<Arc<AnyStore>> {
    let connect = (0..CONNECTIONS).map(|_| probe.harness.connect());
    join_all(connect).await.into_iter().map(Arc::new).collect()
}

/// The requests of each connection; all connections send at the same time.
const REQUESTS: u64 = 10;

pub(crate) async fn answers_are_linearizable(probe: &mut Probe<'_>) -> Found<()> {
    let (job, places) = (key("job")?, Arc::new(AtomicUsize::new(0)));
    let stores = connections(probe).await;
    let clients = (1..).zip(stores).map(|(number, store)| {
        tokio::spawn(client(store, job.clone(), number, Arc::clone(&places)))
    });
    let mut exchanges = Vec::new();
    for done in join_all(clients).await {
        match done {
            Ok(Ok(some)) => exchanges.extend(some),
            Ok(Err(what)) => return broken(what),
            Err(panic) => return broken(format!("the store panicked: {panic}")),
        }
    }
    must(is_explained(&exchanges), || format!("no order explains these answers: {exchanges:?}"))
}

/// A candidate that acquires, renews and releases at random. It claims to have watched what it was
/// told.
async fn client<S: Store>(
    store: Arc<S>,
    job: Key,
    client: u64,
    places: Arc<AtomicUsize>,
) -> Result<Vec<Exchange>, String> {
    let mut draw = Draw::new(1, "conformance", client);
    let (mut seen, mut told, mut mine, mut exchanges) = (None, None, None, Vec::new());
    let by = holder(client.into());
    for number in 1..=REQUESTS {
        let number = RequestId::new(number).ok_or("no number")?;
        let asks = match mine {
            Some(token) if draw.chance(1, 2) => release(client.into(), token),
            Some(token) => Request::Renew { holder: by, token, number, stamp: None },
            None => {
                let mark = told.filter(|_| !store.traits().ends_leases && draw.chance(1, 4));
                acquire((by, number), (seen, mark), &profile(client.into()))
            }
        };
        let asked = asks.to_contract().and_then(calls::asked).ok_or("no such request")?;
        let sent = places.fetch_add(1, Ordering::SeqCst);
        let reply = tokio::time::timeout(LONG / 6, store.call(&job, asks)).await;
        let answered = places.fetch_add(1, Ordering::SeqCst);
        let reply = reply.map_err(|_| "a request was not answered".to_owned())?;
        let reply = reply.map_err(|error| format!("it answered with an error: {error}"))?;
        match &reply {
            Reply::Granted { token } => (seen, mine) = (Some(*token), Some(*token)),
            Reply::Not(shown) => {
                let Sight { last, record, .. } = shown.sight;
                (seen, told) = (seen.max(last), record.map(|record| record.mark()));
            }
            Reply::Renewed { .. } => {}
            _ => mine = None,
        }
        let answer = reply.to_contract().map(calls::answered);
        let answer = answer.filter(|answer| *answer != Answer::Other);
        let answer = answer.ok_or_else(|| format!("the answer was {reply:?}"))?;
        let (holder, request): (u128, Asked) = asked;
        exchanges.push(Exchange { holder, request, answer, sent, answered });
    }
    Ok(exchanges)
}

fn acquire(
    (holder, number): (HolderId, RequestId),
    (seen, mark): (Option<Token>, Option<Mark>),
    profile: &Profile,
) -> Request {
    let asks = Acquire { seen, mark, ..Acquire::new(holder, number, LONG, profile.name_id()) };
    Request::Acquire { asks, profile: profile.clone() }
}
