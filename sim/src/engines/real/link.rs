//! The network between a node and the store: a proxy for each server, and the faults that are active on all of them.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::try_join_all;
use tenure_servers::{Flow, Proxy};

use super::protocol::{Place, Route};
use super::server::Entrance;
use crate::plan::{FaultKind, What};

pub(super) struct Link {
    entrance: Entrance,
    proxies: Vec<Proxy>,
    /// Networks of earlier lives of the machine, which lost power: the servers do not learn that their connections have
    /// ended.
    silent: Vec<Proxy>,
    faults: Vec<Active>,
}

struct Active {
    kind: FaultKind,
    what: What,
    /// The proxies' count of affected data when the fault began; `None` once the fault has had an effect.
    withheld: Option<u64>,
}

impl Link {
    pub(super) async fn new(entrance: Entrance) -> io::Result<Self> {
        let proxies = proxies(&entrance).await?;
        Ok(Self { entrance, proxies, silent: Vec::new(), faults: Vec::new() })
    }

    /// Where the node finds the store.
    pub(super) fn place(&self) -> Place {
        match &self.entrance {
            Entrance::Gates(gates) => {
                let by = self.proxies.iter().map(Proxy::port);
                let routes =
                    gates.iter().zip(by).map(|((server, _), by)| Route { server: *server, by });
                Place::Servers(routes.collect())
            }
            Entrance::File(path) => Place::File(PathBuf::clone(path)),
        }
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
            self.cut();
        }
        self.apply();
    }

    /// Breaks the open connections. Returns whether there were any.
    pub(super) fn cut(&self) -> bool {
        let cut = self.proxies.iter().map(Proxy::cut);
        cut.sum::<usize>() > 0
    }

    /// The machine loses power: its connections stay open at the server, and its next life has new ones.
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
        let mut had = Vec::new();
        for fault in &mut self.faults {
            if fault.withheld.is_some_and(|before| withheld > before) {
                fault.withheld = None;
                had.push(fault.kind);
            }
        }
        had
    }

    fn apply(&self) {
        let any = |is_it: fn(What) -> bool| self.faults.iter().any(|fault| is_it(fault.what));
        let delay = self.faults.iter().filter_map(|fault| match fault.what {
            What::Latency { most_ms, .. } => Some(Duration::from_millis(most_ms)),
            _ => None,
        });
        let otherwise = if any(|what| matches!(what, What::Hold { .. })) {
            Flow::Hold
        } else {
            delay.max().map_or(Flow::Forward, Flow::Delay)
        };
        let flow = |is_lost: bool| if is_lost { Flow::BlackHole } else { otherwise };
        for proxy in &self.proxies {
            proxy.set_requests(flow(any(lost_requests)));
            proxy.set_replies(flow(any(lost_replies)));
        }
    }
}

/// A proxy in front of each gate.
async fn proxies(entrance: &Entrance) -> io::Result<Vec<Proxy>> {
    let Entrance::Gates(gates) = entrance else { return Ok(Vec::new()) };
    try_join_all(gates.iter().map(|(_, gate)| Proxy::start(([127, 0, 0, 1], *gate).into()))).await
}

const fn lost_requests(what: What) -> bool {
    is_partition(what) || matches!(what, What::OneWay { to_store: false, .. })
}

const fn lost_replies(what: What) -> bool {
    is_partition(what) || matches!(what, What::OneWay { to_store: true, .. })
}

const fn is_partition(what: What) -> bool {
    matches!(what, What::Partition { .. } | What::Swizzle { .. })
}
