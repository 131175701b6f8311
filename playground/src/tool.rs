//! The faults that a click puts into a plan.

use serde::{Deserialize, Serialize};
use tenure_sim::plan::{LinkFault, Plan, ProcessFault, StoreFault, What};

/// A fault that a click puts into a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Tool {
    CutOff,
    CutOffToStore,
    CutOffFromStore,
    Kill,
    Pause,
    SlowNetwork,
    HandOver,
    FastClock,
    SlowClock,
    LoseData,
    StepStoreClock,
    StallStore,
}

/// The effect of a tool.
pub(crate) enum Effect {
    /// A fault, and how many TTLs it lasts; one millisecond if that is none of them.
    Fault(What, u64),
    /// Another rate of a node's clock, for the whole run.
    Rate(i64),
}

/// The error of a clock that a tool makes fast or slow: beyond the one percent that the default
/// settings allow.
const RATE_PPM: i64 = 100_000;

impl Tool {
    pub(crate) const ALL: [Self; 12] = [
        Self::CutOff,
        Self::CutOffToStore,
        Self::CutOffFromStore,
        Self::Kill,
        Self::Pause,
        Self::SlowNetwork,
        Self::HandOver,
        Self::FastClock,
        Self::SlowClock,
        Self::LoseData,
        Self::StepStoreClock,
        Self::StallStore,
    ];

    /// Its name on the page.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::CutOff => "cut off",
            Self::CutOffToStore => "cut off, to the store",
            Self::CutOffFromStore => "cut off, from the store",
            Self::Kill => "kill",
            Self::Pause => "pause",
            Self::SlowNetwork => "slow network",
            Self::HandOver => "hand over",
            Self::FastClock => "fast clock",
            Self::SlowClock => "slow clock",
            Self::LoseData => "lose its data",
            Self::StepStoreClock => "clock +30 s",
            Self::StallStore => "answer nothing",
        }
    }

    /// True for a fault of the store.
    pub(crate) const fn is_of_the_store(self) -> bool {
        matches!(self, Self::LoseData | Self::StepStoreClock | Self::StallStore)
    }

    pub(crate) const fn effect(self, node: Option<usize>, plan: &Plan) -> Effect {
        let ttl_ms = plan.settings.ttl_ms;
        match self {
            Self::CutOff => Effect::Fault(LinkFault::Partition.at(node), 5),
            Self::CutOffToStore => Effect::Fault(LinkFault::OneWay { to_store: true }.at(node), 5),
            Self::CutOffFromStore => {
                Effect::Fault(LinkFault::OneWay { to_store: false }.at(node), 5)
            }
            Self::Kill => Effect::Fault(ProcessFault::Crash { power: false }.at(node), 5),
            Self::Pause => Effect::Fault(ProcessFault::Pause.at(node), 3),
            Self::SlowNetwork => Effect::Fault(LinkFault::Latency { most_ms: ttl_ms }.at(node), 5),
            Self::HandOver => Effect::Fault(ProcessFault::Resign.at(node), 0),
            Self::FastClock => Effect::Rate(RATE_PPM),
            Self::SlowClock => Effect::Rate(-RATE_PPM),
            Self::LoseData => Effect::Fault(What::Store(StoreFault::StoreLoss), 0),
            Self::StepStoreClock => {
                Effect::Fault(What::Store(StoreFault::StoreClockStep { by_ms: 30_000 }), 0)
            }
            Self::StallStore => Effect::Fault(What::Store(StoreFault::StoreStall), 2),
        }
    }
}
