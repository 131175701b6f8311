//! What happened in a run, in true time, as the properties judge it.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::Serialize;
use xxhash_rust::xxh3::Xxh3;

use crate::clock::True;
use crate::plan::FaultKind;

/// One life of one node's process: a restarted process is another candidate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Who {
    /// The node's number.
    pub node: usize,
    /// How often it was restarted.
    pub life: u32,
}

impl fmt::Debug for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.node)?;
        if self.life > 0 { write!(f, "'{}", self.life) } else { Ok(()) }
    }
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "`who` acts, `token` is the tenure's fencing token")]
pub enum Event {
    /// A process started.
    Started { who: Who },
    /// A process is gone, without having said anything.
    Crashed { who: Who },
    /// A fault began, or happened.
    Fault { kind: FaultKind, node: Option<usize> },
    /// It ended.
    Healed { kind: FaultKind, node: Option<usize> },
    /// From here on nothing goes wrong any more.
    Calm,
    /// The store carried out a request.
    Store(StoreStep),
    /// The store's process is gone. It comes back with or without its data.
    StoreCrashed { keeps_data: bool },
    /// A candidate says that it is elected; its claim ends then if it is not renewed, by its clock.
    Elected { who: Who, token: u64, claim_ends: True },
    /// A candidate says that its claim now reaches so far.
    Renewed { who: Who, token: u64, claim_ends: True },
    /// A candidate says that it no longer leads.
    SteppedDown { who: Who, token: u64, reason: Reason },
    /// A candidate has been granted the lease, and waits out a quarantine.
    Quarantined { who: Who },
    /// `is_leader()` has become true.
    Leads { who: Who, token: u64 },
    /// `is_leader()` has become false.
    LeadsNoMore { who: Who },
    /// Leader-only work began.
    WorkBegan { who: Who, token: u64 },
    /// Leader-only work ended, or was dropped.
    WorkEnded { who: Who, token: u64 },
    /// Work wrote to both sinks, having checked its leadership before.
    Wrote { who: Who, token: u64, accepted_by_fenced: bool },
}

/// Why a tenure ended, as the candidate says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "named and explained at `tenure::StepDownReason`")]
pub enum Reason {
    Expired,
    Superseded,
    Resigned,
    RenewFailed,
    Other,
}

/// One request that the store carried out, in one atomic step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct StoreStep {
    /// Who asked, by its holder id.
    pub holder: u128,
    /// What was asked.
    pub request: Asked,
    /// What was answered.
    pub answer: Answer,
    /// The election's record before, if there was one.
    pub before: Option<Kept>,
    /// The election's record after.
    pub after: Option<Kept>,
}

/// A request, as the store saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "as in `tenure::store::Request`; no token is zero")]
pub enum Asked {
    Acquire { seen: u64 },
    Renew { token: u64 },
    Release { token: u64 },
}

/// An answer, as the store gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "as in `tenure::store::Reply`")]
pub enum Answer {
    Granted {
        token: u64,
        waits: bool,
    },
    Held,
    Stale,
    Renewed,
    Superseded,
    Released,
    NotHeld,
    /// An error, or words that no script says.
    Other,
}

/// An election's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Kept {
    /// The last tenure's token.
    pub token: u64,
    /// Its holder.
    pub holder: u128,
    /// When the lease ends, in true time, if the store's clock is not stepped.
    pub lease_ends: True,
    /// Whether it was handed back.
    pub released: bool,
}

impl Kept {
    /// Whether the lease is live at that moment.
    pub fn is_live(&self, at: True) -> bool {
        !self.released && at < self.lease_ends
    }
}

/// An event and when it happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Nanoseconds of true time since the run began.
    pub at: True,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// All that happened, and a hash of it: equal hashes mean equal runs.
#[derive(Clone, Default)]
pub struct Trace {
    entries: Vec<Entry>,
    hash: Xxh3,
}

impl Trace {
    /// Adds what happened next.
    pub fn push(&mut self, at: True, event: Event) {
        at.hash(&mut self.hash);
        event.hash(&mut self.hash);
        self.entries.push(Entry { at, event });
    }

    /// What happened so far.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The hash of all of it, order and times included.
    pub fn hash(&self) -> u64 {
        self.hash.finish()
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.entries).finish()
    }
}
