//! **Theorem (G4).** Between a tenure's read at a resource that checks tokens and the write that
//! follows from it, that resource accepts no write of another tenure, as long as each tenure takes
//! the resource over before it reads.
//!
//! Rests on G3, and so on the store's wall clock, as `fenced-writes` does: then at most one tenure
//! at a time can equal the stored token, and a token that was replaced never returns. And on the
//! take-over: a leader that reads before the resource has seen its token can be overtaken by the
//! last write of the old leader, and then repeats the old leader's work. The rule that a resource
//! refuses lower tokens does not prevent that, since the old write arrives while its token is still
//! the highest.
//!
//! A tenure may overtake itself: two operations of one process under one token are not
//! distinguished by it.

use super::{About, Found, Property, PropertyName, State, Tally};
use crate::judge::finding::Finding;
use crate::plan::{Assumption, SimTime};
use crate::trace::Event;

/// No write of another tenure comes between a read at the fenced sink and the write that follows
/// from it.
#[derive(Debug, Default)]
pub(super) struct FencedReads {
    /// The token of the last accepted write, and its time.
    last: (u64, SimTime),
    /// The token of the last accepted write under another token than that, and its time.
    other: (u64, SimTime),
}

impl FencedReads {
    /// The last accepted write of another tenure: its token and its time.
    fn before(&self, token: u64) -> (u64, SimTime) {
        if self.last.0 == token { self.other } else { self.last }
    }

    fn accepted(&mut self, at: SimTime, token: u64) {
        if self.last.0 != token {
            self.other = self.last;
        }
        self.last = (token, at);
    }
}

impl Property for FencedReads {
    fn about(&self) -> About {
        About::of(PropertyName::FENCED_READS)
            .resting_on(&[Assumption::WallClock, Assumption::TakeOverFirst])
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        let Event::Wrote { who, token, checked, takes_over, accepted_by_fenced: true } = *event
        else {
            return Ok(());
        };
        let (other, written) = self.before(token);
        self.accepted(at, token);
        tally.count(!takes_over && other > 0);
        if !takes_over && written > checked {
            return Err(Finding::WriteBetween { who, token, checked, other, written });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{Seen, at, fails, holds, n};
    use super::FencedReads;
    use crate::plan::ns;
    use crate::trace::Event;

    fn wrote(node: usize, token: u64, checked: u64, accepted: bool) -> Event {
        let (takes_over, accepted_by_fenced) = (false, accepted);
        Event::Wrote { who: n(node), token, checked: ns(checked), takes_over, accepted_by_fenced }
    }

    fn took_over(node: usize, token: u64, checked: u64) -> Event {
        Event::Wrote {
            who: n(node),
            token,
            checked: ns(checked),
            takes_over: true,
            accepted_by_fenced: true,
        }
    }

    /// The old leader's last write arrives at 105, after the new one's check at 101.
    fn late(accepted: bool) -> Vec<Seen> {
        vec![at(50, wrote(0, 7, 40, true)), at(105, wrote(0, 7, 60, accepted))]
    }

    #[test]
    fn reads_that_follow_a_take_over() {
        let newer = [
            at(106, took_over(1, 8, 101)),
            at(110, wrote(1, 8, 107, true)),
            at(115, wrote(1, 8, 107, true)),
        ];
        holds(FencedReads::default(), &[late(true), newer.to_vec()].concat());
    }

    #[test]
    fn a_read_before_the_last_old_write() {
        let newer = at(106, wrote(1, 8, 101, true));
        fails(FencedReads::default(), &[late(true), vec![newer.clone()]].concat());
        holds(FencedReads::default(), &[late(false), vec![newer]].concat());
    }

    #[test]
    fn a_late_write_after_two_take_overs() {
        let history = [
            at(50, took_over(0, 7, 40)),
            at(60, took_over(1, 8, 55)),
            at(65, wrote(1, 8, 61, true)),
            at(70, wrote(0, 7, 51, true)),
        ];
        fails(FencedReads::default(), &history);
    }

    #[test]
    fn a_tenure_may_overtake_itself() {
        let history = [at(50, wrote(0, 7, 40, true)), at(60, wrote(0, 7, 45, true))];
        holds(FencedReads::default(), &history);
    }
}
