//! The network between a node and the store: a proxy for each server, and the faults that are
//! active on all of them.

use std::cmp::Reverse;
use std::io;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::try_join_all;
use tenure_servers::{Flow, Preload, Proxy};

use super::protocol::{Place, Route};
use super::server::Entrance;
use crate::plan::{FaultKind, LinkFault, LinksFault, What};

pub(super) struct Link {
    entrance: Entrance,
    proxies: Vec<Proxy>,
    /// Networks of earlier lives of the machine, which lost power: the servers do not learn that
    /// their connections have ended.
    silent: Vec<Proxy>,
    faults: Vec<Active>,
}

struct Active {
    kind: FaultKind,
    what: What,
    /// The proxies' count of affected data when the fault began; `None` once the fault has had an
    /// effect.
    withheld: Option<u64>,
}

impl Link {
    pub(super) async fn new(entrance: Entrance) -> io::Result<Self> {
        let proxies = proxies(&entrance).await?;
        Ok(Self { entrance, proxies, silent: Vec::new(), faults: Vec::new() })
    }

    /// The store's place for the node.
    pub(super) fn place(&self) -> Place {
        match &self.entrance {
            Entrance::Gates(gates) => {
                let by = self.proxies.iter().map(Proxy::port);
                let routes =
                    gates.iter().zip(by).map(|((server, _), by)| Route { server: *server, by });
                Place::Servers(routes.collect())
            }
            Entrance::File { path, .. } => Place::File(PathBuf::clone(path)),
        }
    }

    /// The wall clock of its processes, if it is not the machine's.
    pub(super) fn clock(&self) -> Option<&Preload> {
        match &self.entrance {
            Entrance::Gates(_) => None,
            Entrance::File { clock, .. } => clock.as_ref(),
        }
    }

    /// The number of connections the node has made.
    pub(super) fn connections(&self) -> u64 {
        self.proxies.iter().map(Proxy::connections).sum()
    }

    fn withheld(&self) -> u64 {
        self.proxies.iter().map(Proxy::withheld).sum()
    }

    /// A fault of the network begins.
    pub(super) fn begin(&mut self, kind: FaultKind, what: What) {
        self.faults.push(Active { kind, what, withheld: Some(self.withheld()) });
        self.apply();
    }

    /// It ends.
    pub(super) fn end(&mut self, kind: FaultKind, what: What) {
        let is_it = |fault: &Active| fault.kind == kind && fault.what == what;
        let Some(place) = self.faults.iter().position(is_it) else { return };
        self.faults.remove(place);
        let lost = [lost_requests, lost_replies]
            .iter()
            .any(|lost| lost(what) && !self.faults.iter().any(|fault| lost(fault.what)));
        if lost {
            // Bytes are missing from the connections: they are of no use any more.
            for proxy in &self.proxies {
                proxy.cut();
            }
        }
        self.apply();
    }

    /// Breaks the open connections as that fault does. Returns whether there were any.
    pub(super) fn breaks(&self, by: LinkFault) -> bool {
        let one = match by {
            LinkFault::Reset => Proxy::reset,
            LinkFault::HalfOpen => Proxy::half_open,
            _ => Proxy::cut,
        };
        self.proxies.iter().map(one).sum::<usize>() > 0
    }

    /// The machine loses power: its connections stay open at the server, and its next life has new
    /// ones.
    pub(super) async fn loses_power(&mut self) -> io::Result<()> {
        for proxy in &self.proxies {
            proxy.set(Flow::Hold);
        }
        let next = proxies(&self.entrance).await?;
        let faults = &mut self.faults;
        for fault in faults {
            fault.withheld = fault.withheld.map(|_| 0);
        }
        self.silent.append(&mut std::mem::replace(&mut self.proxies, next));
        self.apply();
        Ok(())
    }

    /// The faults that have had their first effect since this was last asked.
    pub(super) fn effects(&mut self) -> Vec<FaultKind> {
        let withheld = self.withheld();
        let slowest = self.slowest();
        let mut had = Vec::new();
        for fault in &mut self.faults {
            if fault.withheld.is_none_or(|before| withheld <= before) {
                continue;
            }
            if slows(fault.what).is_some() && slows(fault.what) != slowest {
                // Another fault has slowed that data down.
                fault.withheld = Some(withheld);
                continue;
            }
            fault.withheld = None;
            had.push(fault.kind);
        }
        had
    }

    /// The slowdown in force: the strongest one.
    fn slowest(&self) -> Option<Slows> {
        self.faults.iter().filter_map(|fault| slows(fault.what)).max()
    }

    fn apply(&self) {
        let any = |is_it: fn(What) -> bool| self.faults.iter().any(|fault| is_it(fault.what));
        let otherwise = self.slowest().map_or(Flow::Forward, Slows::flow);
        let flow = |is_lost: bool| if is_lost { Flow::BlackHole } else { otherwise };
        for proxy in &self.proxies {
            proxy.set_requests(flow(any(lost_requests)));
            proxy.set_replies(flow(any(lost_replies)));
        }
    }
}

/// A slowdown of data: the slower, the larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Slows {
    ToBytesASecond(Reverse<NonZeroU32>),
    By(Duration),
    UntilItEnds,
}

impl Slows {
    const fn flow(self) -> Flow {
        match self {
            Self::ToBytesASecond(Reverse(rate)) => Flow::Throttle(rate),
            Self::By(delay) => Flow::Delay(delay),
            Self::UntilItEnds => Flow::Hold,
        }
    }
}

fn slows(what: What) -> Option<Slows> {
    match what {
        What::Link { fault: LinkFault::Hold, .. } => Some(Slows::UntilItEnds),
        What::Link { fault: LinkFault::Latency { most_ms }, .. } => {
            Some(Slows::By(Duration::from_millis(most_ms)))
        }
        What::Link { fault: LinkFault::Throttle { bytes_per_second }, .. } => {
            NonZeroU32::new(bytes_per_second).map(Reverse).map(Slows::ToBytesASecond)
        }
        _ => None,
    }
}

/// A proxy in front of each gate.
async fn proxies(entrance: &Entrance) -> io::Result<Vec<Proxy>> {
    let Entrance::Gates(gates) = entrance else { return Ok(Vec::new()) };
    try_join_all(gates.iter().map(|(_, gate)| Proxy::start(([127, 0, 0, 1], *gate).into()))).await
}

const fn lost_requests(what: What) -> bool {
    is_partition(what)
        || matches!(what, What::Link { fault: LinkFault::OneWay { to_store: false }, .. })
}

const fn lost_replies(what: What) -> bool {
    is_partition(what)
        || matches!(what, What::Link { fault: LinkFault::OneWay { to_store: true }, .. })
}

const fn is_partition(what: What) -> bool {
    matches!(
        what,
        What::Link { fault: LinkFault::Partition, .. } | What::Links(LinksFault::Swizzle { .. })
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_fault_is_in_force() {
        let node = None;
        let throttle = |bytes_per_second| LinkFault::Throttle { bytes_per_second }.at(node);
        let latency = |most_ms| LinkFault::Latency { most_ms }.at(node);
        let in_order =
            [throttle(9), throttle(5), latency(1), latency(2), LinkFault::Hold.at(node)].map(slows);
        assert!(in_order.is_sorted() && in_order.iter().all(Option::is_some), "{in_order:?}");
        assert_eq!(slows(LinkFault::Partition.at(node)), None);
        let flow = slows(throttle(5)).map(Slows::flow);
        assert_eq!(flow, NonZeroU32::new(5).map(Flow::Throttle));
    }
}
