//! What happened in a run, in true time, as the properties judge it.

mod digest;
pub mod file;

use std::fmt;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use crate::plan::FaultKind;
use crate::plan::clock::True;
pub use digest::Digest;
pub(crate) use digest::Hasher;

/// One life of one node's process: a restarted process is another candidate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "`who` acts, `token` is the tenure's fencing token")]
pub enum Event {
    /// A process started.
    Started { who: Who },
    /// A process is gone, without having said anything.
    Crashed { who: Who },
    /// A fault was ordered: it begins, or happens.
    Fault { kind: FaultKind, node: Option<usize> },
    /// A fault that was ordered has had its first effect.
    Effect { kind: FaultKind, node: Option<usize> },
    /// It ended.
    Healed { kind: FaultKind, node: Option<usize> },
    /// From here on nothing goes wrong any more.
    Calm,
    /// The store carried out a request.
    Store(StoreStep),
    /// The store's process is gone. What takes its place is another server, which has all that was
    /// acknowledged, or has lost some of it.
    StoreCrashed { keeps_data: bool },
    /// A candidate has sent a request.
    Sent { who: Who, id: u64, request: Asked },
    /// An answer has come back to a candidate: none, if it only knows that none will come.
    Answered { who: Who, id: u64, answer: Option<Answer> },
    /// Word has reached a candidate that the lease may be vacant.
    Hinted { who: Who },
    /// Something has happened to a message on its way.
    Message { who: Who, to_store: bool, fate: Fate },
    /// A candidate is asked to take part. In the model engine: when its process gets to know.
    CampaignAsked { who: Who },
    /// A candidate is asked to hand over and to hold off for so many nanoseconds of its clock, or to leave
    /// the election. In the model engine: when its process gets to know.
    ResignAsked { who: Who, hold_off: Option<u64> },
    /// What it was asked is done: it holds nothing any more that it could hand back. Or else the candidate's handle
    /// has given up waiting for that.
    Withdrawn { who: Who, done: bool },
    /// A candidate says that it is elected; its claim ends then if it is not renewed, by its clock.
    Elected { who: Who, token: u64, claim_ends: True },
    /// A candidate says that its claim now reaches so far.
    Renewed { who: Who, token: u64, claim_ends: True },
    /// A candidate says that it no longer leads. Its work is polled on until then, by its clock, in order
    /// to end tidily.
    SteppedDown { who: Who, token: u64, reason: Reason, drain_ends: True },
    /// The end of that time has moved. In turmoil: as work that ends by itself finds it.
    DrainMoved { who: Who, token: u64, drain_ends: True },
    /// A candidate has been granted the lease, and waits out a quarantine.
    Quarantined { who: Who },
    /// `is_leader()` has become true.
    Leads { who: Who, token: u64 },
    /// `is_leader()` has become false.
    LeadsNoMore { who: Who },
    /// Leader-only work began.
    WorkBegan { who: Who, token: u64 },
    /// Leader-only work ended by itself, or was dropped.
    WorkEnded { who: Who, token: u64, dropped: bool },
    /// Work wrote to both sinks, having checked its leadership, and read, at `checked`; or it has taken the
    /// fenced one over.
    Wrote {
        who: Who,
        token: u64,
        checked: True,
        #[serde(default)]
        takes_over: bool,
        accepted_by_fenced: bool,
    },
    /// The store has granted or renewed a lease of another election, whose history it keeps together with
    /// this one's. Told of each server's first grant and first renewal, and of each grant to a candidate that
    /// knew of a later tenure than the store: its quarantine begins anew.
    Elsewhere { server: u32, granted: bool, knew_more: bool },
    /// Work that has begun ends as soon as its tenure's cancellation token is cancelled.
    WaitsToBeTold { who: Who, token: u64 },
    /// A callback about the end of a tenure began.
    CallbackBegan { who: Who, token: u64 },
    /// It ended by itself, or was dropped.
    CallbackEnded { who: Who, token: u64 },
    /// A candidate looks who leads, and does not give that up.
    LookBegan { who: Who },
    /// It knows, or knows that it does not.
    LookEnded { who: Who },
}

/// What has happened to a message.
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

/// Why a tenure ended, as the candidate says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StoreStep {
    /// Which server: counted up each time that another one takes the store's place.
    pub server: u32,
    /// What its clock showed, in nanoseconds.
    pub now: u64,
    /// Who asked, by its holder id.
    #[serde(with = "hex")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "as in `tenure::store::Request`; no token is zero")]
pub enum Asked {
    Acquire { seen: u64 },
    Renew { token: u64 },
    Release { token: u64 },
}

/// An answer, as the store gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "as in `tenure::store::Reply`")]
pub enum Answer {
    Granted {
        token: u64,
        waits: bool,
    },
    Held,
    Refused,
    Stale,
    Renewed,
    Superseded,
    Released,
    NotHeld,
    /// An error, or words that no script says.
    Other,
}

/// An election's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Kept {
    /// The last tenure's token.
    pub token: u64,
    /// Its holder.
    #[serde(with = "hex")]
    pub holder: u128,
    /// When the lease ends, by the clock of the server that keeps it, in nanoseconds.
    pub lease_end: u64,
    /// The same in true time, as its last grant or renewal left it, if the clock is not stepped.
    pub lease_ends: True,
    /// Whether it was handed back.
    pub released: bool,
}

impl Kept {
    /// Whether the lease is live at that moment of its server's clock.
    pub fn is_live(&self, now: u64) -> bool {
        !self.released && now < self.lease_end
    }
}

/// Holder ids, as people compare them: JSON's numbers are too small.
mod hex {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(super) fn serialize<S: Serializer>(bits: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{bits:032x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        u128::from_str_radix(&text, 16)
            .map_err(|_| D::Error::custom(format_args!("{text:?} is no holder id in hexadecimal")))
    }
}

/// An event and when it happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Nanoseconds of true time since the run began.
    pub at: True,
    /// What happened.
    pub event: Event,
}

/// All that happened, and a hash of it: equal hashes mean equal runs.
#[derive(Clone, Default)]
pub struct Trace {
    entries: Vec<Entry>,
    hash: Hasher,
    /// Of the other elections in the same run.
    others: Digest,
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

    /// Another election had that trace in the same run.
    #[cfg(feature = "turmoil")]
    pub(crate) fn beside(&mut self, election: u64, other: &Self) {
        self.others.add_run(election, other.hash());
    }

    /// The hash of all of it, order and times included, and of the run's other elections.
    pub fn hash(&self) -> Digest {
        let mut hash = self.hash_of_entries();
        hash.add(self.others);
        hash
    }

    /// The hash of what is told, without the run's other elections.
    pub fn hash_of_entries(&self) -> Digest {
        self.hash.digest()
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.entries).finish()
    }
}
