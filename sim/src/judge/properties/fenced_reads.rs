//! **Theorem (G4).** Between what a tenure reads at a resource that checks tokens and the write that follows from
//! it, that resource accepts nothing of another tenure, as long as each tenure takes the resource over before it
//! reads.
//!
//! Rests on G3, and so on the store's wall clock, as `fenced-writes` does: then at most one tenure at a time can
//! equal the stored token, and once it is replaced it never comes back. And on the take-over: a leader that reads
//! before the resource has seen its token can be overtaken by the last write of the old one, and then does once more
//! what that one has done. The rule that a resource refuses lower tokens does not prevent that, since the old write
//! arrives while its token is still the highest.
//!
//! A tenure may overtake itself: what a process does twice under one token is not told apart by it.

use super::Property;
use crate::plan::Assumption;
use crate::plan::clock::True;
use crate::trace::Event;

/// What the fenced sink was read as is still so when it is written.
#[derive(Debug, Default)]
pub(super) struct FencedReads {
    /// The token of the last write that was accepted, and when that was.
    last: (u64, True),
    /// When the last write of another token than that one was accepted, and which.
    other: (u64, True),
    compared: u64,
}

impl FencedReads {
    /// The last write of another tenure: its token, and when it was accepted.
    fn before(&self, token: u64) -> (u64, True) {
        if self.last.0 == token { self.other } else { self.last }
    }

    fn accepted(&mut self, at: True, token: u64) {
        if self.last.0 != token {
            self.other = self.last;
        }
        self.last = (token, at);
    }
}

impl Property for FencedReads {
    fn name(&self) -> &'static str {
        "fenced-reads"
    }

    fn compared(&self) -> u64 {
        self.compared
    }

    fn assumes(&self) -> &'static [Assumption] {
        &[Assumption::WallClock, Assumption::TakeOverFirst]
    }

    fn observe(&mut self, at: True, event: &Event) -> Result<(), String> {
        let Event::Wrote { who, token, checked, takes_over, accepted_by_fenced: true } = event
        else {
            return Ok(());
        };
        let (other, written) = self.before(*token);
        self.accepted(at, *token);
        self.compared += u64::from(!takes_over && other > 0);
        if !takes_over && written > *checked {
            let (read, written) = (super::time(*checked), super::time(written));
            return Err(format!(
                "{who:?} wrote under token {token} what it had read at {read:?}, but a write under token {other} \
                 was accepted at {written:?}"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{Seen, at, fails, holds, n};
    use super::FencedReads;
    use crate::trace::Event;

    fn wrote(node: usize, token: u64, checked: u64, accepted: bool) -> Event {
        let (takes_over, accepted_by_fenced) = (false, accepted);
        Event::Wrote { who: n(node), token, checked, takes_over, accepted_by_fenced }
    }

    fn took_over(node: usize, token: u64, checked: u64) -> Event {
        Event::Wrote { who: n(node), token, checked, takes_over: true, accepted_by_fenced: true }
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
    fn a_late_write_whose_resource_was_taken_over_and_back() {
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
