//! Renewals of many tenures: a keepalive for each, then one read for all of them.
//!
//! The read begins once all keepalives are answered, so it proves for each what [`keep`](super::keep) asks of a read
//! after a keepalive.

use std::sync::Arc;

use etcd_client::{Txn, TxnOp};
use futures_util::future::join_all;

use super::keep::{Beat, Tenure};
use super::link::{Link, Live};
use super::session::{Session, whole_seconds};
use super::state::{header, only, unexpected};
use crate::store::{Key, Reply, Request, StoreError};

/// A keepalive that was answered, in this term.
struct Answered<'a> {
    place: usize,
    session: Session<'a>,
    tenure: Tenure,
    term: u64,
}

/// The reply to each renewal; `None` for those that have to be asked alone: this process does not know their leases, or
/// they are over.
pub(super) async fn renew(
    link: &Link,
    live: &Arc<Live>,
    renewals: &[(Key, Request)],
) -> Vec<Option<Result<Reply, StoreError>>> {
    let mut replies: Vec<_> = renewals.iter().map(|_| None).collect();
    let beats = renewals.iter().enumerate().map(|(place, (key, renewal))| {
        let session = Session::new(link, live, key);
        async move { (place, beat(place, session, renewal).await) }
    });
    let mut answered = Vec::new();
    for (place, beat) in join_all(beats).await {
        match beat {
            Ok(Some(beat)) => answered.push(beat),
            Ok(None) => {}
            Err(error) => replies[place] = Some(Err(error)),
        }
    }
    let places: Vec<_> = answered.iter().map(|one| one.place).collect();
    match confirmed(live, answered).await {
        Ok(confirmed) => {
            for (place, reply) in confirmed {
                replies[place] = reply;
            }
        }
        Err(error) => {
            for place in places {
                replies[place] = Some(Err(error.clone()));
            }
        }
    }
    replies
}

async fn beat<'a>(
    place: usize,
    session: Session<'a>,
    renewal: &Request,
) -> Result<Option<Answered<'a>>, StoreError> {
    let Request::Renew { holder, token, ttl } = *renewal else { return Ok(None) };
    let Ok(ttl) = whole_seconds(ttl) else { return Ok(None) };
    let tenure = session.remembered(holder, token).filter(|tenure| tenure.ttl == ttl);
    let Some(tenure) = tenure else { return Ok(None) };
    match session.beat(tenure.lease).await? {
        Beat::Done { term } => Ok(Some(Answered { place, session, tenure, term })),
        Beat::Gone => Ok(None),
    }
}

/// The replies by one read, with their places.
async fn confirmed(
    live: &Live,
    answered: Vec<Answered<'_>>,
) -> Result<Vec<(usize, Option<Result<Reply, StoreError>>)>, StoreError> {
    let Some(first) = answered.first() else { return Ok(Vec::new()) };
    let reads: Vec<_> =
        answered.iter().map(|one| TxnOp::get(one.session.names.leader.as_str(), None)).collect();
    let answer = first.session.ask(live.client.kv_client().txn(Txn::new().and_then(reads))).await?;
    let read = header(answer.header())?;
    let found = answer.op_responses();
    if found.len() != answered.len() {
        return Err(unexpected("a transaction of reads has other answers"));
    }
    let reply = |(Answered { place, session, tenure, term }, found)| {
        let is_kept = only(found).and_then(|leader| session.is_kept(tenure, term, leader, read));
        (place, is_kept.map(|is_kept| is_kept.then_some(Reply::Renewed)).transpose())
    };
    Ok(answered.into_iter().zip(&found).map(reply).collect())
}
