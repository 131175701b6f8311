//! Situations in which libraries in use were seen to fail: the same few faults, one at a time, on
//! any engine.
//!
//! A campaign draws its faults. Here each run has the one fault that a situation is about, the
//! settings of the comparison, and two candidates, so its figures can be set beside those of other
//! libraries.

mod plans;
mod run;

pub use run::{Figures, Measured, run};

use super::stage::Stage;
use crate::judge::turnover::Interval;
use crate::plan::{
    FaultKind, LinkFault, Point, ProcessFault, RequestKind, StoreFault, Trigger, What, named,
};

/// A situation.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// The kind of the fault that must have had an effect in each run.
    pub kind: FaultKind,
    /// The measured interval.
    pub measures: Option<Interval>,
    /// The number of runs, unless another one is asked for.
    pub runs: u64,
    faults: fn(&mut Stage),
}

/// All situations.
pub const ALL: [Situation; 17] = [
    Situation {
        name: "handover",
        about: "the leader hands over",
        kind: FaultKind::Resign,
        measures: Some(Interval::Handover),
        runs: 8,
        faults: |stage| stage.now(0, ProcessFault::Resign.at(None)),
    },
    Situation {
        name: "crash",
        about: "the leader's process is killed",
        kind: FaultKind::Crash,
        measures: Some(Interval::Takeover),
        runs: 8,
        faults: |stage| {
            stage.now(2 * stage.ttl_ms(), ProcessFault::Crash { power: false }.at(None));
        },
    },
    Situation {
        name: "power-loss",
        about: "the leader's machine loses power: its connections stay open at the store",
        kind: FaultKind::Crash,
        measures: Some(Interval::Takeover),
        runs: 4,
        faults: |stage| stage.now(2 * stage.ttl_ms(), ProcessFault::Crash { power: true }.at(None)),
    },
    Situation {
        name: "pause",
        about: "the leader is paused for two TTLs",
        kind: FaultKind::Pause,
        measures: Some(Interval::Takeover),
        runs: 8,
        faults: |stage| stage.now(2 * stage.ttl_ms(), ProcessFault::Pause.at(None)),
    },
    Situation {
        name: "pause-before-a-write",
        about: "the leader is paused for two TTLs between its check and its write",
        kind: FaultKind::PauseAtGuard,
        measures: Some(Interval::Takeover),
        runs: 8,
        faults: |stage| stage.next(Point::Guard, 2 * stage.ttl_ms(), ProcessFault::Pause.at(None)),
    },
    Situation {
        name: "cut-off",
        about: "the leader is cut off from the store for five TTLs",
        kind: FaultKind::Partition,
        measures: Some(Interval::CutOff),
        runs: 8,
        faults: |stage| stage.now(5 * stage.ttl_ms(), LinkFault::Partition.at(None)),
    },
    Situation {
        name: "cut-off-for-long",
        about: "the leader is cut off from the store for ten minutes",
        kind: FaultKind::Partition,
        measures: Some(Interval::CutOff),
        runs: 1,
        faults: |stage| stage.now(600_000, LinkFault::Partition.at(None)),
    },
    Situation {
        name: "stop-while-cut-off",
        about: "the leader is stopped while it is cut off from the store",
        kind: FaultKind::Leave,
        measures: None,
        runs: 4,
        faults: |stage| {
            let ttl_ms = stage.ttl_ms();
            stage.now(5 * ttl_ms, LinkFault::Partition.at(None));
            let soon_ms = stage.at_ms + ttl_ms / 10;
            stage.plan.at(soon_ms, 5 * ttl_ms, ProcessFault::Leave.at(None));
        },
    },
    Situation {
        name: "data-lost",
        about: "the store restarts without its data",
        kind: FaultKind::StoreLoss,
        measures: Some(Interval::Leaderless),
        runs: 20,
        faults: |stage| stage.now(stage.ttl_ms() / 10, What::Store(StoreFault::StoreLoss)),
    },
    Situation {
        name: "failover",
        about: "the store's primary is gone, and a replica that lags by 100 ms is promoted",
        kind: FaultKind::Failover,
        // A leader that renews at the new primary goes on.
        measures: None,
        runs: 8,
        faults: |stage| {
            let replica = StoreFault::Failover { lag_ms: 100, clock_ahead_ms: 0 };
            stage.now(stage.ttl_ms() / 10, What::Store(replica));
        },
    },
    Situation {
        name: "store-gone",
        about: "the store refuses connections for seven TTLs",
        kind: FaultKind::StoreCrash,
        measures: Some(Interval::CutOff),
        runs: 4,
        faults: |stage| stage.now(7 * stage.ttl_ms(), What::Store(StoreFault::StoreCrash)),
    },
    Situation {
        name: "store-silent",
        about: "the store answers nothing for seven TTLs",
        kind: FaultKind::StoreStall,
        measures: Some(Interval::CutOff),
        runs: 4,
        faults: |stage| stage.now(7 * stage.ttl_ms(), What::Store(StoreFault::StoreStall)),
    },
    Situation {
        name: "late-grant",
        about: "the answer to a grant arrives after its lease has ended",
        kind: FaultKind::Hold,
        measures: None,
        runs: 8,
        faults: |stage| {
            stage.now(0, ProcessFault::Resign.at(None));
            // All that leaves for the next leader is held back from its request on.
            let (node, of) = (Some(0), Some(RequestKind::Acquire));
            let asks = Trigger { node, of, ..Trigger::next(Point::Sent, stage.at_ms) };
            stage.plan.on(asks, 2 * stage.ttl_ms(), LinkFault::Hold.at(node));
        },
    },
    Situation {
        name: "late-look",
        about: "a look of a waiting candidate is answered late, and the leader's process is killed soon after",
        kind: FaultKind::Hold,
        measures: Some(Interval::Takeover),
        runs: 8,
        faults: |stage| {
            let ttl_ms = stage.ttl_ms();
            let looks =
                Trigger { of: Some(RequestKind::Look), ..Trigger::next(Point::Sent, stage.at_ms) };
            // The look's request is not given up before.
            stage.plan.on(looks, ttl_ms / 20, LinkFault::Hold.at(None));
            // The next look, if the leader lives, comes a third of a TTL later.
            let crash = ProcessFault::Crash { power: false }.at(None);
            stage.plan.at(stage.at_ms + ttl_ms / 2, 2 * ttl_ms, crash);
        },
    },
    Situation {
        name: "restart-at-another-time",
        about: "the store restarts with its data, and its clock is ten TTLs ahead or behind",
        kind: FaultKind::StoreCrash,
        // A leader that renews at the restarted store goes on.
        measures: None,
        runs: 8,
        faults: |stage| {
            let ttl_ms = stage.ttl_ms();
            let by_ms = 10 * ttl_ms.cast_signed() * stage.draw.pick(&[1, -1]);
            stage.now(ttl_ms / 10, What::Store(StoreFault::StoreCrash));
            stage.now(0, What::Store(StoreFault::StoreClockStep { by_ms }));
        },
    },
    Situation {
        name: "crash-loop",
        about: "the leader's process is killed, and so are the next three as soon as they lead",
        kind: FaultKind::Crash,
        measures: Some(Interval::Takeover),
        runs: 8,
        faults: |stage| {
            let (soon_ms, crash) =
                (stage.ttl_ms() / 10, ProcessFault::Crash { power: false }.at(None));
            stage.now(soon_ms, crash);
            for nth in 1..=3 {
                let leads = Trigger { nth, ..Trigger::next(Point::Leads, stage.at_ms) };
                stage.plan.on(leads, soon_ms, crash);
            }
        },
    },
    Situation {
        name: "cold-start",
        about: "the store and all candidates lose power at once, and start again",
        kind: FaultKind::StoreCrash,
        measures: Some(Interval::Leaderless),
        runs: 8,
        faults: |stage| {
            let ttl_ms = stage.ttl_ms();
            stage.now(ttl_ms / 2, What::Store(StoreFault::StoreCrash));
            for node in 0..stage.plan.nodes.len() {
                stage.now(ttl_ms, ProcessFault::Crash { power: true }.at(Some(node)));
            }
        },
    },
];

named!(Situation, "situation", ALL, |one| one.name);
