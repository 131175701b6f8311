//! Bytes in flight between the nodes and the store, counted at both ends of each connection. A
//! fault of a link has had an effect once bytes are overdue that were sent during it, and no other
//! fault explains the delay.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::journal::Journal;
use super::lock;
use super::schedule::SharedSchedule;
use crate::plan::{FaultKind, LinkFault, LinksFault, Plan, ProcessFault, SimTime, Strike, What};

/// The most ticks between a message's arrival and its reading.
const READ_WITHIN: Duration = Duration::from_millis(5);

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    ToStore,
    ToNode,
}

pub(super) struct Wires {
    journal: Arc<Journal>,
    /// The longest time in flight; bytes that take longer are overdue.
    most: Duration,
    schedule: Arc<SharedSchedule>,
    all: Mutex<Vec<Arc<Mutex<Wire>>>>,
}

/// One connection, known by its address at the node.
struct Wire {
    address: SocketAddr,
    node: Option<usize>,
    ways: [Passage; 2],
}

#[derive(Default)]
struct Passage {
    reader: Reader,
    /// The bytes in flight, in the order in which they were sent.
    sent: VecDeque<Sent>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reader {
    #[default]
    NotYet,
    Reads,
    Gone,
}

struct Sent {
    at: SimTime,
    bytes: usize,
    /// The only fault of the link at that time.
    under: Option<FaultKind>,
}

impl Wires {
    pub(super) fn new(
        plan: &Plan,
        journal: &Arc<Journal>,
        schedule: &Arc<SharedSchedule>,
    ) -> Arc<Self> {
        Arc::new(Self {
            journal: Arc::clone(journal),
            schedule: Arc::clone(schedule),
            most: Duration::from_micros(plan.latency_us.1) + READ_WITHIN,
            all: Mutex::default(),
        })
    }

    /// A tick has ended: reports the faults that have had an effect by now.
    pub(super) fn report_effects(&self, is_paused: impl Fn(usize) -> bool) {
        let delays_none = |strike: &Strike| ways(strike.what).is_empty();
        if self.schedule.under_way(|all| all.iter().all(delays_none)) {
            return;
        }
        let now = self.journal.now();
        for wire in &*lock(&self.all) {
            let mut wire = lock(wire);
            let Some(node) = wire.node else { continue };
            for way in [Way::ToStore, Way::ToNode] {
                // Later bytes may only be waiting for these.
                let Some(first) = wire.ways[way as usize].sent.front_mut() else { continue };
                if first.at + self.most >= now {
                    continue;
                }
                let is_unread = way == Way::ToNode && is_paused(node);
                if let (Some(kind), false) = (first.under.take(), is_unread) {
                    self.journal.took(kind, Some(node));
                }
            }
        }
    }

    /// The node's end of a connection.
    pub(super) fn at_node(self: &Arc<Self>, address: SocketAddr, node: usize) -> End {
        let end = self.end(address, Way::ToStore);
        lock(&end.wire).node = Some(node);
        end
    }

    /// The store's end of a connection.
    pub(super) fn at_store(self: &Arc<Self>, address: SocketAddr) -> End {
        self.end(address, Way::ToNode)
    }

    fn end(self: &Arc<Self>, address: SocketAddr, sends: Way) -> End {
        let reads = sends.back() as usize;
        let mut wires = lock(&self.all);
        wires.retain(|wire| !lock(wire).is_over());
        let is_it = |wire: &&Arc<Mutex<Wire>>| {
            let wire = lock(wire);
            wire.address == address && wire.ways[reads].reader == Reader::NotYet
        };
        let known = wires.iter().find(is_it).map(Arc::clone);
        let wire = known.unwrap_or_else(|| {
            let wire = Wire { address, node: None, ways: Default::default() };
            let wire = Arc::new(Mutex::new(wire));
            wires.push(Arc::clone(&wire));
            wire
        });
        lock(&wire).ways[reads].reader = Reader::Reads;
        End { wires: Arc::clone(self), wire, sends }
    }

    /// The fault during which a message is sent, if it is the only one of its link. It may be one
    /// that is not carried out.
    fn under(&self, node: usize, way: Way) -> Option<FaultKind> {
        let delays =
            |strike: &&Strike| strike.node == Some(node) && ways(strike.what).contains(&way);
        self.schedule.under_way(|all| {
            let mut kinds = all.iter().filter(delays).map(|strike| strike.kind);
            let only = kinds.next().filter(|kind| *kind != FaultKind::Crash)?;
            kinds.next().is_none().then_some(only)
        })
    }
}

impl Way {
    const fn back(self) -> Self {
        match self {
            Self::ToStore => Self::ToNode,
            Self::ToNode => Self::ToStore,
        }
    }
}

impl Wire {
    fn is_over(&self) -> bool {
        self.ways.iter().all(|passage| passage.reader == Reader::Gone)
    }
}

/// One end of a connection, while a task holds it.
pub(super) struct End {
    wires: Arc<Wires>,
    wire: Arc<Mutex<Wire>>,
    sends: Way,
}

impl End {
    pub(super) fn sent(&self, bytes: usize) {
        let mut wire = lock(&self.wire);
        let under = wire.node.and_then(|node| self.wires.under(node, self.sends));
        let passage = &mut wire.ways[self.sends as usize];
        if passage.reader != Reader::Gone {
            passage.sent.push_back(Sent { at: self.wires.journal.now(), bytes, under });
        }
    }

    pub(super) fn received(&self, mut bytes: usize) {
        let sent = &mut lock(&self.wire).ways[self.sends.back() as usize].sent;
        while let Some(first) = sent.front_mut()
            && bytes > 0
        {
            let read = first.bytes.min(bytes);
            first.bytes -= read;
            bytes -= read;
            if first.bytes == 0 {
                sent.pop_front();
            }
        }
    }
}

/// No task reads here any more, so bytes that are still in flight are not the effect of a fault.
impl Drop for End {
    fn drop(&mut self) {
        let passage = &mut lock(&self.wire).ways[self.sends.back() as usize];
        passage.reader = Reader::Gone;
        passage.sent.clear();
    }
}

/// The directions in which a fault keeps messages back; none for other faults.
const fn ways(what: What) -> &'static [Way] {
    match what {
        What::Link {
            fault: LinkFault::Partition | LinkFault::Hold | LinkFault::Latency { .. },
            ..
        }
        | What::Links(LinksFault::Swizzle { .. })
        | What::Process { fault: ProcessFault::Crash { power: true }, .. } => {
            &[Way::ToStore, Way::ToNode]
        }
        What::Link { fault: LinkFault::OneWay { to_store: true }, .. } => &[Way::ToStore],
        What::Link { fault: LinkFault::OneWay { to_store: false }, .. } => &[Way::ToNode],
        _ => &[],
    }
}
