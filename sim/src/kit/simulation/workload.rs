//! A user's leader-only work.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hash;
use std::time::Duration;

use crate::engines::sink::{Accusation, Sink, TwinSinks, Write};
use crate::judge::properties::Leader;
use crate::judge::properties::PropertyName;
use crate::plan::{Assumption, SimTime};
use crate::trace::{Digest, Hasher};

/// The work of leaders, and the resource that it changes.
///
/// A leader checks its leadership, decides on an intent, then acts; and repeats this. Any fault may
/// come in between. Its effect lands later, perhaps after a long pause when another candidate
/// already leads.
///
/// A value is the resource of one run: one queue, one table, one file. Its state must depend only
/// on the calls: no clock, no entropy, no order of a hash map. A panic in it is a failure of the
/// run.
pub trait Workload {
    /// A leader's decision. It is hashed to check that runs are reproducible.
    type Intent: Clone + Hash;

    /// The name under which violations are reported.
    fn name(&self) -> &'static str {
        "workload"
    }

    /// The assumptions of [`verify`](Self::verify): it is not called in runs whose plan breaks one
    /// of them.
    ///
    /// The default is right for a resource that compares tokens. For a resource that does not,
    /// other assumptions can be added, which shows the ones that it relies on.
    fn assumes(&self) -> &'static [Assumption] {
        &[Assumption::WallClock, Assumption::OneMemory]
    }

    /// Decides the next effect of a leader that has just checked its leadership; `None` if there is
    /// nothing to do. A leader's effects follow one another: this is not called while an effect of
    /// its tenure is under way.
    fn intend(&self, leader: Leader) -> Option<Self::Intent>;

    /// A leader's effect lands, late or not. The resource decides whether to accept it.
    fn effect(&mut self, effect: Effect<Self::Intent>);

    /// Checks the resource after each effect.
    ///
    /// # Errors
    /// A description of the violation.
    fn verify(&self) -> Result<(), String>;

    /// Checks the resource at the end of a run. Runs end in the recovery phase, with a leader.
    ///
    /// # Errors
    /// A description of the violation.
    fn finish(&self) -> Result<(), String> {
        Ok(())
    }
}

/// An effect that lands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Effect<I> {
    /// The process, and the fencing token of its tenure.
    pub by: Leader,
    /// The leader's decision.
    pub intent: I,
    /// The time of its check of leadership, in true time since the run began.
    pub checked: Duration,
    /// The time at which the effect lands.
    pub at: Duration,
}

/// A user's workload next to the twin sinks, in one run.
pub(super) struct Guarded<W: Workload> {
    twins: TwinSinks,
    workload: W,
    /// The intents by the number of the check. They are kept: a restored process carries out its
    /// intent again.
    intents: BTreeMap<u64, W::Intent>,
    hash: Hasher,
    /// The number of effects that have landed.
    effects: u64,
    /// True if the plan keeps the assumptions of `verify`.
    is_judged: bool,
}

/// A user's workload of any type, in one run.
pub(super) trait Judged: Sink {
    /// Its name, and the number of the workload's effects that it has judged; `None` if the plan
    /// breaks its assumptions.
    fn property(&self) -> Option<(PropertyName, u64)>;

    /// A hash of all intents.
    fn intents(&self) -> Digest;

    fn as_sink(&mut self) -> &mut dyn Sink;
}

impl<W: Workload> Guarded<W> {
    pub(super) fn new(workload: W, broken: &[Assumption]) -> Self {
        let is_judged = !workload.assumes().iter().any(|rests| broken.contains(rests));
        Self {
            twins: TwinSinks::default(),
            workload,
            intents: BTreeMap::new(),
            hash: Hasher::default(),
            effects: 0,
            is_judged,
        }
    }

    fn judged(&self, verdict: impl Fn(&W) -> Result<(), String>) -> Result<(), Accusation> {
        if !self.is_judged {
            return Ok(());
        }
        let property = PropertyName::new(self.workload.name());
        let accusation = |what| Accusation { property, what };
        verdict(&self.workload).map_err(accusation)
    }
}

impl<W: Workload> Sink for Guarded<W> {
    fn fence(&self) -> u64 {
        self.twins.fence()
    }

    fn intends(&mut self, check: u64, leader: Leader) {
        if let Some(intent) = self.workload.intend(leader) {
            (check, &intent).hash(&mut self.hash);
            self.intents.insert(check, intent);
        }
    }

    fn lands(&mut self, at: SimTime, write: Write) -> bool {
        if let Some(intent) = self.intents.get(&write.check) {
            let [checked, at] = [write.checked, at].map(|at| at.since(SimTime::START));
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
    fn property(&self) -> Option<(PropertyName, u64)> {
        self.is_judged.then(|| (PropertyName::new(self.workload.name()), self.effects))
    }

    fn intents(&self) -> Digest {
        self.hash.digest()
    }

    fn as_sink(&mut self) -> &mut dyn Sink {
        self
    }
}

/// A run without a user's workload.
impl Judged for TwinSinks {
    fn property(&self) -> Option<(PropertyName, u64)> {
        None
    }

    fn intents(&self) -> Digest {
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
