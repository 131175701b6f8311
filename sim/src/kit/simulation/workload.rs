//! Work of the user's that only a leader may do.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hash;
use std::time::Duration;

use crate::engines::model::sink::{Accusation, Sink, TwinSinks, Write};
use crate::judge::properties::Leader;
use crate::plan::Assumption;
use crate::plan::clock::True;
use crate::trace::{Digest, Hasher};

/// What leaders do, and what it does to the world outside.
///
/// A leader checks its leadership, makes up its mind, then acts; and again. In between anything may happen
/// to it. Its effect lands later, maybe after it has stood still for long and somebody else leads.
///
/// A value of it is the world outside of one run: one queue, one table, one file. It must be a function of
/// what happens to it: no clock, no entropy, no order of a hash map. A panic in it is a failure of the run.
pub trait Workload {
    /// What a leader has made up its mind to do. It is hashed to see that runs repeat themselves.
    type Intent: Clone + Hash;

    /// What is found wrong is reported under this name.
    fn name(&self) -> &'static str {
        "workload"
    }

    /// What [`verify`](Self::verify) rests on: it is not asked in runs whose plan breaks one of these.
    ///
    /// Unless said otherwise, what a resource that compares tokens rests on. One that does not may add the
    /// others, and learns from them what it relies on.
    fn assumes(&self) -> &'static [Assumption] {
        &[Assumption::WallClock, Assumption::OneMemory]
    }

    /// A leader has just found that it leads: what will it do? `None` if there is nothing to do. A leader
    /// does one thing after the other: it is not asked while an effect of its tenure is under way.
    fn intend(&self, leader: Leader) -> Option<Self::Intent>;

    /// A leader's effect lands, late or not. Whether to take it is this resource's to decide.
    fn effect(&mut self, effect: Effect<Self::Intent>);

    /// Looks at what has become of it, after each effect.
    ///
    /// # Errors
    /// What is wrong, in words.
    fn verify(&self) -> Result<(), String>;

    /// Looks back at the whole run. Runs end in a calm in which somebody leads.
    ///
    /// # Errors
    /// What is wrong, in words.
    fn finish(&self) -> Result<(), String> {
        Ok(())
    }
}

/// An effect that lands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Effect<I> {
    /// Whose it is: the process, and the fencing token of its tenure.
    pub by: Leader,
    /// What the leader had made up its mind to do.
    pub intent: I,
    /// When it had checked its leadership, in true time since the run began.
    pub checked: Duration,
    /// When the effect lands.
    pub at: Duration,
}

/// A user's workload beside the twin sinks, in one run.
pub(super) struct Guarded<W: Workload> {
    twins: TwinSinks,
    workload: W,
    /// By the number of the check. They stay: a process that was put back does what it meant to again.
    intents: BTreeMap<u64, W::Intent>,
    meant: Hasher,
    /// How many effects have landed.
    effects: u64,
    /// The plan keeps what `verify` rests on.
    is_judged: bool,
}

/// A user's workload whose type does not matter, in one run.
pub(super) trait Judged: Sink {
    /// Its name, and how many effects of the workload it has judged; `None` if the plan breaks what it rests on.
    fn property(&self) -> Option<(&'static str, u64)>;

    /// A hash of all that leaders meant to do.
    fn meant(&self) -> Digest;

    fn as_sink(&mut self) -> &mut dyn Sink;
}

impl<W: Workload> Guarded<W> {
    pub(super) fn new(workload: W, broken: &[Assumption]) -> Self {
        let is_judged = !workload.assumes().iter().any(|rests| broken.contains(rests));
        Self {
            twins: TwinSinks::default(),
            workload,
            intents: BTreeMap::new(),
            meant: Hasher::default(),
            effects: 0,
            is_judged,
        }
    }

    fn judged(&self, verdict: impl Fn(&W) -> Result<(), String>) -> Result<(), Accusation> {
        if !self.is_judged {
            return Ok(());
        }
        let accusation = |what| Accusation { property: self.workload.name(), what };
        verdict(&self.workload).map_err(accusation)
    }
}

impl<W: Workload> Sink for Guarded<W> {
    fn fence(&self) -> u64 {
        self.twins.fence()
    }

    fn intends(&mut self, check: u64, leader: Leader) {
        if let Some(intent) = self.workload.intend(leader) {
            (check, &intent).hash(&mut self.meant);
            self.intents.insert(check, intent);
        }
    }

    fn lands(&mut self, at: True, write: Write) -> bool {
        if let Some(intent) = self.intents.get(&write.check) {
            let (checked, at) = (Duration::from_nanos(write.checked), Duration::from_nanos(at));
            self.effects += 1;
            self.workload.effect(Effect { by: write.by, intent: intent.clone(), checked, at });
        }
        self.twins.lands(at, write)
    }

    fn verify(&self) -> Result<(), Accusation> {
        self.judged(W::verify)
    }

    fn finish(&self) -> Result<(), Accusation> {
        self.judged(W::finish)
    }
}

impl<W: Workload> Judged for Guarded<W> {
    fn property(&self) -> Option<(&'static str, u64)> {
        self.is_judged.then(|| (self.workload.name(), self.effects))
    }

    fn meant(&self) -> Digest {
        self.meant.digest()
    }

    fn as_sink(&mut self) -> &mut dyn Sink {
        self
    }
}

/// Without a workload of the user's.
impl Judged for TwinSinks {
    fn property(&self) -> Option<(&'static str, u64)> {
        None
    }

    fn meant(&self) -> Digest {
        Digest::default()
    }

    fn as_sink(&mut self) -> &mut dyn Sink {
        self
    }
}

impl<W: Workload> fmt::Debug for Guarded<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").field("property", &self.workload.name()).finish_non_exhaustive()
    }
}
