//! Renewals: a keepalive for each, then one read for all of them.
//!
//! A keepalive names an etcd lease, and a lease belongs to one tenure: a delayed or repeated
//! keepalive extends that tenure and no other, and does not revive one that is over. This process
//! remembers the leases of its tenures; that of another process is read. The read begins once all
//! keepalives are answered, so it proves for each what [`keep`](super::keep) asks of a read after a
//! keepalive. It also tells what the holder is to know: who asks for the lead, and a past that is
//! not watched yet.
//!
//! What a holder tells of its watch of the past is written, and all elections of a prefix write the
//! same key. So of the renewals of a call the longest watch alone is told, before the others are
//! answered, and once: a write that comes too late is left to the next renewal. Otherwise hundreds
//! of leaders that find a new past would hold up each other's renewals until their leases end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use etcd_client::{Txn, TxnOp};
use futures_util::future::join_all;

use super::keep::{Beat, Tenure};
use super::link::{Link, Live};
use super::session::{Outcome, Session};
use super::state::{State, unexpected};
use crate::store::{Key, Reply, Request, StoreError, StoreErrorKind};

/// The most looks of a renewal for its lease, which moves only if the tenure was granted again.
const ROUNDS: usize = 5;

/// A keepalive that was answered, in this term.
#[derive(Clone, Copy)]
struct Kept {
    lease: i64,
    term: u64,
}

/// The reply to each renewal.
pub(super) async fn renew(
    link: &Link,
    live: &Arc<Live>,
    renewals: &[(Key, Request)],
) -> Vec<Result<Reply, StoreError>> {
    let sessions: Vec<_> = renewals.iter().map(|(key, _)| Session::new(link, live, key)).collect();
    let beats = sessions.iter().zip(renewals).map(|(session, (_, renewal))| async move {
        match remembered(session, renewal) {
            Some(lease) => keep(session, lease).await,
            None => Ok(None),
        }
    });
    let beats = join_all(beats).await;
    let failed = |error: StoreError| vec![Err(error); renewals.len()];
    let mut states = match read(&sessions).await {
        Ok(states) => states,
        Err(error) => return failed(error),
    };
    let mut told = None;
    if let Some(teller) = teller(&states, renewals) {
        let (kept, state) = (beats[teller].clone(), states[teller].clone());
        told = Some((teller, reply(&sessions[teller], &renewals[teller].1, kept, state).await));
        // The others come after it.
        if renewals.len() > 1 {
            states = match read(&sessions).await {
                Ok(states) => states,
                Err(error) => return failed(error),
            };
        }
    }
    let each = sessions.iter().zip(renewals).zip(beats.into_iter().zip(states)).enumerate();
    let replies = each.map(|(index, ((session, (_, renewal)), (kept, state)))| {
        let told = told.as_ref().filter(|(teller, _)| *teller == index);
        let told = told.map(|(_, reply)| reply.clone());
        async move {
            match told {
                Some(told) => told,
                None => reply(session, &silent(renewal), kept, state).await,
            }
        }
    });
    join_all(replies).await
}

async fn reply(
    session: &Session<'_>,
    renewal: &Request,
    kept: Result<Option<Kept>, StoreError>,
    state: Result<State, StoreError>,
) -> Result<Reply, StoreError> {
    let asked = renewal.to_contract().ok_or_else(|| unexpected("a renewal"))?;
    confirmed(session, asked, kept?, state?).await
}

/// The renewal that tells of the longest watch.
fn teller(states: &[Result<State, StoreError>], renewals: &[(Key, Request)]) -> Option<usize> {
    let each = states.iter().zip(renewals).enumerate();
    let tell = each.filter_map(|(index, (state, (_, renewal)))| {
        Some((noted_watch(state.as_ref().ok()?, renewal)?, index))
    });
    tell.max().map(|(_, index)| index)
}

/// The time for which a renewal tells that its holder has watched the past, if that is noted.
fn noted_watch(state: &State, renewal: &Request) -> Option<Duration> {
    let Request::Renew { holder, token, number, stamp: Some(watch) } = *renewal else {
        return None;
    };
    let (record, past) = (state.record()?, state.past()?);
    let is_its = !record.released && (record.holder, record.token) == (holder, token);
    (is_its && number > record.number && watch.stamp == past.stamp).then_some(watch.time)
}

/// The renewal without its watch of the past.
fn silent(renewal: &Request) -> Request {
    match *renewal {
        Request::Renew { holder, token, number, .. } => {
            Request::Renew { holder, token, number, stamp: None }
        }
        ref other => other.clone(),
    }
}

fn remembered(session: &Session<'_>, renewal: &Request) -> Option<i64> {
    let Request::Renew { holder, token, .. } = renewal else { return None };
    let tenure = session.link.remembered(session.key)?;
    ((tenure.holder, tenure.token) == (*holder, *token)).then_some(tenure.lease)
}

/// `None` if there is no such lease.
async fn keep(session: &Session<'_>, lease: i64) -> Result<Option<Kept>, StoreError> {
    Ok(match session.beat(lease).await? {
        Beat::Done { term } => Some(Kept { lease, term }),
        Beat::Gone => None,
    })
}

/// The states of all, by one read.
async fn read(sessions: &[Session<'_>]) -> Result<Vec<Result<State, StoreError>>, StoreError> {
    let is_compared = |first: &Session<'_>| first.live.is_compared.load(Ordering::Relaxed);
    let Some(first) = sessions.first().filter(|first| is_compared(first)) else {
        return Ok(join_all(sessions.iter().map(Session::read)).await);
    };
    let keys = sessions.iter().map(|session| &session.names);
    let keys = keys.flat_map(|names| [&names.leader, &names.record]).chain([&first.names.past]);
    let reads: Vec<_> = keys.map(|name| TxnOp::get(name.as_str(), None)).collect();
    let answer = first.ask(first.client().kv_client().txn(Txn::new().and_then(reads))).await?;
    let found = answer.op_responses();
    let Some((past, of_elections)) = found.split_last() else {
        return Err(unexpected("a transaction of reads has no answers"));
    };
    if of_elections.len() != 2 * sessions.len() {
        return Err(unexpected("a transaction of reads has other answers"));
    }
    let of_each = of_elections.chunks_exact(2);
    Ok(of_each.map(|two| State::of(answer.header(), [&two[0], &two[1], past])).collect())
}

/// The reply, by what was read after a keepalive.
async fn confirmed(
    session: &Session<'_>,
    mut asked: tenure_core::Request,
    mut kept: Option<Kept>,
    mut state: State,
) -> Result<Reply, StoreError> {
    let tenure = match asked {
        tenure_core::Request::Renew { holder, token, .. } => (holder, token),
        _ => return Err(unexpected("a renewal")),
    };
    for _ in 0..ROUNDS {
        let decided = session.decide(&mut state, asked).await?;
        let leader =
            state.leader.filter(|_| matches!(decided.reply, tenure_core::Reply::Renewed { .. }));
        if let Some(leader) = leader {
            let Some(kept) = kept.filter(|kept| kept.lease == leader.lease) else {
                kept = keep(session, leader.lease).await?;
                state = session.read().await?;
                continue;
            };
            if kept.term != state.term {
                let detail = "it changed while the lease was renewed";
                return Err(StoreError::new(StoreErrorKind::NoLeader, detail));
            }
        }
        if decided.writes()
            && let Outcome::Changed(present) = session.write(&state, &decided, None, None).await?
        {
            state = *present;
            if let tenure_core::Request::Renew { stamp, .. } = &mut asked {
                *stamp = None;
            }
            continue;
        }
        match leader {
            Some(leader) => {
                let (holder, token) = tenure;
                session.link.remember(session.key, Tenure { holder, token, lease: leader.lease });
            }
            None => session.link.forget(session.key, tenure),
        }
        return Ok(Reply::from_contract(decided.reply, || state.profile()));
    }
    let detail = format!("the election changed {ROUNDS} times while it was read");
    Err(StoreError::new(StoreErrorKind::Refused, detail))
}
