//! **Theorem (G4).** A resource that checks tokens never accepts a write of an older tenure after
//! one of a newer. In particular no two tenures write under one token.
//!
//! Rests on G3, and so on the store's wall clock. A store that has lost its record, and whose clock
//! is behind the last grant, grants a token below it: the resource then refuses the newer tenure
//! and accepts the older one. And two primaries whose clocks agree to the microsecond may grant the
//! same token. Rests on nothing else: neither clocks of candidates nor lost records nor restored
//! memories mix up the writes, as a restored process is still the one that its tokens were granted
//! to.
//!
//! A tenure is older if the store granted it earlier, whatever the numbers say: tokens that do not
//! increase make the resource accept writes that it should refuse, or refuse writes that it should
//! accept. The first is seen here. Tenures that share a token are distinguished by the candidate
//! that writes.

use super::order::Order;
use super::{About, Found, Property, PropertyName, State, Tally};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::{Assumption, SimTime};
use crate::trace::{Event, Who};

/// The fenced sink never accepts an older tenure after a newer one.
#[derive(Debug, Default)]
pub(super) struct FencedWrites {
    order: Order,
    writers: Recent<u64, Option<Who>>,
}

impl FencedWrites {
    fn accepted(&mut self, who: Who, token: u64, state: &State, tally: &mut Tally) -> Found {
        if let Some(other) = self.writers.of(token).replace(who)
            && other != who
        {
            return Err(Finding::BothWrote { one: other, other: who, token });
        }
        self.order.wrote(who, token, state, tally)
    }
}

impl Property for FencedWrites {
    fn about(&self) -> About {
        About::of(PropertyName::FENCED_WRITES).resting_on(&[Assumption::WallClock])
    }

    fn observe(&mut self, _: SimTime, event: &Event, state: &State, tally: &mut Tally) -> Found {
        match event {
            Event::Wrote { who, token, accepted_by_fenced: true, .. } => {
                self.accepted(*who, *token, state, tally)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{Seen, at, fails, grant, holds, kept, n, wrote};
    use super::FencedWrites;

    /// Two tenures with those tokens, one after the other.
    fn tenures(first: u64, second: u64) -> Vec<Seen> {
        let lease = kept(1, first, 100);
        vec![at(0, grant(None, lease)), at(100, grant(Some(lease), kept(2, second, 200)))]
    }

    #[test]
    fn writes_in_the_order_of_the_tenures() {
        let writes = [
            at(101, wrote(n(0), 7, true)),
            at(102, wrote(n(0), 7, true)),
            at(103, wrote(n(1), 8, true)),
            at(104, wrote(n(1), 8, true)),
        ];
        holds(FencedWrites::default(), &[tenures(7, 8), writes.to_vec()].concat());
    }

    #[test]
    fn a_refused_stale_write_is_harmless() {
        let newer = at(101, wrote(n(1), 8, true));
        let stale = |accepted| at(102, wrote(n(0), 7, accepted));
        let history = |accepted| [tenures(7, 8), vec![newer.clone(), stale(accepted)]].concat();
        holds(FencedWrites::default(), &history(false));
        fails(FencedWrites::default(), &history(true));
    }

    #[test]
    fn tokens_that_decrease_let_an_older_write_in() {
        let writes = [at(101, wrote(n(1), 6, true)), at(102, wrote(n(0), 7, true))];
        fails(FencedWrites::default(), &[tenures(7, 6), writes.to_vec()].concat());
    }

    #[test]
    fn two_writers_under_one_token() {
        let one = at(101, wrote(n(1), 7, true));
        let other = |accepted| at(102, wrote(n(0), 7, accepted));
        let history = |accepted| [tenures(7, 7), vec![one.clone(), other(accepted)]].concat();
        holds(FencedWrites::default(), &history(false));
        fails(FencedWrites::default(), &history(true));
    }

    #[test]
    fn a_repeated_grant_is_no_newer_tenure() {
        let lease = kept(1, 7, 100);
        let again = at(50, grant(Some(lease), kept(1, 7, 150)));
        let history = [
            at(0, grant(None, lease)),
            at(10, wrote(n(0), 7, true)),
            again,
            at(60, wrote(n(0), 7, true)),
        ];
        holds(FencedWrites::default(), &history);
    }

    #[test]
    fn a_write_without_a_grant() {
        fails(FencedWrites::default(), &[at(1, wrote(n(0), 7, true))]);
    }
}
