//! Requests that arrive late, twice, or at the same time, or whose replies are lost.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use tenure::Token;
use tenure::store::{Key, Reply, Request, Store};

use crate::conformance::Harness;
use crate::conformance::probe::{
    Found, LONG, Probe, acquire, as_grant, broken, key, must, release, renew,
};
use crate::judge::properties::linearizable::{Exchange, is_explained};
use crate::plan::draw::Draw;
use crate::trace::{Answer, Asked};

pub(crate) async fn a_lost_reply_is_harmless<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
    // The candidate sees the second reply only.
    let (lost, _) = probe.granted(acquire(1, None)).await?;
    let (token, _) = probe.granted(acquire(1, None)).await?;
    must(lost == token, || format!("the retry of {lost} was granted another tenure, {token}"))?;
    probe.ask(renew(1, token)).await?;
    probe.expect(renew(1, token), Reply::Renewed).await?;
    probe.is_held_by(1, token).await?;
    probe.ask(release(1, token)).await?;
    probe.expect(release(1, token), Reply::NotHeld).await?;
    probe.expect(Request::Observe, Reply::Vacant).await?;
    let (next, _) = probe.granted(acquire(2, Some(token))).await?;
    must(next > token, || format!("{next} is granted after {token}"))
}

pub(crate) async fn a_late_duplicate_acquire_is_never_granted<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let first = probe.past_tenure(1).await?;
    probe.expect(acquire(1, None), Reply::Stale { last: first }).await?;
    let (second, _) = probe.granted(acquire(2, Some(first))).await?;
    for seen in [None, Some(first)] {
        let incumbent = probe.held(acquire(1, seen)).await?;
        must(incumbent.token == second, || format!("{} holds it", incumbent.token))?;
    }
    probe.expect(release(2, second), Reply::Released).await?;
    for (number, seen) in [(1, None), (2, Some(first))] {
        probe.expect(acquire(number, seen), Reply::Stale { last: second }).await?;
    }
    Ok(())
}

pub(crate) async fn late_requests_of_an_old_tenure_change_nothing<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let first = probe.past_tenure(1).await?;
    // The same candidate again: only the token distinguishes its tenures.
    let (second, _) = probe.granted(acquire(1, Some(first))).await?;
    probe.expect(release(1, first), Reply::NotHeld).await?;
    probe.expect(renew(1, first), Reply::Superseded { last: Some(second) }).await?;
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

pub(crate) async fn a_dropped_request_leaves_the_store_usable<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let job = key("job")?;
    for polls in 1..=3 {
        give_up(probe.store.call(&job, acquire(1, None)), polls).await;
    }
    let reply = probe.ask_until_answered(&acquire(1, None)).await?;
    let (token, _) = as_grant(&reply)?;
    for polls in 1..=3 {
        give_up(probe.store.call(&job, renew(1, token)), polls).await;
        give_up(probe.store.call(&job, Request::Observe), polls).await;
    }
    let reply = probe.ask_until_answered(&renew(1, token)).await?;
    must(reply == Reply::Renewed, || format!("the tenure is live, but the answer was {reply:?}"))?;
    // The answer to a request that was given up must not be delivered to the next one.
    let reply = probe.ask_until_answered(&Request::Observe).await?;
    must(matches!(reply, Reply::Held(_)), || {
        format!("the lease is held, but the answer was {reply:?}")
    })
}

const CONNECTIONS: usize = 4;
const CANDIDATES: u128 = 16;
const ROUNDS: usize = 5;

pub(crate) async fn of_many_at_once_one_is_granted<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let job = key("job")?;
    let stores = connections(probe).await;
    let mut seen: Option<Token> = None;
    for _ in 0..ROUNDS {
        let ask = |number: u128| {
            let store = &stores[usize::try_from(number).unwrap_or(0) % CONNECTIONS];
            let (job, request) = (job.clone(), acquire(number, seen));
            async move { (number, store.call(&job, request).await) }
        };
        let mut granted = Vec::new();
        for (number, answer) in join_all((1..=CANDIDATES).map(ask)).await {
            match answer {
                Ok(Reply::Granted { token, .. }) => granted.push((number, token)),
                Ok(Reply::Held(_)) => {}
                other => {
                    return broken(format!(
                        "the answer should be granted or held, but was {other:?}"
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

async fn connections<H: Harness>(probe: &Probe<'_, H>) -> Vec<Arc<H::Store>> {
    let connect = (0..CONNECTIONS).map(|_| probe.harness.connect());
    join_all(connect).await.into_iter().map(Arc::new).collect()
}

/// The requests of each connection; all connections send at the same time.
const REQUESTS: u64 = 10;

pub(crate) async fn answers_are_linearizable<H: Harness>(probe: &mut Probe<'_, H>) -> Found<()> {
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

/// A candidate that acquires, renews and releases at random.
async fn client<S: Store>(
    store: Arc<S>,
    job: Key,
    number: u64,
    places: Arc<AtomicUsize>,
) -> Result<Vec<Exchange>, String> {
    let mut draw = Draw::new(1, "conformance", number);
    let (mut seen, mut mine, mut exchanges) = (None, None, Vec::new());
    for _ in 0..REQUESTS {
        let number = u128::from(number);
        let (request, asked) = match mine {
            Some(token) if draw.chance(1, 2) => {
                (release(number, token), Asked::Release { token: token.get() })
            }
            Some(token) => (renew(number, token), Asked::Renew { token: token.get() }),
            None => {
                let asked = Asked::Acquire { seen: seen.map_or(0, Token::get) };
                (acquire(number, seen), asked)
            }
        };
        let sent = places.fetch_add(1, Ordering::SeqCst);
        let reply = tokio::time::timeout(LONG / 6, store.call(&job, request)).await;
        let answered = places.fetch_add(1, Ordering::SeqCst);
        let reply = reply.map_err(|_| "a request was not answered".to_owned())?;
        let reply = reply.map_err(|error| format!("it answered with an error: {error}"))?;
        let answer = match reply {
            Reply::Granted { token, wait } => {
                (seen, mine) = (Some(token), Some(token));
                Answer::Granted { token: token.get(), waits: wait > Duration::ZERO }
            }
            Reply::Held(incumbent) => {
                seen = seen.max(Some(incumbent.token));
                Answer::Held
            }
            Reply::Stale { last } => {
                seen = seen.max(Some(last));
                Answer::Stale
            }
            Reply::Renewed => Answer::Renewed,
            Reply::Superseded { .. } => {
                mine = None;
                Answer::Superseded
            }
            Reply::Released => {
                mine = None;
                Answer::Released
            }
            Reply::NotHeld => {
                mine = None;
                Answer::NotHeld
            }
            other @ (Reply::Refused { .. }
            | Reply::Described
            | Reply::Vacant
            | Reply::Notified { .. }) => {
                return Err(format!("the answer to a candidate's request was {other:?}"));
            }
        };
        exchanges.push(Exchange { holder: number, request: asked, answer, sent, answered });
    }
    Ok(exchanges)
}
