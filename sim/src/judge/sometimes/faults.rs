//! Conditions on faults, and on the leader that they strike.

use super::{Condition, Sometimes, take};
use crate::judge::State;
use crate::judge::recent::Recent;
use crate::plan::{FaultKind, Shown, SimTime, Time};
use crate::trace::Who;

/// The number of simultaneous faults that counts as several.
const SEVERAL: usize = 3;

/// The faults that last, and have had an effect.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    lasting: Vec<(FaultKind, Option<usize>)>,
    /// The start of each node's last pause.
    last_pause: Recent<usize, SimTime>,
    /// The nodes of which a snapshot was taken while they led.
    snapshots: Vec<usize>,
}

/// The count of the condition that shows a kind of fault, for each kind.
#[derive(Clone, Debug)]
pub(super) struct ShownFaults([u64; FaultKind::ALL.len()]);

impl Default for ShownFaults {
    fn default() -> Self {
        Self([0; FaultKind::ALL.len()])
    }
}

impl ShownFaults {
    /// The names of the conditions that show kinds, and how often each was met. Kinds may share
    /// one.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let named = |kind: FaultKind| Some((kind.shown_by()?.name(), self.0[kind as usize]));
        FaultKind::ALL.into_iter().filter_map(named)
    }

    #[cfg(feature = "turmoil")]
    pub(super) fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(met, others)| *met += others);
    }
}

/// The names of the conditions that show one of those kinds, each once: kinds that share one are
/// neighbours.
pub(super) fn names(
    kinds: impl IntoIterator<Item = FaultKind>,
) -> impl Iterator<Item = &'static str> {
    let shown_by = kinds.into_iter().filter_map(FaultKind::shown_by);
    let mut names: Vec<_> = shown_by.map(Shown::name).collect();
    names.dedup();
    names.into_iter()
}

impl Faults {
    pub(super) fn strike(&self, node: usize, kinds: &[FaultKind]) -> bool {
        self.lasting.iter().any(|(kind, of)| *of == Some(node) && kinds.contains(kind))
    }

    /// True if a pause of the node has begun since then.
    pub(super) fn paused_since(&self, node: usize, since: SimTime) -> bool {
        self.last_pause.get(node).is_some_and(|pause| *pause >= since)
    }

    /// Ends all pauses of a node, whose process resumes or starts.
    pub(super) fn resume(&mut self, node: usize) {
        self.lasting.retain(|(kind, of)| *of != Some(node) || !FaultKind::PAUSES.contains(kind));
    }
}

impl Sometimes {
    /// A fault was ordered. It counts from its effect on; a snapshot is already taken at this time.
    pub(super) fn fault(&mut self, kind: FaultKind, node: Option<usize>, state: &State) {
        if kind != FaultKind::VmRestore {
            return;
        }
        let of_it = |who: &Who| node.is_none_or(|node| who.node == node);
        let lives = self.lives.iter_mut().filter(|(who, _)| of_it(who));
        lives.for_each(|(_, life)| life.restored = true);
        if node.is_some_and(|node| state.leader_of(node).is_some()) {
            self.faults.snapshots.extend(node);
        }
    }

    /// A fault has had its first effect.
    pub(super) fn took_effect(
        &mut self,
        at: SimTime,
        kind: FaultKind,
        node: Option<usize>,
        state: &State,
    ) {
        self.show(kind, node, state);
        // Any other fault is over with its effect, or is there for the whole run.
        if kind.time() != Time::Lasts {
            return;
        }
        let was_cut_off = self.all_are_cut_off();
        self.faults.lasting.push((kind, node));
        if let Some(node) = node
            && FaultKind::PAUSES.contains(&kind)
        {
            *self.faults.last_pause.of(node) = at;
        }
        self.met_if(Condition::SeveralFaultsAtOnce, self.faults.lasting.len() >= SEVERAL);
        self.met_if(Condition::AllNodesCutOff, !was_cut_off && self.all_are_cut_off());
    }

    /// The condition that shows the kind is met, unless it is about a leader and the fault has
    /// struck none.
    fn show(&mut self, kind: FaultKind, node: Option<usize>, state: &State) {
        let is_met = match kind.shown_by() {
            None => false,
            Some(Shown::ByItsEffect(_)) => true,
            // It led when its snapshot was taken.
            Some(Shown::UnderALeader(_)) if kind == FaultKind::VmRestore => {
                node.is_some_and(|node| take(&mut self.faults.snapshots, &node))
            }
            Some(Shown::UnderALeader(_)) => {
                node.map_or(!state.leaders().is_empty(), |node| state.leader_of(node).is_some())
            }
        };
        self.shown.0[kind as usize] += u64::from(is_met);
    }

    pub(super) fn healed(&mut self, kind: FaultKind, node: Option<usize>) {
        if let Some(node) = node
            && FaultKind::PAUSES.contains(&kind)
        {
            self.faults.resume(node);
        }
        take(&mut self.faults.lasting, &(kind, node));
    }

    fn all_are_cut_off(&self) -> bool {
        let mut alive = self.lives.iter().map(|(who, _)| who.node);
        self.lives.iter().count() > 1
            && alive.all(|node| self.faults.strike(node, &FaultKind::CUTS_OFF))
    }
}
