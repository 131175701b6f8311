//! The events of a run, in true time, as the properties judge them.

mod digest;
pub mod file;

use std::fmt;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use crate::plan::{FaultKind, SimTime};
pub use digest::Digest;
pub(crate) use digest::Hasher;

/// One life of one node's process: a restarted process is another candidate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Who {
    /// The node's number.
    pub node: usize,
    /// The number of restarts before.
    pub life: u32,
}

impl fmt::Debug for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.node)?;
        if self.life > 0 { write!(f, "'{}", self.life) } else { Ok(()) }
    }
}

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "`who` acts, `token` is the tenure's fencing token")]
pub enum Event {
    /// A process started.
    Started { who: Who },
    /// A process has crashed, without a last report.
    Crashed { who: Who },
    /// A fault was ordered: it begins, or happens.
    Fault { kind: FaultKind, node: Option<usize> },
    /// A fault that was ordered has had its first effect.
    Effect { kind: FaultKind, node: Option<usize> },
    /// A fault has ended.
    Healed { kind: FaultKind, node: Option<usize> },
    /// The calm begins: there are no more faults.
    Calm,
    /// The store carried out a request.
    Store(StoreStep),
    /// The store's process has crashed. Another server replaces it, which has all acknowledged
    /// data, or has lost some of it.
    StoreCrashed { keeps_data: bool },
    /// A candidate has sent a request.
    Sent { who: Who, id: u64, request: Asked },
    /// An answer has reached a candidate; `None` if the candidate knows only that no answer will
    /// arrive.
    Answered { who: Who, id: u64, answer: Option<Answer> },
    /// A hint has reached a candidate that the lease may be vacant.
    Hinted { who: Who },
    /// A message was lost, duplicated or overtaken.
    Message { who: Who, to_store: bool, fate: Fate },
    /// A candidate is asked to take part. In the model engine: its process receives the request.
    CampaignAsked { who: Who },
    /// A candidate is asked to hand over and to hold off for that many nanoseconds of its clock, or
    /// to leave the election. In the model engine: its process receives the request.
    ResignAsked { who: Who, hold_off: Option<u64> },
    /// A resignation is done: the candidate holds nothing any more that it could hand back. Or else
    /// (`done` is false) the candidate's handle has given up waiting for that.
    Withdrawn { who: Who, done: bool },
    /// A candidate reports that it is elected; without a renewal its claim ends at `claim_ends`, by
    /// its clock.
    Elected { who: Who, token: u64, claim_ends: SimTime },
    /// A candidate reports that its claim now ends at `claim_ends`.
    Renewed { who: Who, token: u64, claim_ends: SimTime },
    /// A candidate reports that it no longer leads. Its work may drain until `drain_ends`, by its
    /// clock.
    SteppedDown { who: Who, token: u64, reason: Reason, drain_ends: SimTime },
    /// The end of the time to drain has moved. In turmoil: as work that ends by itself observes it.
    DrainMoved { who: Who, token: u64, drain_ends: SimTime },
    /// A candidate has begun to watch the store's past, before which it may be granted nothing.
    Watches { who: Who },
    /// `is_leader()` has become true.
    Leads { who: Who, token: u64 },
    /// `is_leader()` has become false.
    LeadsNoMore { who: Who },
    /// Leader-only work began.
    WorkBegan { who: Who, token: u64 },
    /// Leader-only work ended by itself, in a poll that began at `polled`; or it was dropped, if
    /// that is none.
    WorkEnded { who: Who, token: u64, polled: Option<SimTime> },
    /// Work wrote to both sinks, after it had checked its leadership, and read, at `checked`; or it
    /// has taken the fenced sink over.
    Wrote {
        who: Who,
        token: u64,
        checked: SimTime,
        #[serde(default)]
        takes_over: bool,
        accepted_by_fenced: bool,
    },
    /// A call of a user's service to what is outside of its process has arrived. The process began
    /// it at `began`; a pause may have come before it was sent.
    Called { who: Who, began: SimTime },
    /// The store has carried out a request of another election, which has its past in common with
    /// this one. Recorded for each server's first request, and for each candidate that knew a later
    /// tenure than the store, which begins another past.
    Elsewhere { server: u32, knew_more: bool },
    /// Work has begun that ends as soon as its tenure's cancellation token is cancelled.
    WaitsToBeTold { who: Who, token: u64 },
    /// A callback about the end of a tenure began.
    CallbackBegan { who: Who, token: u64 },
    /// A callback ended by itself, or was dropped.
    CallbackEnded { who: Who, token: u64 },
    /// A candidate looks for the leader, and does not give that up.
    LookBegan { who: Who },
    /// A look has ended with the leader, or with the information that it is not known.
    LookEnded { who: Who },
    /// The task that drives a process's candidates has panicked, with that message.
    DriverPanicked { who: Who, what: String },
    /// A process of that node, or the engine's own, got no processor for a while, and no fault of
    /// the plan was the reason. Only an engine with real processes has such events.
    Stalled { node: Option<usize> },
}

/// The fate of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It is lost.
    Lost,
    /// It arrives a second time.
    Duplicated,
    /// Others that were sent later arrive before it.
    Overtaken,
}

/// The reason a tenure ended, as the candidate reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "named and explained at `tenure::StepDownReason`")]
pub enum Reason {
    Expired,
    Superseded,
    Resigned,
    RenewFailed,
    HandedOver,
    Other,
}

/// One request that the store carried out, in one atomic step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StoreStep {
    /// The number of the server, which counts the replacements of the store's server.
    pub server: u32,
    /// The holder id in the request; zero if it has none.
    #[serde(with = "hex")]
    pub holder: u128,
    /// The request.
    pub request: Asked,
    /// The answer.
    pub answer: Answer,
    /// The election's record before, if there was one.
    pub before: Option<Kept>,
    /// The election's record after.
    pub after: Option<Kept>,
}

/// The request that last won or extended a lease, as in `tenure_core::Mark`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mark {
    /// Its holder.
    #[serde(with = "hex")]
    pub holder: u128,
    /// Its number among the requests of that holder.
    pub number: u64,
}

/// A request, as the store saw it.
// Its tag is a word. The compiler would choose one of 128 bits, in which events and findings then
// keep their own: each is written in halves and read as a whole, for which processors wait.
#[repr(isize)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "as in `tenure::store::Request`; no token is zero")]
pub enum Asked {
    Acquire {
        seen: u64,
        /// The mark that the candidate says it has watched for long enough.
        #[serde(default)]
        watched: Option<Mark>,
    },
    /// Also an ask.
    Look {
        seen: u64,
    },
    Renew {
        token: u64,
    },
    Release {
        token: u64,
    },
}

/// An answer, as the store gave it.
///
/// Where it says that the past is not watched, nobody has told the store yet that the past was
/// watched for as long as the one who asks must watch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "as in `tenure::store::Reply`")]
pub enum Answer {
    Granted {
        token: u64,
    },
    Not {
        past_is_watched: bool,
    },
    At {
        past_is_watched: bool,
    },
    Renewed {
        past_is_watched: bool,
    },
    Superseded,
    Released,
    NotHeld,
    /// An error, or a reply that no script gives.
    Other,
}

impl Answer {
    /// True if the store's past is watched; `None` if the answer does not tell.
    pub(crate) const fn past_is_watched(self) -> Option<bool> {
        match self {
            Self::Granted { .. } => Some(true),
            Self::Not { past_is_watched }
            | Self::At { past_is_watched }
            | Self::Renewed { past_is_watched } => Some(past_is_watched),
            Self::Superseded | Self::Released | Self::NotHeld | Self::Other => None,
        }
    }
}

/// An election's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Kept {
    /// The last tenure's token.
    pub token: u64,
    /// Its holder, and the request that last won or extended its lease.
    pub mark: Mark,
    /// The earliest true time at which the lease may be granted to another candidate that was not
    /// handed it: a watch of the mark by the fastest clock that is allowed, or the end by the clock
    /// of a server that ends leases.
    pub lease_ends: SimTime,
    /// True if it was handed back.
    pub released: bool,
}

impl Asked {
    /// The part known to every store. Not all are told what a candidate knows that looks.
    pub(crate) const fn as_told(self) -> Self {
        match self {
            Self::Look { .. } => Self::Look { seen: 0 },
            Self::Acquire { .. } | Self::Renew { .. } | Self::Release { .. } => self,
        }
    }
}

impl StoreStep {
    /// The token of the tenure that begins with this step, if one does. A repeated grant to the
    /// holder of a lease begins none.
    pub(crate) fn new_tenure(&self) -> Option<u64> {
        let Answer::Granted { token } = self.answer else { return None };
        let repeated = self.before.is_some_and(|before| {
            !before.released && before.mark.holder == self.holder && before.token == token
        });
        (!repeated).then_some(token)
    }
}

/// Holder ids in hexadecimal: numbers in JSON are too small for them.
mod hex {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(super) fn serialize<S: Serializer>(bits: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{bits:032x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        u128::from_str_radix(&text, 16).map_err(|_| {
            D::Error::custom(format_args!("{text:?} is not a holder id in hexadecimal"))
        })
    }
}

/// An event and its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its time.
    pub at: SimTime,
    /// The event.
    pub event: Event,
}

/// All events of a run, and a hash of them: equal hashes mean equal runs.
#[derive(Clone, Default)]
pub struct Trace {
    entries: Vec<Entry>,
    hash: Hasher,
    /// The digest of the other elections in the same run.
    others: Digest,
}

impl Trace {
    /// Adds the next event.
    pub fn push(&mut self, at: SimTime, event: Event) {
        at.hash(&mut self.hash);
        event.hash(&mut self.hash);
        self.entries.push(Entry { at, event });
    }

    /// The events so far.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Adds the trace of another election in the same run.
    #[cfg(feature = "turmoil")]
    pub(crate) fn beside(&mut self, election: u64, other: &Self) {
        self.others.add_run(election, other.hash());
    }

    /// The hash of all events, order and times included, and of the run's other elections.
    pub fn hash(&self) -> Digest {
        let mut hash = self.hash_of_entries();
        hash.add(self.others);
        hash
    }

    /// The hash of the events, without the run's other elections.
    pub fn hash_of_entries(&self) -> Digest {
        self.hash.digest()
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.entries).finish()
    }
}
