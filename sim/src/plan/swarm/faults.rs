//! The faults of a drawn plan.

use super::Scope;
use crate::plan::catalogue::Magnitudes;
use crate::plan::draw::Draw;
use crate::plan::{Fault, FaultKind, Point, RequestKind, Settings, Trigger, When};

/// The most faults of each kind that the run has.
const FAULTS_MOST: u64 = 4;

/// The longest silence for which a real primary is not replaced, in milliseconds.
pub const SILENT_MOST_MS: u64 = 500;

/// The plan so far, into which every fault has to fit.
pub(super) struct Frame {
    pub(super) seed: u64,
    pub(super) scope: Scope,
    pub(super) nodes: usize,
    pub(super) settings: Settings,
    pub(super) until_ms: u64,
}

/// Faults of those kinds, and those that an aim needs.
pub(super) fn of_kinds(frame: &Frame, kinds: &[FaultKind], aimed: Vec<Fault>) -> Vec<Fault> {
    let mut faults: Vec<Fault> = kinds.iter().flat_map(|kind| of_kind(frame, *kind)).collect();
    faults.extend(aimed);
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
    let run = Magnitudes {
        ttl_ms: frame.settings.ttl_ms,
        nodes: frame.nodes,
        is_real: matches!(frame.scope, Scope::Real(_)),
    };
    let what = kind.example()?.at(node).drawn(run, &mut draw);
    let when = match Point::OF_PAUSES.into_iter().find(|point| point.pause() == kind) {
        Some(point) => On { point, of: None, nth: 1 }.at(frame, node, at_ms),
        // A pause at a point is of another kind.
        None if kind != FaultKind::Pause && draw.chance(1, 3) => trigger(frame, &mut draw, at_ms),
        None => When::AtMs(at_ms),
    };
    let for_ms = if what.lasts() { lasts(frame, &mut draw, kind) } else { 0 };
    Some(Fault { when, for_ms, what })
}

fn lasts(frame: &Frame, draw: &mut Draw, kind: FaultKind) -> u64 {
    let ttl_ms = frame.settings.ttl_ms;
    // After a longer silence a replica would be promoted.
    let is_watched = kind == FaultKind::StoreStall && frame.scope.is_watched();
    let most_ms = if is_watched { SILENT_MOST_MS.min(ttl_ms / 2) } else { u64::MAX };
    let (least, most) = (kind.row().drawn_for)(ttl_ms).into_inner();
    draw.within(least..=most.min(most_ms))
}

#[derive(Clone, Copy)]
struct On {
    point: Point,
    of: Option<RequestKind>,
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
        (Some(RequestKind::Acquire), Some(RequestKind::Renew), Some(RequestKind::Release));
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
