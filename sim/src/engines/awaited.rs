//! The faults that were ordered, and whether each has had an effect.

use crate::plan::FaultKind;
use crate::trace::Event;

/// The faults that were ordered and have not ended, and whether they have had their effect.
#[derive(Debug, Default)]
pub(crate) struct Awaited(Vec<One>);

#[derive(Debug)]
struct One {
    kind: FaultKind,
    node: Option<usize>,
    had: bool,
}

impl Awaited {
    pub(crate) fn ordered(&mut self, kind: FaultKind, node: Option<usize>) {
        self.0.push(One { kind, node, had: false });
    }

    /// A fault of that kind has had an effect there. Returns the event that reports it; `None` if
    /// all faults that were ordered have already had theirs.
    pub(crate) fn took(&mut self, kind: FaultKind, node: Option<usize>) -> Option<Event> {
        let is_it = |one: &&mut One| one.kind == kind && one.node == node && !one.had;
        self.0.iter_mut().find(is_it)?.had = true;
        Some(Event::Effect { kind, node })
    }

    /// A fault of that kind has ended. Its effect no longer counts.
    pub(crate) fn over(&mut self, kind: FaultKind, node: Option<usize>) {
        let is_it = |one: &One| one.kind == kind && one.node == node;
        let had = self.0.iter().position(|one| is_it(one) && one.had);
        if let Some(place) = had.or_else(|| self.0.iter().position(is_it)) {
            self.0.swap_remove(place);
        }
    }

    /// All faults have ended, except for those that last the whole run.
    pub(crate) fn end_all(&mut self) {
        self.0.retain(|one| one.kind == FaultKind::Drift);
    }
}

/// A set of kinds of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds(u64);

impl Kinds {
    pub(crate) const NONE: Self = Self(0);

    pub(crate) const fn of(kind: FaultKind) -> Self {
        Self(1 << kind as u64)
    }

    pub(crate) const fn and(self, kind: FaultKind) -> Self {
        Self(self.0 | Self::of(kind).0)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = FaultKind> {
        FaultKind::ALL.into_iter().filter(move |kind| self.0 & Self::of(*kind).0 != 0)
    }
}

// The set is one number.
const _: () = assert!(FaultKind::ALL.len() <= 64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_counts_once_per_fault() {
        let (kind, node) = (FaultKind::Pause, Some(1));
        let mut awaited = Awaited::default();
        assert_eq!(awaited.took(kind, node), None, "none was ordered");
        awaited.ordered(kind, node);
        assert_eq!(awaited.took(kind, None), None, "ordered elsewhere");
        assert_eq!(awaited.took(FaultKind::Suspend, node), None, "of another kind");
        assert_eq!(awaited.took(kind, node), Some(Event::Effect { kind, node }));
        assert_eq!(awaited.took(kind, node), None, "it has had its effect");
        awaited.ordered(kind, node);
        awaited.over(kind, node);
        assert!(awaited.took(kind, node).is_some(), "the fault without an effect is still awaited");
    }

    #[test]
    fn an_ended_fault_has_no_effect() {
        let (kind, node) = (FaultKind::Hold, Some(0));
        let mut awaited = Awaited::default();
        awaited.ordered(kind, node);
        awaited.over(kind, node);
        assert_eq!(awaited.took(kind, node), None);
        awaited.ordered(kind, node);
        awaited.ordered(FaultKind::Drift, None);
        awaited.end_all();
        assert_eq!(awaited.took(kind, node), None);
        assert!(awaited.took(FaultKind::Drift, None).is_some());
    }

    #[test]
    fn a_set_contains_its_elements() {
        let set = Kinds::of(FaultKind::Latency).and(FaultKind::Drift).and(FaultKind::Partition);
        let kinds = [FaultKind::Partition, FaultKind::Latency, FaultKind::Drift];
        assert_eq!(set.iter().collect::<Vec<_>>(), kinds);
        assert_eq!(Kinds::NONE.iter().count(), 0);
    }
}
