//! What happened in a run, in order: what the store saw, and what the candidates reported.

use std::fmt;
use std::hash::Hash as _;
use std::sync::{Mutex, PoisonError};

use tenure::StepDownReason;

use crate::plan::SimTime;
use crate::trace::{Digest, Hasher};

/// One candidate: a process, and the number of an election.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Who {
    /// The process, from 0 on.
    pub process: u32,
    /// The election.
    pub election: u32,
}

impl fmt::Debug for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "election {} in process {}", self.election, self.process)
    }
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "named after the requests")]
pub enum Asks {
    Acquire,
    Renew,
    Release,
}

/// How a request ended, as its candidate knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The lease is the candidate's, under that token.
    Granted(u64),
    /// The lease lasts the whole TTL again.
    Renewed,
    /// The lease has ended.
    Released,
    /// The store refused, for whatever reason.
    Refused,
    /// The candidate has given the request up. The store may carry it out all the same.
    GivenUp,
}

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The candidate takes part from now on.
    Joined(Who),
    /// A call leaves for the store; its requests follow.
    CallBegan {
        /// The process.
        process: u32,
    },
    /// A request leaves for the store.
    Sent(Who, Asks),
    /// A request has ended.
    Ended(Who, Asks, Answer),
    /// All requests of a call have ended.
    CallEnded {
        /// The process.
        process: u32,
    },
    /// The candidate reports that it leads.
    Elected {
        /// The candidate.
        who: Who,
        /// The tenure's token.
        token: u64,
        /// Another candidate of the same election whose handle answers "I lead" too.
        beside: Option<Who>,
    },
    /// The candidate reports that it no longer leads.
    SteppedDown {
        /// The candidate.
        who: Who,
        /// The tenure's token.
        token: u64,
        /// Why.
        why: Why,
    },
    /// The candidate was asked to resign.
    AskedToResign(Who),
    /// The journal of a candidate's events has a gap: the run proves nothing.
    Lagged(Who),
}

/// Why a tenure has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The claim was not renewed in time.
    Expired,
    /// The store said that the tenure is over.
    Superseded,
    /// The candidate has resigned.
    Resigned,
    /// Any other reason.
    Other,
}

impl From<StepDownReason> for Why {
    fn from(reason: StepDownReason) -> Self {
        match reason {
            StepDownReason::Expired => Self::Expired,
            StepDownReason::Superseded => Self::Superseded,
            StepDownReason::Resigned => Self::Resigned,
            _ => Self::Other,
        }
    }
}

/// Collects events, each with its time.
#[derive(Debug, Default)]
pub(super) struct Journal(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    entries: Vec<(SimTime, Event)>,
    closed: bool,
}

impl Journal {
    pub(super) fn add(&self, at: SimTime, event: Event) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !inner.closed {
            inner.entries.push((at, event));
        }
    }

    /// The events so far. Later ones belong to the end of the simulation, and are dropped.
    pub(super) fn close(&self) -> Vec<(SimTime, Event)> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.closed = true;
        std::mem::take(&mut inner.entries)
    }
}

/// The hash of a run.
pub(super) fn digest(entries: &[(SimTime, Event)]) -> Digest {
    let mut hasher = Hasher::default();
    entries.hash(&mut hasher);
    hasher.digest()
}
