//! Whether the cluster's history is whole, and since when.
//!
//! etcd has no clock for clients, so a quarantine is itself a lease: a key that exists for as long as it
//! lasts. While it exists, the remaining time of its lease is the rest of the quarantine; once it is gone, all of
//! it has passed. A change of etcd's leader lets a lease last longer, never shorter.
//!
//! Any of these shows that a part of the history is lost:
//! - the prefix has no history (wiped, or never seen);
//! - the history was written by another cluster;
//! - a candidate knows a higher token than the cluster; for an election without a record, a higher one than any whose
//!   record was purged;
//! - the log is shorter than its own records require. Each entry of a cluster's log raises the revision by
//!   one at most, so *index minus revision* never falls as long as the log continues. A cluster restored
//!   from a snapshot keeps the revision, and the cluster's identity if it is given the old token, but
//!   begins a new log.

use std::time::Duration;

use super::record::History;
use super::state::State;
use crate::Token;

/// The parts of an acquire that concern the history.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    pub(super) seen: Option<Token>,
    /// As long as the longest TTL under the prefix, at least.
    pub(super) quarantine: Duration,
    /// Treat a prefix that was never seen as one that has lost nothing.
    pub(super) trust_empty_store: bool,
    /// An index that the log had reached when the state had been read.
    pub(super) index: u64,
    /// Seconds that remain of the quarantine's lease, rounded up.
    pub(super) remaining: Option<u64>,
    /// The asker's wall clock, in microseconds since 1970: tokens of a new history begin there.
    pub(super) wall_clock: u64,
}

/// The result: the wait of a grant, and what to write with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// How long the holder must still wait.
    pub(super) wait: Duration,
    /// The offset of the grant's token.
    pub(super) offset: u64,
    /// The index that the log had reached.
    pub(super) index: u64,
    pub(super) rewrite: Option<Rewrite>,
}

/// A history to be written, and the quarantine that begins with it, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rewrite {
    pub(super) history: History,
    pub(super) quarantine: Option<u64>,
}

pub(super) fn find(state: &State, asked: Question) -> Finding {
    let known = state.history.as_ref().filter(|_| !is_lost(state, asked));
    match known.map(|history| history.value) {
        Some(history) => known_for(state, history, asked),
        None if asked.trust_empty_store && is_empty(state) && asked.seen.is_none() => {
            let history = begun(state, asked, u64::MAX);
            let rewrite = Some(Rewrite { history, quarantine: None });
            Finding { wait: Duration::ZERO, offset: history.offset, index: asked.index, rewrite }
        }
        None => {
            let quarantine = seconds_up(asked.quarantine);
            let history = begun(state, asked, quarantine);
            let rewrite = Some(Rewrite { history, quarantine: Some(quarantine) });
            Finding { wait: asked.quarantine, offset: history.offset, index: asked.index, rewrite }
        }
    }
}

fn is_empty(state: &State) -> bool {
    state.history.is_none()
        && state.last.is_none()
        && state.quarantine.is_none()
        && state.purged.is_none()
}

fn is_lost(state: &State, asked: Question) -> bool {
    let marks = [
        state.history.as_ref().map(|found| (found.value.index, found.modified)),
        state.last.as_ref().map(|found| (found.value.index, found.modified)),
    ];
    // The entry that wrote a mark had an index above the noted one, and the key's revision.
    let surplus = |index: u64, revision: i64| i128::from(index) - i128::from(revision);
    let now = surplus(asked.index, state.revision);
    asked.seen > state.known_token()
        || state.history.as_ref().is_some_and(|found| found.value.cluster != state.cluster)
        || marks.into_iter().flatten().any(|(index, revision)| now < surplus(index, revision))
}

/// A history that begins now. Its tokens are above all known tokens.
fn begun(state: &State, asked: Question, proven: u64) -> History {
    let revision = u64::try_from(state.revision).unwrap_or(0);
    let above_seen = asked.seen.map_or(0, Token::get).saturating_sub(revision);
    let before = state.history.as_ref().map_or(0, |found| found.value.offset);
    let offset = [
        before,
        state.last.as_ref().map_or(0, |found| found.value.offset),
        state.purged.as_ref().map_or(0, |found| found.value.offset),
        above_seen,
        asked.wall_clock,
    ];
    History {
        cluster: state.cluster,
        offset: offset.into_iter().max().unwrap_or(0),
        index: asked.index,
        proven,
    }
}

fn known_for(state: &State, history: History, asked: Question) -> Finding {
    let needed = seconds_up(asked.quarantine);
    let known = history.proven - asked.remaining.unwrap_or(0).min(history.proven);
    let wait = asked.quarantine.saturating_sub(Duration::from_secs(known));
    // Once a quarantine is over, no time is counted. A candidate that needs a longer one begins the rest of it.
    let rest = needed.saturating_sub(history.proven);
    let over = state.quarantine.is_none();
    let rewrite = (over && rest > 0).then_some(Rewrite {
        history: History { index: asked.index, proven: needed, ..history },
        quarantine: Some(rest),
    });
    Finding { wait, offset: history.offset, index: asked.index, rewrite }
}

fn seconds_up(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::super::record::{Last, Purged};
    use super::super::state::Found;
    use super::*;

    const CLUSTER: u64 = 5;

    fn at<T>(value: T, modified: i64) -> Found<T> {
        Found { value, created: modified, modified, lease: 0 }
    }

    /// Granted once, at revision 10 and above index 20; now at 30.
    fn state() -> State {
        let history = History { cluster: CLUSTER, offset: 100, index: 20, proven: 15 };
        State {
            leader: None,
            last: Some(at(Last { offset: 100, index: 20 }, 10)),
            settings: None,
            longest: None,
            history: Some(at(history, 10)),
            quarantine: None,
            purged: None,
            cluster: CLUSTER,
            revision: 30,
        }
    }

    fn asked() -> Question {
        Question {
            seen: Token::new(110),
            quarantine: Duration::from_secs(15),
            trust_empty_store: false,
            index: 40,
            remaining: None,
            wall_clock: 50,
        }
    }

    fn waits(finding: Finding) -> u64 {
        finding.wait.as_secs()
    }

    #[test]
    fn a_history_that_is_long_enough_costs_nothing() {
        let found = find(&state(), asked());
        assert_eq!(found, Finding { wait: Duration::ZERO, offset: 100, index: 40, rewrite: None });
    }

    #[test]
    fn each_proof_of_a_loss_begins_a_quarantine() {
        type Change = fn(&mut State, &mut Question);
        let losses: [Change; 5] = [
            |state, _| state.history = None,
            |state, _| state.cluster += 1,
            |_, asked| asked.seen = Token::new(111),
            // The log has 20 entries less than the revisions since the last grant need.
            |_, asked| asked.index = 39,
            |state, asked| {
                state.history.as_mut().unwrap().modified = 12;
                state.last = None;
                (asked.index, asked.seen) = (37, None);
            },
        ];
        for lose in losses {
            let (mut state, mut asked) = (state(), asked());
            asked.wall_clock = 700;
            lose(&mut state, &mut asked);
            let found = find(&state, asked);
            let rewrite = found.rewrite.unwrap();
            assert_eq!((waits(found), rewrite.quarantine), (15, Some(15)));
            assert_eq!((found.offset, rewrite.history.offset), (700, 700));
            assert_eq!((rewrite.history.cluster, rewrite.history.proven), (state.cluster, 15));
            assert_eq!(rewrite.history.index, asked.index);
        }
    }

    #[test]
    fn tokens_of_a_new_history_are_the_highest() {
        let offset = |change: fn(&mut State, &mut Question)| {
            let (mut state, mut asked) = (state(), asked());
            state.cluster += 1;
            change(&mut state, &mut asked);
            find(&state, asked).offset
        };
        assert_eq!(offset(|_, _| {}), 100);
        assert_eq!(offset(|_, asked| asked.wall_clock = 101), 101);
        // The next revision is at least 31, and 31 + 970 is above 1000.
        assert_eq!(offset(|_, asked| asked.seen = Token::new(1000)), 970);
        assert_eq!(offset(|state, _| state.history = None), 100);
    }

    #[test]
    fn a_purged_token_proves_no_loss() {
        let purged = Some(at(Purged { offset: 100 }, 25));
        let state = State { last: None, purged, ..state() };
        for (seen, waited) in [(110, 0), (125, 0), (126, 15)] {
            let found = find(&state, Question { seen: Token::new(seen), ..asked() });
            assert_eq!(waits(found), waited, "{seen}");
        }
        // With a record, its own token counts.
        let state = State { last: super::tests::state().last, ..state };
        assert_eq!(waits(find(&state, Question { seen: Token::new(111), ..asked() })), 15);
    }

    #[test]
    fn within_a_quarantine_the_rest_is_waited_out() {
        let mut state = state();
        state.quarantine = Some(1);
        let found = find(&state, Question { remaining: Some(4), ..asked() });
        assert_eq!((waits(found), found.rewrite), (4, None));
        // For a candidate that needs a longer quarantine, 11 s have passed as well.
        let quarantine = Duration::from_secs(20);
        let found = find(&state, Question { remaining: Some(4), quarantine, ..asked() });
        assert_eq!((waits(found), found.rewrite), (9, None));
        // And a candidate that needs a shorter one waits for less.
        let quarantine = Duration::from_millis(12_500);
        let found = find(&state, Question { remaining: Some(4), quarantine, ..asked() });
        assert_eq!((found.wait, found.rewrite), (Duration::from_millis(1_500), None));
        // A change of leader lets the lease last for longer than it was granted for.
        let found = find(&state, Question { remaining: Some(17), ..asked() });
        assert_eq!((waits(found), found.rewrite), (15, None));
    }

    #[test]
    fn a_longer_quarantine_is_begun_where_the_last_one_ended() {
        let quarantine = Duration::from_millis(19_500);
        let found = find(&state(), Question { quarantine, ..asked() });
        let rewrite = found.rewrite.unwrap();
        assert_eq!(found.wait, Duration::from_millis(4_500));
        assert_eq!((rewrite.quarantine, rewrite.history.proven), (Some(5), 20));
        assert_eq!(found.offset, 100);
    }

    #[test]
    fn trust_applies_to_new_prefixes_only() {
        let trusting = Question { trust_empty_store: true, seen: None, ..asked() };
        let empty = State { last: None, history: None, ..state() };
        let found = find(&empty, trusting);
        assert_eq!((waits(found), found.rewrite.unwrap().quarantine), (0, None));
        // And it stays so.
        let history = Some(at(found.rewrite.unwrap().history, 31));
        assert_eq!(waits(find(&State { history, ..empty.clone() }, trusting)), 0);
        let seen = Token::new(1);
        assert_eq!(waits(find(&empty, Question { seen, ..trusting })), 15);
        assert_eq!(waits(find(&State { history: None, ..state() }, trusting)), 15);
        assert_eq!(waits(find(&State { quarantine: Some(1), ..empty }, trusting)), 15);
    }
}
