//! Conditions on faults, and on the leader that they strike.

use super::{Condition, Sometimes, take};
use crate::judge::State;
use crate::judge::recent::Recent;
use crate::plan::{FaultKind, SimTime};
use crate::trace::Who;

pub(super) const CUTS_OFF: [FaultKind; 4] =
    [FaultKind::Partition, FaultKind::OneWay, FaultKind::Hold, FaultKind::Swizzle];
/// Faults that are over as soon as they have had their effect.
const MOMENTARY: [FaultKind; 16] = [
    FaultKind::Cut,
    FaultKind::Reset,
    FaultKind::HalfOpen,
    FaultKind::Disconnect,
    FaultKind::FlushScripts,
    FaultKind::FlushData,
    FaultKind::DeleteLog,
    FaultKind::MoveRaftLeader,
    FaultKind::DisconnectLeader,
    FaultKind::Resign,
    FaultKind::ClockStep,
    FaultKind::ClockBack,
    FaultKind::StoreClockStep,
    FaultKind::StoreClockBack,
    FaultKind::VmRestore,
    FaultKind::Drift,
];

/// The number of simultaneous faults that counts as several.
const SEVERAL: usize = 3;

/// The faults that last, and have had an effect.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    lasting: Vec<(FaultKind, Option<usize>)>,
    /// When each node's last pause began.
    last_pause: Recent<usize, SimTime>,
    /// The nodes of which a snapshot was taken while they led.
    snapshots: Vec<usize>,
}

impl Faults {
    pub(super) fn strike(&self, node: usize, kinds: &[FaultKind]) -> bool {
        self.lasting.iter().any(|(kind, of)| *of == Some(node) && kinds.contains(kind))
    }

    /// Whether a pause of the node has begun since then.
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
        let strikes_a_leader =
            node.map_or(!state.leaders().is_empty(), |node| state.leader_of(node).is_some());
        match kind {
            FaultKind::ClockStep | FaultKind::ClockBack => {
                self.met_if(Condition::ClockSteppedUnderALeader, strikes_a_leader);
            }
            FaultKind::StoreClockStep | FaultKind::StoreClockBack => {
                self.met_if(Condition::StoreClockSteppedUnderALeader, strikes_a_leader);
            }
            FaultKind::StoreRollback => {
                self.met_if(Condition::StoreRolledBackUnderALeader, strikes_a_leader);
            }
            FaultKind::Failover => self.met_if(Condition::FailoverUnderALeader, strikes_a_leader),
            FaultKind::HalfOpen => self.met_if(Condition::HalfOpenUnderALeader, strikes_a_leader),
            FaultKind::Disconnect => {
                self.met_if(Condition::DisconnectedUnderALeader, strikes_a_leader);
            }
            FaultKind::FlushScripts => {
                self.met_if(Condition::ScriptsFlushedUnderALeader, strikes_a_leader);
            }
            FaultKind::FlushData => {
                self.met_if(Condition::DataFlushedUnderALeader, strikes_a_leader);
            }
            // Only a vacant lease is granted, so there is no leader.
            FaultKind::FillMemory => self.met(Condition::GrantRefusedForMemory),
            FaultKind::LockRow => self.met_if(Condition::RowLockedUnderALeader, strikes_a_leader),
            FaultKind::LockTable => {
                self.met_if(Condition::TableLockedUnderALeader, strikes_a_leader);
            }
            FaultKind::Pooler => self.met_if(Condition::PoolerUnderALeader, strikes_a_leader),
            FaultKind::RotatePassword => {
                self.met_if(Condition::LoginRefusedUnderALeader, strikes_a_leader);
            }
            FaultKind::DeleteLog => {
                self.met_if(Condition::LogDeletedUnderALeader, strikes_a_leader);
            }
            FaultKind::KillMember => {
                self.met_if(Condition::MemberKilledUnderALeader, strikes_a_leader);
            }
            FaultKind::PauseRaftLeader => {
                self.met_if(Condition::RaftLeaderPausedUnderALeader, strikes_a_leader);
            }
            FaultKind::MoveRaftLeader => {
                self.met_if(Condition::RaftLeaderMovedUnderALeader, strikes_a_leader);
            }
            FaultKind::DisconnectLeader => {
                self.met_if(Condition::LeaderDisconnected, strikes_a_leader);
            }
            FaultKind::MoveSlot => self.met_if(Condition::SlotMovedUnderALeader, strikes_a_leader),
            FaultKind::FillDisk => self.met_if(Condition::DiskFullUnderALeader, strikes_a_leader),
            FaultKind::ExpireCertificate => {
                self.met_if(Condition::CertificateExpiredUnderALeader, strikes_a_leader);
            }
            FaultKind::Suspend => self.met_if(Condition::LeaderSuspended, strikes_a_leader),
            FaultKind::VmStop => {
                self.met_if(Condition::LeaderStoppedWithItsClocks, strikes_a_leader);
            }
            FaultKind::VmRestore => {
                let led = node.is_some_and(|node| take(&mut self.faults.snapshots, &node));
                self.met_if(Condition::LeaderSnapshot, led);
            }
            _ => {}
        }
        if MOMENTARY.contains(&kind) {
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
        self.lives.iter().count() > 1 && alive.all(|node| self.faults.strike(node, &CUTS_OFF))
    }
}
