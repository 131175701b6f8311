//! Which server to connect to, and whether it still was the one when it answered.
//!
//! Redis replicates after it has answered, so a primary that was replaced without knowing it (cut off, or
//! paused) goes on granting what nobody else will ever hear of. What it says counts only if, *after* it
//! has said so, more than half of those who know name it still. And a connection is opened only to a
//! server that more than half of them name. Two majorities have somebody in common, and nobody goes
//! back, within a request's time, to a primary that was replaced; so whatever counts at the old one was
//! asked for before anybody was granted anything at the new one, whose quarantine therefore outlasts it.
//!
//! That rests on all candidates listing the same ones, and all of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::config::{Address, Servers};
use super::link::Link;
use super::session::Live;
use super::{cluster, member, sentinel};
use crate::store::{StoreError, StoreErrorKind};

/// The server that keeps the elections, by those who know.
pub(super) async fn find(link: &Arc<Link>) -> Result<Address, StoreError> {
    match &link.config.servers {
        Servers::One(server) => Ok(server.clone()),
        Servers::Sentinels { listed, primary } => {
            let primary = primary.clone();
            majority(link, listed, move |live| sentinel::ask(live, primary.clone())).await
        }
        Servers::Cluster { listed } => {
            let history = link.config.history();
            majority(link, listed, move |live| cluster::ask(live, history.clone())).await
        }
    }
}

/// What that server has just promised counts.
///
/// # Errors
/// If it is not, or not known to be, the one that keeps the elections: then the promise is void.
pub(super) async fn vouch_for(link: &Arc<Link>, at: &Address) -> Result<(), StoreError> {
    if let Servers::One(_) = &link.config.servers {
        return Ok(());
    }
    let named = link.rounds.next(|| find(link)).await?;
    if named == *at {
        return Ok(());
    }
    let detail = format!("{named} has taken the place of {at}");
    Err(StoreError::new(StoreErrorKind::NotPrimary, detail))
}

/// Asks all of them at once, and takes what more than half say: who stands still costs nothing, and who
/// was cut off is outvoted.
pub(super) async fn majority<A>(
    link: &Arc<Link>,
    listed: &[Address],
    ask: impl Fn(Arc<Live>) -> A + Clone + Send + 'static,
) -> Result<Address, StoreError>
where
    A: Future<Output = Result<Address, StoreError>> + Send + 'static,
{
    let mut late = link.runtime.sleep_until(link.runtime.now() + link.config.connect_timeout / 2);
    let asked = listed.iter().map(|at| member::ask(link, at, ask.clone()));
    let mut asked: FuturesUnordered<_> = asked.collect();
    let (mut votes, mut trouble) = (BTreeMap::<Address, usize>::new(), None);
    loop {
        let answer = tokio::select! {
            biased;
            answer = asked.next() => answer,
            () = &mut late => None,
        };
        match answer {
            Some(Ok(named)) => {
                let count = votes.entry(named.clone()).or_default();
                *count += 1;
                if *count > listed.len() / 2 {
                    return Ok(named);
                }
            }
            Some(Err(error)) => trouble = Some(worse(trouble, error)),
            None => return Err(undecided(&votes, trouble, listed.len())),
        }
    }
}

fn undecided(
    votes: &BTreeMap<Address, usize>,
    trouble: Option<StoreError>,
    all: usize,
) -> StoreError {
    if votes.is_empty() {
        let silent =
            || StoreError::new(StoreErrorKind::Unreachable, format!("none of {all} answers"));
        return trouble.unwrap_or_else(silent);
    }
    let named: Vec<_> = votes.iter().map(|(at, count)| format!("{count} name {at}")).collect();
    let detail = format!("of {all} who should know it, {}", named.join(", "));
    let error = StoreError::new(StoreErrorKind::NoLeader, detail);
    match trouble {
        Some(trouble) => error.with_source(trouble),
        None => error,
    }
}

/// Which of two errors to tell: that somebody is away says least.
fn worse(one: Option<StoreError>, other: StoreError) -> StoreError {
    match one {
        Some(one) if one.kind() != StoreErrorKind::Unreachable => one,
        Some(_) | None => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_undecided_says_why() {
        let of = |kind| StoreError::new(kind, "");
        let (away, refused) = (StoreErrorKind::Unreachable, StoreErrorKind::Authentication);
        for (one, other) in [(away, refused), (refused, away)] {
            let trouble = worse(Some(of(one)), of(other));
            assert_eq!(undecided(&BTreeMap::new(), Some(trouble), 3).kind(), refused);
        }
        assert_eq!(undecided(&BTreeMap::new(), None, 3).kind(), away);
        let votes = [(Address::new("a", 1), 1), (Address::new("b", 1), 2)].into();
        let error = undecided(&votes, None, 5);
        assert_eq!(error.kind(), StoreErrorKind::NoLeader);
        let shown = error.to_string();
        assert!(shown.ends_with("of 5 who should know it, 1 name a:1, 2 name b:1"), "{shown}");
    }
}
