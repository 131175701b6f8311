//! The fate of messages between one node and the store.
//!
//! Without faults a connection is like TCP: no message is lost or overtaken. Each message's fate is
//! drawn from its own number, so that no fault changes the fates of other messages.

use std::time::Duration;

use crate::engines::Kinds;
use crate::plan::draw::Draw;
use crate::plan::{FaultKind, LinkFault, NANOSECOND, Plan, SimTime, What};
use crate::trace::Fate;

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    ToStore,
    ToNode,
}

/// One node's connection to the store.
#[derive(Debug)]
pub(super) struct Link {
    seed: u64,
    node: u64,
    /// The least and the largest latency without faults.
    latency: (Duration, Duration),
    /// From then on no message takes longer than that latency.
    calm_from: SimTime,
    /// The number of the connection; it increases whenever the connection breaks.
    pub(super) connection: u32,
    /// The faults under way.
    faults: Vec<What>,
    /// The arrival of the last message in each direction.
    last: [SimTime; 2],
    sent: u64,
}

/// The fate of one message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passage {
    /// Its arrival, if it arrives.
    pub(super) arrives: Option<SimTime>,
    /// The arrival of its duplicate, if there is one.
    pub(super) again: Option<SimTime>,
    /// True if it waits until the hold ends.
    pub(super) held: bool,
    pub(super) fates: [Option<Fate>; 2],
    /// The kinds of faults that have changed its fate.
    pub(super) effects: Kinds,
}

impl Link {
    pub(super) fn new(node: usize, plan: &Plan) -> Self {
        let (least, most) = plan.latency_us;
        Self {
            seed: plan.seed,
            node: node as u64,
            latency: (Duration::from_micros(least), Duration::from_micros(most)),
            calm_from: plan.calm_from(),
            connection: 0,
            faults: Vec::new(),
            last: [SimTime::START; 2],
            sent: 0,
        }
    }

    /// A fault begins.
    pub(super) fn begin(&mut self, what: What) {
        self.faults.push(what);
    }

    /// A fault ends.
    pub(super) fn end(&mut self, what: What) {
        if let Some(index) = self.faults.iter().position(|fault| *fault == what) {
            self.faults.remove(index);
        }
    }

    /// True if a fault of that kind is under way.
    fn has(&self, is_it: impl Fn(&LinkFault) -> bool) -> bool {
        self.faults.iter().any(|what| matches!(what, What::Link { fault, .. } if is_it(fault)))
    }

    pub(super) fn holds(&self) -> bool {
        self.has(|fault| *fault == LinkFault::Hold)
    }

    /// The connection breaks: messages on the next one need not keep the order of this one.
    pub(super) fn cut(&mut self) {
        self.connection += 1;
        self.last = [SimTime::START; 2];
    }

    /// Sends a message. `edges` are the arrivals that are most likely to find a bug: some messages
    /// arrive then, if their latency allows it.
    pub(super) fn pass(&mut self, at: SimTime, way: Way, edges: [SimTime; 2]) -> Passage {
        self.sent += 1;
        let mut draw = Draw::new(self.seed, "message", self.node << 48 | self.sent);
        if let Some(by) = self.loses(&mut draw, way) {
            let fates = [Some(Fate::Lost), None];
            return Passage { fates, effects: Kinds::of(by), ..Passage::default() };
        }
        if self.holds() {
            let effects = Kinds::of(FaultKind::Hold);
            return Passage { held: true, effects, ..Passage::default() };
        }
        let mut passage = Passage::default();
        // A message that was sent during a fault arrives soon after the recovery phase begins. A
        // message that stayed in the network for longer would be a fault that has not ended.
        let calm = at.max(self.calm_from) + self.latency.1;
        let arrives = self.arrives(&mut draw, at, edges);
        let in_order = arrives.max(self.last[way as usize]).min(calm);
        if arrives.min(calm) > at + self.latency.1 {
            passage.effects = passage.effects.and(FaultKind::Latency);
        }
        passage.arrives = Some(match self.lagging(&mut draw) {
            Duration::ZERO => {
                self.last[way as usize] = in_order;
                in_order
            }
            late => {
                passage.fates[0] = Some(Fate::Overtaken);
                if in_order < calm {
                    passage.effects = passage.effects.and(FaultKind::Reorder);
                }
                (in_order + late).min(calm)
            }
        });
        if let Some(later) = self.doubled(&mut draw) {
            passage.fates[1] = Some(Fate::Duplicated);
            passage.again = Some((in_order + later).min(calm));
            passage.effects = passage.effects.and(FaultKind::Duplicate);
        }
        passage
    }

    /// The fault that loses the message, if one does.
    fn loses(&self, draw: &mut Draw, way: Way) -> Option<FaultKind> {
        let to_store = way == Way::ToStore;
        if self.faults.is_empty() {
            None
        } else if self.has(|fault| *fault == LinkFault::Partition) {
            Some(FaultKind::Partition)
        } else if self.faults.iter().any(|what| matches!(what, What::Links(_))) {
            Some(FaultKind::Swizzle)
        } else if self.has(|fault| *fault == LinkFault::OneWay { to_store }) {
            Some(FaultKind::OneWay)
        } else if self.is_lost(draw) {
            Some(FaultKind::Loss)
        } else {
            None
        }
    }

    fn arrives(&self, draw: &mut Draw, at: SimTime, edges: [SimTime; 2]) -> SimTime {
        let slowest = |most: Duration, fault: &What| match fault {
            What::Link { fault: LinkFault::Latency { most_ms }, .. } => {
                most.max(Duration::from_millis(*most_ms))
            }
            _ => most,
        };
        let (least, most) = self.latency;
        let most = self.faults.iter().fold(most, slowest);
        let arrives = at + draw.duration(least..=most);
        if draw.chance(3, 4) {
            return arrives;
        }
        // At an edge, or at the last nanosecond before it.
        let edge = draw.pick(&edges) - draw.duration(Duration::ZERO..=NANOSECOND);
        if (at + least..=at + most).contains(&edge) { edge } else { arrives }
    }

    fn is_lost(&self, draw: &mut Draw) -> bool {
        self.faults.iter().any(|fault| match fault {
            What::Link { fault: LinkFault::Loss { permille }, .. } => {
                draw.chance(u64::from(*permille), 1_000)
            }
            _ => false,
        })
    }

    fn lagging(&self, draw: &mut Draw) -> Duration {
        let lag = |fault: &What| match fault {
            What::Link { fault: LinkFault::Reorder { permille, most_ms }, .. }
                if draw.chance(u64::from(*permille), 1_000) =>
            {
                draw.duration(NANOSECOND..=Duration::from_millis(*most_ms))
            }
            _ => Duration::ZERO,
        };
        self.faults.iter().map(lag).sum()
    }

    fn doubled(&self, draw: &mut Draw) -> Option<Duration> {
        self.faults.iter().find_map(|fault| match fault {
            What::Link { fault: LinkFault::Duplicate { permille, most_ms }, .. }
                if draw.chance(u64::from(*permille), 1_000) =>
            {
                Some(draw.duration(Duration::ZERO..=Duration::from_millis(*most_ms)))
            }
            _ => None,
        })
    }
}
