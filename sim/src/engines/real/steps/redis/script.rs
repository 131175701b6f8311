//! A script of the library that a Redis server has run, and its answer, which follows from what it
//! has written.

use super::super::{Past, Record};
use crate::trace::{Answer, Asked};

/// A script that runs, and what it has written so far.
#[derive(Debug)]
pub(super) struct Script {
    /// Its time, by the machine's wall clock in microseconds.
    pub(super) at: u64,
    /// Zero for a look.
    pub(super) holder: u128,
    pub(super) request: Asked,
    /// The rest of its request.
    pub(super) says: Says,
    /// True if it knows the past: it may be at another node.
    pub(super) knows_past: bool,
    /// True if it has read the clock, as each script does first: a script that the server does not
    /// know does nothing.
    pub(super) runs: bool,
    /// The record with its changes, if it has changed it.
    pub(super) wrote: Option<Record>,
}

/// The rest that answers depend on.
#[derive(Clone, Debug, Default)]
pub(super) struct Says {
    pub(super) number: u64,
    /// The last token of the loss that was watched out.
    pub(super) lost: Option<u64>,
    pub(super) ttl: u64,
    pub(super) quarantine: u64,
    pub(super) name: u128,
}

impl Script {
    /// Its answer, by the past that it has left; `None` if that can't be known.
    pub(super) fn answer(&self, before: Option<Record>, past: &Past) -> Option<Answer> {
        let past_is_watched = |quarantine| !self.knows_past || past.is_watched(quarantine);
        let held = |token| before.filter(|before| before.is_held(self.holder, token));
        Some(match (self.request, self.wrote) {
            (Asked::Acquire { .. }, Some(record)) => Answer::Granted { token: record.token },
            (Asked::Acquire { seen, .. }, None) => return self.refused(seen, before, past),
            (Asked::Look { .. }, _) => {
                Answer::At { past_is_watched: past_is_watched(self.says.quarantine) }
            }
            // One with a later number may have been carried out before.
            (Asked::Renew { token }, _) => match held(token) {
                Some(lease) => {
                    Answer::Renewed { past_is_watched: past_is_watched(lease.quarantine) }
                }
                None => Answer::Superseded,
            },
            (Asked::Release { .. }, Some(_)) => Answer::Released,
            (Asked::Release { .. }, None) => Answer::NotHeld,
        })
    }

    /// The answer to an acquire that has written no record. If the lease was to be granted, the
    /// script has met an error, or else has granted the holder's own lease again without a new
    /// mark.
    fn refused(&self, seen: u64, before: Option<Record>, past: &Past) -> Option<Answer> {
        let Says { number, lost, quarantine, .. } = self.says;
        let last = before.map_or(0, |before| before.token);
        let past_is_watched = past.is_watched(quarantine);
        let must_wait =
            seen > last && lost != Some(last) || past.stamp.is_none() || !past_is_watched;
        let own = before.filter(|before| before.is_held(self.holder, before.token));
        match own {
            _ if must_wait => Some(Answer::Not { past_is_watched }),
            Some(own) => (number <= own.number).then_some(Answer::Granted { token: own.token }),
            None => (!self.may_take(seen, before)).then_some(Answer::Not { past_is_watched }),
        }
    }

    /// True if the lease is vacant for this candidate, or was watched by it.
    fn may_take(&self, seen: u64, before: Option<Record>) -> bool {
        let Some(before) = before else { return true };
        let Says { ttl, quarantine, name, .. } = self.says;
        let is_kept = before.reserved_for != 0 && before.reserved_for != name;
        let agrees = quarantine >= before.ttl && before.quarantine >= ttl;
        let is_watched = matches!(
            self.request,
            Asked::Acquire { watched: Some(mark), .. } if mark == before.mark()
        );
        before.released && !is_kept && seen >= before.token && agrees || is_watched
    }
}
