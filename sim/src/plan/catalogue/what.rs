//! The facts of a fault without its beginning.

use super::{Act, ClockFault, FaultKind, ProcessFault, StoreFault, What};

impl What {
    /// The kind of such a fault. A pause that begins on a trigger is of [another
    /// kind](crate::plan::Fault::kind).
    pub(in crate::plan) const fn kind(self) -> FaultKind {
        match self {
            Self::Clock { fault: ClockFault::ClockStep { by_ms: ..0 }, .. } => FaultKind::ClockBack,
            Self::Store(StoreFault::StoreClockStep { by_ms: ..0 }) => FaultKind::StoreClockBack,
            _ => self.named(),
        }
    }

    /// The node that it names.
    pub const fn node(self) -> Option<usize> {
        match self {
            Self::Link { node, .. } | Self::Process { node, .. } | Self::Clock { node, .. } => node,
            Self::Links(_) | Self::Store(_) | Self::Operator(_) => None,
        }
    }

    /// The same fault at that node, if it happens to one.
    #[must_use]
    pub const fn at(self, node: Option<usize>) -> Self {
        match self {
            Self::Link { fault, .. } => fault.at(node),
            Self::Process { fault, .. } => fault.at(node),
            Self::Clock { fault, .. } => fault.at(node),
            Self::Links(_) | Self::Store(_) | Self::Operator(_) => self,
        }
    }

    /// True if it happens to one node.
    pub const fn is_of_a_node(self) -> bool {
        match self {
            Self::Link { .. } | Self::Process { .. } | Self::Clock { .. } => true,
            Self::Links(_) | Self::Store(_) | Self::Operator(_) => false,
        }
    }

    /// True if it has a duration. Any other fault happens at one moment.
    pub const fn lasts(self) -> bool {
        self.kind().lasts()
    }

    pub(crate) const fn is_a_crash(self) -> bool {
        matches!(self, Self::Process { fault: ProcessFault::Crash { .. }, .. })
    }

    #[cfg(any(test, feature = "real"))]
    pub(crate) const fn is_a_pause(self) -> bool {
        matches!(self, Self::Process { fault: ProcessFault::Pause, .. })
    }

    /// True if it stops a process, or a task of it, and so ends with it.
    pub(in crate::plan) const fn ends_with_its_process(self) -> bool {
        matches!(self, Self::Process { fault: ProcessFault::Pause | ProcessFault::Starve, .. })
    }

    /// True if it ends the process of the store.
    pub(crate) const fn is_a_store_crash(self) -> bool {
        matches!(
            self,
            Self::Store(
                StoreFault::StoreCrash | StoreFault::StoreLoss | StoreFault::StoreRollback { .. }
            )
        )
    }

    /// A simpler fault that a failing plan may have instead.
    pub(crate) fn plainer(self) -> Option<Self> {
        let plainer = self.kind().row().plainer.and_then(FaultKind::example)?;
        Some(plainer.at(self.node()))
    }
}

impl Act {
    /// The act that faults of that kind consist of, if they consist of one.
    pub const fn of_kind(kind: FaultKind) -> Option<Self> {
        match kind.example() {
            Some(What::Operator(act)) => Some(act),
            _ => None,
        }
    }

    /// True if it has a duration.
    pub const fn lasts(self) -> bool {
        self.kind().lasts()
    }

    /// True if it is done to a server that answers, and undone by a restart.
    pub const fn needs_a_server(self) -> bool {
        !matches!(self, Self::FillDisk)
    }
}

#[cfg(test)]
mod tests {
    use super::super::LinkFault;
    use super::*;

    #[test]
    fn plainer_faults_end_at_faults_of_every_engine() {
        for kind in FaultKind::ALL {
            let mut chain = vec![kind];
            while let Some(plainer) = chain[chain.len() - 1].row().plainer {
                assert!(!chain.contains(&plainer), "{chain:?}");
                chain.push(plainer);
            }
            let row = chain[chain.len() - 1].row();
            let is_everywhere = row.not_in_model.or(row.not_in_turmoil).is_none();
            assert!(is_everywhere || chain.len() == 1, "{chain:?}");
        }
    }

    #[test]
    fn plainer_faults_keep_their_node() {
        let node = Some(1);
        let throttle = LinkFault::Throttle { bytes_per_second: 7 }.at(node);
        assert_eq!(throttle.plainer(), Some(LinkFault::Partition.at(node)));
    }
}
