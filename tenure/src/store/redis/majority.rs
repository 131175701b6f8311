//! The majority of the listed sentinels or nodes.
//!
//! They are asked at the same time, so a member that hangs costs no time, and a member that was cut
//! off is outvoted.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::config::Address;
use super::member::Members;
use super::session::Live;
use crate::store::{StoreError, StoreErrorKind};

impl Members {
    /// Asks all listed members at once, and returns the address that more than half of them name.
    pub(super) async fn majority<A>(
        self: &Arc<Self>,
        listed: &[Address],
        ask: impl Fn(Arc<Live>) -> A + Clone + Send + 'static,
    ) -> Result<Address, StoreError>
    where
        A: Future<Output = Result<Address, StoreError>> + Send + 'static,
    {
        let mut late = self
            .connector
            .runtime
            .sleep_until(self.connector.runtime.now() + self.connector.config.connect_timeout / 2);
        let asked = listed.iter().map(|at| self.ask(at, ask.clone()));
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
    let detail = format!("of {all} members, {}", named.join(", "));
    let error = StoreError::new(StoreErrorKind::NoLeader, detail);
    match trouble {
        Some(trouble) => error.with_source(trouble),
        None => error,
    }
}

/// The error to report of two: an unreachable member says least.
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
    fn an_undecided_majority_says_why() {
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
        assert!(shown.ends_with("of 5 members, 1 name a:1, 2 name b:1"), "{shown}");
    }
}
