//! The assumptions of the promises.

use serde::{Deserialize, Serialize};

/// An assumption of some promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assumption {
    /// A2, for leaders: over every interval a clock counts at least `1 - rho` of the elapsed time.
    /// A clock that is slower, steps back, or is stopped breaks it.
    CandidateClocks,
    /// A2, for candidates that watch: over every interval a clock counts at most `1 + rho` of the
    /// elapsed time. A clock that is faster, or steps forward, breaks it.
    Waits,
    /// G6: a store that lost acknowledged writes makes the next leader wait out a quarantine that
    /// is at least as long as any remaining lease, and the server that it replaced acknowledges no
    /// further requests.
    LossIsFinal,
    /// G3: after a loss of acknowledged writes, the store's wall clock is not behind the last
    /// grant.
    WallClock,
    /// A process lives once: no snapshot of it is restored.
    OneMemory,
    /// No process is paused between a check and its effect, and no effect takes longer than the
    /// stop margin by the process's own clock. A clock that is put forward shortens that time, and
    /// the lease is handed back sooner.
    PromptEffects,
    /// G4: a leader takes a resource over with its token, and knows that it has, before it reads
    /// the resource.
    TakeOverFirst,
    /// G7: every process gets a processor when it needs one, within the tolerance of the engine. No
    /// plan breaks it, but a real machine may: the promises that rest on it are not judged from
    /// that moment on.
    Processor,
}

impl Assumption {
    /// All assumptions.
    pub const ALL: [Self; 8] = [
        Self::CandidateClocks,
        Self::Waits,
        Self::LossIsFinal,
        Self::WallClock,
        Self::OneMemory,
        Self::PromptEffects,
        Self::TakeOverFirst,
        Self::Processor,
    ];
}
