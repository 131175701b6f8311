//! Faults of the store: crashes, losses, promotions, stalls and steps of its clock.

use std::time::Duration;

use super::algorithm::Algorithm;
use super::server::Server;
use super::world::World;
use crate::plan::{FaultKind, StoreFault, What};
use crate::trace::Event;

impl<A: Algorithm> World<'_, A> {
    pub(super) fn begin_at_store(&mut self, kind: FaultKind, fault: StoreFault) {
        let at = self.at;
        let before = self.state_of_store();
        match fault {
            StoreFault::StoreCrash => {
                let kept = self.store.state.clone();
                self.replace(kept, true);
            }
            StoreFault::StoreLoss => self.replace(A::Store::default(), false),
            StoreFault::StoreRollback { back_ms } => {
                let older = self.store.as_of(at - Duration::from_millis(back_ms));
                self.replace(older, false);
            }
            StoreFault::Failover { lag_ms, clock_ahead_ms } => {
                let replicated = self.store.as_of(at - Duration::from_millis(lag_ms));
                self.replace(replicated, false);
                self.store.step_clock(at, clock_ahead_ms);
                self.store.is_silent = true;
            }
            StoreFault::StoreStall => self.store.is_stalled = true,
            StoreFault::StoreClockStep { by_ms } => {
                self.store.step_clock(at, by_ms);
            }
        }
        if before.differs(&self.state_of_store(), fault) {
            self.took(kind, None);
        }
    }

    pub(super) fn end_at_store(&mut self, fault: StoreFault) {
        match fault {
            StoreFault::StoreCrash
            | StoreFault::StoreLoss
            | StoreFault::StoreRollback { .. }
            | StoreFault::Failover { .. } => self.come_up(),
            StoreFault::StoreStall => {
                self.store.is_stalled =
                    self.schedule.at(None).any(|what| what == What::Store(fault));
                if !self.store.is_stalled {
                    for request in std::mem::take(&mut self.store.waiting) {
                        self.arrives(request);
                    }
                }
            }
            StoreFault::StoreClockStep { .. } => {}
        }
    }

    /// Another server with that data replaces the store. Requests that had arrived and were not
    /// carried out are lost with the old one. Connections break where a machine is running that can
    /// report it.
    fn replace(&mut self, state: A::Store, keeps_data: bool) {
        self.store = self.store.successor(state);
        self.store.is_down = true;
        if self.remembers {
            self.store.remember(self.at);
        }
        self.record(Event::StoreCrashed { keeps_data });
    }

    fn come_up(&mut self) {
        let fails_over = |what| matches!(what, What::Store(StoreFault::Failover { .. }));
        self.store.is_silent = self.schedule.at(None).any(fails_over);
        self.store.is_down =
            self.store.is_silent || self.schedule.at(None).any(What::is_a_store_crash);
        if !self.store.is_down {
            (0..self.nodes.len()).for_each(|node| self.subscribe(node));
        }
    }

    /// A replica replaces the store for all nodes but one. It has all of the data.
    pub(super) fn promote_beside(&mut self, node: usize) {
        if self.old.is_some() {
            return;
        }
        let promoted = self.store.successor(self.store.state.clone());
        let old: Server<A> = std::mem::replace(&mut self.store, promoted);
        if self.remembers {
            self.store.remember(self.at);
        }
        self.old = Some((node, old));
        self.record(Event::StoreCrashed { keeps_data: false });
    }

    pub(super) fn remove_old_primary(&mut self, node: usize) {
        if self.old.as_ref().is_some_and(|(stranded, _)| *stranded == node) {
            self.old = None;
        }
    }

    /// The store notices that a node's connection is closed.
    pub(super) fn disconnect(&mut self, node: usize) {
        let session = self.session(node);
        if A::disconnected(&mut self.store.state, session) {
            (0..self.nodes.len()).for_each(|node| self.subscribe(node));
        }
    }
}
