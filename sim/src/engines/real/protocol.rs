//! The messages between the engine and a candidate's process, a line of JSON each, over the
//! process's standard input and output.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tenure_core::Config;

use super::target::Target;
use crate::plan::{FaultKind, NodePlan, PlanError, Point, RequestKind, Settings, SimTime, Work};
use crate::trace::{Entry, Who};

/// The place of a store, or of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Place {
    Servers(Vec<Route>),
    File(PathBuf),
}

/// The way to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Route {
    /// The port at which the server listens, and which other servers may name.
    pub(super) server: u16,
    /// The port at which this process reaches it.
    pub(super) by: u16,
}

impl Place {
    /// A server that is reached directly.
    pub(super) fn port(port: u16) -> Self {
        Self::Servers(vec![Route { server: port, by: port }])
    }

    /// The ways to its servers; none to a file.
    pub(super) fn routes(&self) -> &[Route] {
        match self {
            Self::Servers(routes) => routes,
            Self::File(_) => &[],
        }
    }
}

/// A process's access to the store's servers, besides its password.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Access {
    /// The authority that has signed their certificates, in PEM, if candidates encrypt their
    /// connections to them.
    pub(super) authority: Option<String>,
    /// By which candidates log in, where that is no password.
    pub(super) token: Option<String>,
}

/// The first line to a process: everything that it needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Brief {
    pub(super) who: Who,
    pub(super) target: Target,
    /// The place of the store.
    pub(super) store: Place,
    pub(super) access: Access,
    /// The place of the resource that leaders write to.
    pub(super) resource: Place,
    /// The start of the run, by the boot clock of the machine, in nanoseconds.
    pub(super) began: u64,
    pub(super) node: NodePlan,
    pub(super) settings: Settings,
    /// The key of the durations that work draws.
    pub(super) seed: u64,
    pub(super) trust_empty_store: bool,
    /// By how much earlier faults have put the clock of this node forward, in milliseconds.
    pub(super) stepped_ms: i64,
    pub(super) work: Work,
    /// The points at which a fault of this run may wait. The process passes all others without
    /// asking.
    pub(super) points: Vec<Point>,
}

impl Brief {
    pub(super) fn config(&self) -> Result<Config, PlanError> {
        self.settings
            .config()
            .map_err(|why| PlanError::Settings { node: self.who.node, why: why.into() })
    }
}

/// Any other line to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Order {
    /// The point with that ticket may be passed.
    Pass { ticket: u64 },
    /// Hand over.
    Resign,
    /// Hand over to that node.
    HandOver { to: usize },
    /// Leave the election.
    Leave,
    /// Take part again.
    Rejoin,
    /// Put the clock forward, or back if negative.
    StepClock { by_ms: i64 },
}

/// A line from a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[expect(clippy::large_enum_variant, reason = "most reports are events")]
pub(super) enum Report {
    /// An event of the trace.
    Happened(Entry),
    /// `is_leader()` was true at that time, as it was before.
    StillLeads { at: SimTime },
    /// The process got no processor for that time.
    Stalled { from: SimTime, until: SimTime },
    /// A fault of that kind has had an effect.
    Took { at: SimTime, kind: FaultKind },
    /// A point was reached. The process waits for [`Order::Pass`] with that ticket.
    Reached { ticket: u64, point: Point, of: Option<RequestKind> },
}
