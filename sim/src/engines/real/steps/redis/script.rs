//! A script of the library that a Redis server has run, and its answer, which follows from what it has written.

use super::super::{History, Record};
use crate::trace::{Answer, Asked};

/// The least time, in microseconds, between a reading of the clock and the end of a lease that it is compared with.
const CLEAR: u64 = 1_000;

/// A script that runs, and what it has written so far.
#[derive(Debug)]
pub(super) struct Script {
    /// When it was called, by the server's clock in microseconds.
    pub(super) at: u64,
    pub(super) holder: u128,
    pub(super) request: Asked,
    pub(super) ttl: u64,
    pub(super) quarantine: u64,
    /// Whether it has read the clock, as each script does first: a script that the server does not know does nothing.
    pub(super) runs: bool,
    /// The record with its changes, if it has changed it.
    pub(super) wrote: Option<Record>,
}

impl Script {
    /// The reading of the clock by which it judged, and its answer; `None` if that can't be known.
    pub(super) fn answer(&self, before: Option<Record>, history: History) -> Option<(u64, Answer)> {
        // A lease lasts a TTL from the reading on, unless its end had to stay where it was.
        let read = |record: &Record| record.lease_end.saturating_sub(record.ttl).max(self.at);
        match (self.request, &self.wrote) {
            (Asked::Acquire { .. }, Some(record)) => {
                let now = read(record);
                let waits = history.waits(self.quarantine, now);
                Some((now, Answer::Granted { token: record.token, waits }))
            }
            (Asked::Renew { .. }, Some(record)) => Some((read(record), Answer::Renewed)),
            (Asked::Release { .. }, Some(_)) => Some((self.at, Answer::Released)),
            (Asked::Acquire { seen }, None) => self.refused(before?, seen),
            (Asked::Renew { .. }, None) => {
                self.is_clear_of(before).then_some((self.at, Answer::Superseded))
            }
            (Asked::Release { .. }, None) => {
                self.is_clear_of(before).then_some((self.at, Answer::NotHeld))
            }
        }
    }

    /// Whether the script can't have seen another side of the lease's end than the stream's time shows.
    fn is_clear_of(&self, before: Option<Record>) -> bool {
        before.is_none_or(|before| self.at.abs_diff(before.lease_end) > CLEAR)
    }

    /// Why an acquire was refused, as its script decides.
    fn refused(&self, before: Record, seen: u64) -> Option<(u64, Answer)> {
        let now = self.at;
        let asks_until = before.lease_end + before.ttl.max(before.quarantine);
        if !self.is_clear_of(Some(before)) || now.abs_diff(asks_until) <= CLEAR {
            return None;
        }
        // Its own lease is granted again, or there is no memory for that: the stream does not show an error.
        if before.is_live(now) && before.holder == self.holder {
            return None;
        }
        let contradicts = self.quarantine < before.ttl || before.quarantine < self.ttl;
        let answer = if now < asks_until && contradicts {
            Answer::Refused
        } else if before.is_live(now) {
            Answer::Held
        } else if seen < before.token {
            Answer::Stale
        } else {
            return None;
        };
        Some((now, answer))
    }
}
