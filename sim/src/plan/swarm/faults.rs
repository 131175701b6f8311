//! The faults of a drawn plan.

use super::Scope;
use super::aims::Aim;
use crate::plan::draw::Draw;
use crate::plan::{
    Act, Asking, ClockFault, Fault, FaultKind, LinkFault, LinksFault, Point, ProcessFault,
    Settings, StoreFault, Trigger, What, When,
};

/// The most faults of each kind that the run has.
const FAULTS_MOST: u64 = 4;

/// The most by which a real replica lags, in milliseconds.
pub const LAG_MOST_MS: u64 = 500;
/// The longest silence for which a real primary is not replaced, in milliseconds.
pub const SILENT_MOST_MS: u64 = 500;
/// The longest pause of a raft leader, in milliseconds: well below each TTL less the time since a renewal. After a longer
/// one, etcd before 3.4.31 and 3.5.13 may revoke leases that were renewed at its successor.
pub const RAFT_PAUSE_MOST_MS: u64 = 900;
/// Shorter ones are not noticed by the other members.
const RAFT_PAUSE_LEAST_MS: u64 = 300;

/// The plan so far, into which every fault has to fit.
pub(super) struct Frame {
    pub(super) seed: u64,
    pub(super) scope: Scope,
    pub(super) nodes: usize,
    pub(super) settings: Settings,
    pub(super) until_ms: u64,
}

pub(super) fn of_kinds(frame: &Frame, kinds: &[FaultKind], aim: Option<Aim>) -> Vec<Fault> {
    let mut faults: Vec<Fault> = kinds.iter().flat_map(|kind| of_kind(frame, *kind)).collect();
    faults.extend(aim.into_iter().flat_map(|aim| aim.faults(frame)));
    faults.sort_by_key(Fault::from_ms);
    faults
}

fn of_kind(frame: &Frame, kind: FaultKind) -> impl Iterator<Item = Fault> + '_ {
    let stream = kind.name();
    let count = Draw::new(frame.seed, stream, u64::MAX).within(1..=FAULTS_MOST);
    (0..count).filter_map(move |id| one(frame, Draw::new(frame.seed, stream, id), kind))
}

fn one(frame: &Frame, mut draw: Draw, kind: FaultKind) -> Option<Fault> {
    let last = frame.nodes as u64 - 1;
    let node = usize::try_from(draw.within(0..=last)).ok();
    // Half of all faults strike the leader.
    let node = if draw.chance(1, 2) { node } else { None };
    let at_ms = draw.within(1..=frame.until_ms - 1);
    let what = what(frame, &mut draw, kind, node)?;
    let when = match pause_point(kind) {
        Some(point) => On { point, of: None, nth: 1 }.at(frame, node, at_ms),
        // A pause at a point is of another kind.
        None if kind != FaultKind::Pause && draw.chance(1, 3) => trigger(frame, &mut draw, at_ms),
        None => When::AtMs(at_ms),
    };
    let for_ms = if what.lasts() { lasts(frame, &mut draw, kind) } else { 0 };
    Some(Fault { when, for_ms, what })
}

fn what(frame: &Frame, draw: &mut Draw, kind: FaultKind, node: Option<usize>) -> Option<What> {
    let ttl_ms = frame.settings.ttl_ms;
    let some = |draw: &mut Draw| u32::try_from(draw.pick(&[50, 300, 900])).unwrap_or(1);
    let far = |draw: &mut Draw| draw.within(1..=2 * ttl_ms).cast_signed();
    Some(match kind {
        FaultKind::Partition => LinkFault::Partition.at(node),
        FaultKind::OneWay => LinkFault::OneWay { to_store: draw.chance(1, 2) }.at(node),
        FaultKind::Hold => LinkFault::Hold.at(node),
        FaultKind::Latency => LinkFault::Latency { most_ms: draw.within(20..=ttl_ms / 2) }.at(node),
        FaultKind::Loss => LinkFault::Loss { permille: some(draw) }.at(node),
        FaultKind::Duplicate => {
            LinkFault::Duplicate { permille: some(draw), most_ms: draw.within(1..=2 * ttl_ms) }
                .at(node)
        }
        FaultKind::Reorder => {
            LinkFault::Reorder { permille: some(draw), most_ms: draw.within(1..=ttl_ms) }.at(node)
        }
        FaultKind::Cut => LinkFault::Cut.at(node),
        FaultKind::Reset => LinkFault::Reset.at(node),
        FaultKind::HalfOpen => LinkFault::HalfOpen.at(node),
        FaultKind::Throttle => {
            let bytes_per_second = u32::try_from(draw.pick(&[500, 2_000, 10_000])).unwrap_or(1);
            LinkFault::Throttle { bytes_per_second }.at(node)
        }
        FaultKind::NoDescriptors => ProcessFault::NoDescriptors.at(node),
        FaultKind::Swizzle => What::Links(LinksFault::Swizzle {
            step_ms: draw.within(1..=ttl_ms / 4),
            shift: usize::try_from(draw.within(0..=frame.nodes as u64)).unwrap_or(0),
        }),
        FaultKind::Pause
        | FaultKind::PauseAtGuard
        | FaultKind::PauseAtSend
        | FaultKind::PauseAfterSend
        | FaultKind::PauseAtReply => ProcessFault::Pause.at(node),
        FaultKind::Starve => ProcessFault::Starve.at(node),
        FaultKind::Suspend => ProcessFault::Suspend.at(node),
        FaultKind::VmStop => ProcessFault::VmStop.at(node),
        FaultKind::VmRestore => ProcessFault::VmRestore.at(node),
        FaultKind::ClockStep => ClockFault::ClockStep { by_ms: far(draw) }.at(node),
        FaultKind::ClockBack => ClockFault::ClockStep { by_ms: -far(draw) }.at(node),
        FaultKind::Crash => ProcessFault::Crash { power: draw.chance(1, 2) }.at(node),
        FaultKind::Resign => ProcessFault::Resign.at(node),
        FaultKind::Leave => ProcessFault::Leave.at(node),
        FaultKind::StoreCrash => What::Store(StoreFault::StoreCrash),
        FaultKind::StoreLoss => What::Store(StoreFault::StoreLoss),
        FaultKind::StoreRollback => {
            What::Store(StoreFault::StoreRollback { back_ms: draw.within(0..=2 * ttl_ms) })
        }
        // A real replica has the machine's clock, and a lag that its promotion survives.
        FaultKind::Failover if matches!(frame.scope, Scope::Real(_)) => {
            What::Store(StoreFault::Failover {
                lag_ms: draw.pick(&[0, 100, LAG_MOST_MS]),
                clock_ahead_ms: 0,
            })
        }
        FaultKind::Failover => What::Store(StoreFault::Failover {
            lag_ms: draw.pick(&[0, 1, ttl_ms / 10, ttl_ms]),
            clock_ahead_ms: draw.pick(&[0, 0, 1, ttl_ms.cast_signed(), 3 * ttl_ms.cast_signed()]),
        }),
        FaultKind::OldPrimary => LinkFault::OldPrimary.at(node),
        FaultKind::StoreStall => What::Store(StoreFault::StoreStall),
        FaultKind::StoreClockStep => What::Store(StoreFault::StoreClockStep { by_ms: far(draw) }),
        FaultKind::StoreClockBack => What::Store(StoreFault::StoreClockStep { by_ms: -far(draw) }),
        FaultKind::Drift => return None,
        FaultKind::Disconnect
        | FaultKind::FlushScripts
        | FaultKind::FlushData
        | FaultKind::FillMemory
        | FaultKind::LockRow
        | FaultKind::LockTable
        | FaultKind::Pooler
        | FaultKind::RotatePassword
        | FaultKind::DeleteLog
        | FaultKind::KillMember
        | FaultKind::PauseRaftLeader
        | FaultKind::MoveRaftLeader
        | FaultKind::DisconnectLeader
        | FaultKind::SplitBrain
        | FaultKind::MoveSlot
        | FaultKind::FillDisk
        | FaultKind::ExpireCertificate => What::Operator(Act::of_kind(kind)?),
    })
}

fn lasts(frame: &Frame, draw: &mut Draw, kind: FaultKind) -> u64 {
    let ttl_ms = frame.settings.ttl_ms;
    match kind {
        // A longer one would be a failover.
        FaultKind::StoreStall if frame.scope.is_watched() => {
            draw.within(1..=SILENT_MOST_MS.min(ttl_ms / 2))
        }
        // A store that is down for long hides all other faults.
        FaultKind::StoreCrash
        | FaultKind::StoreLoss
        | FaultKind::StoreRollback
        | FaultKind::Failover
        | FaultKind::StoreStall => draw.within(1..=ttl_ms / 2),
        // The promotion and the quarantine after it are a part of it.
        FaultKind::SplitBrain => draw.within(2 * ttl_ms..=4 * ttl_ms),
        // It is felt only when a lease is granted.
        FaultKind::FillMemory => draw.within(ttl_ms..=3 * ttl_ms),
        // The same, but some locks take a leader's lease.
        FaultKind::LockRow | FaultKind::LockTable => draw.within(1..=ttl_ms),
        // Long enough for a request that writes, and some take a leader's lease.
        FaultKind::FillDisk => draw.within(ttl_ms / 2..=2 * ttl_ms),
        FaultKind::PauseRaftLeader => draw.within(RAFT_PAUSE_LEAST_MS..=RAFT_PAUSE_MOST_MS),
        _ => draw.within(1..=2 * ttl_ms),
    }
}

const fn pause_point(kind: FaultKind) -> Option<Point> {
    match kind {
        FaultKind::PauseAtGuard => Some(Point::Guard),
        FaultKind::PauseAtSend => Some(Point::Send),
        FaultKind::PauseAfterSend => Some(Point::Sent),
        FaultKind::PauseAtReply => Some(Point::Reply),
        _ => None,
    }
}

#[derive(Clone, Copy)]
struct On {
    point: Point,
    of: Option<Asking>,
    nth: u32,
}

impl On {
    fn at(self, frame: &Frame, node: Option<usize>, after_ms: u64) -> When {
        let Self { point, of, nth } = self;
        let of = match frame.scope {
            Scope::Model | Scope::Real(_) => of,
            Scope::Turmoil => None,
        };
        When::On(Trigger { point, node, of, nth, after_ms })
    }
}

/// A point at which faults are most likely to find a bug.
fn trigger(frame: &Frame, draw: &mut Draw, after_ms: u64) -> When {
    let (acquire, renew, release) =
        (Some(Asking::Acquire), Some(Asking::Renew), Some(Asking::Release));
    let points = [
        (Point::Grant, None),
        (Point::Leads, None),
        (Point::Guard, None),
        (Point::Sent, acquire),
        (Point::Sent, renew),
        (Point::Sent, release),
        (Point::Send, renew),
        (Point::Reply, acquire),
        (Point::Reply, renew),
        (Point::Reply, release),
    ];
    let known = match frame.scope {
        Scope::Model => &points[..],
        Scope::Turmoil => &points[..4],
        // Nobody sees in time that a real server grants a lease.
        Scope::Real(_) => &points[1..],
    };
    let (point, of) = draw.pick(known);
    let nth = u32::try_from(draw.within(1..=4)).unwrap_or(1);
    On { point, of, nth }.at(frame, None, after_ms)
}
