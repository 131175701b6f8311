//! The effects of faults that no message and no request shows: a fault that changes the state of a
//! node or of the store.

use tenure_core::Instant;

use super::algorithm::{Algorithm, Stored};
use super::world::World;
use crate::plan::{ClockFault, FaultKind, LinkFault, ProcessFault, StoreFault, What};

/// The state of a node that a fault may change at once.
pub(super) struct OfNode {
    is_up: bool,
    runs: bool,
    /// True for each clock that runs: boot, then monotonic.
    clocks_run: [bool; 2],
    boot: Instant,
    connection: u32,
}

impl OfNode {
    /// True if that fault has caused the difference between this state and `after`.
    pub(super) fn differs(&self, after: &Self, by: What) -> bool {
        let is_paused = self.runs && !after.runs;
        match by {
            What::Process { fault: ProcessFault::Pause, .. } => is_paused,
            What::Process { fault: ProcessFault::Suspend, .. } => {
                is_paused && after.clocks_run == [true, false]
            }
            What::Process { fault: ProcessFault::VmStop, .. } => {
                is_paused && after.clocks_run == [false; 2]
            }
            What::Process { fault: ProcessFault::Crash { .. }, .. } => self.is_up && !after.is_up,
            What::Clock { fault: ClockFault::ClockStep { .. }, .. } => self.boot != after.boot,
            What::Link { fault: LinkFault::Cut, .. } => self.connection != after.connection,
            // These effects are observed at messages, at a restored snapshot, and at the candidate.
            _ => false,
        }
    }
}

/// The state of the store that a fault may change at once.
pub(super) struct OfStore {
    number: u32,
    kept: Option<Stored>,
    clock: Instant,
}

impl OfStore {
    /// True if that fault has caused the difference between this state and `after`.
    pub(super) fn differs(&self, after: &Self, by: StoreFault) -> bool {
        match by {
            StoreFault::StoreCrash | StoreFault::Failover { .. } => self.number != after.number,
            StoreFault::StoreLoss | StoreFault::StoreRollback { .. } => self.kept != after.kept,
            StoreFault::StoreClockStep { .. } => self.clock != after.clock,
            // Its effect is observed at waiting requests.
            StoreFault::StoreStall => false,
        }
    }
}

impl<A: Algorithm> World<'_, A> {
    pub(super) fn state_of(&self, index: usize) -> OfNode {
        let node = &self.nodes[index];
        OfNode {
            is_up: node.is_up,
            runs: node.runs(),
            clocks_run: [node.boot.is_running(), node.monotonic.is_running()],
            boot: node.boot.read(self.at),
            connection: node.link.connection,
        }
    }

    pub(super) fn state_of_store(&self) -> OfStore {
        let Self { store, at, .. } = self;
        OfStore { number: store.number, kept: A::kept(&store.state), clock: store.clock.read(*at) }
    }

    /// A fault has had an effect.
    pub(super) fn took(&mut self, kind: FaultKind, node: Option<usize>) {
        if let Some(event) = self.awaited.took(kind, node) {
            self.record(event);
        }
    }

    /// The run has ended: reports drift if a clock has counted too much or too little.
    pub(super) fn check_drift(&mut self) {
        let is_off = self.nodes.iter().any(|node| node.boot.has_drifted(self.at));
        if is_off || self.store.clock.has_drifted(self.at) {
            self.took(FaultKind::Drift, None);
        }
    }
}
