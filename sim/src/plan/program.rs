//! What runs on each node.

use serde::{Deserialize, Serialize};

/// What runs on each node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// In how many elections each node takes part, over one driver and one connection. The turmoil engine alone
    /// has more than one; each is judged by itself.
    #[serde(default = "one")]
    pub elections: u32,
    /// How leaders are given their work. The model engine knows the first way alone.
    #[serde(default)]
    pub manner: Manner,
    /// Futures of every kind are begun and dropped half way, again and again. In the turmoil engine only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancels: bool,
}

/// How leaders are given their work: in the ways in which applications do it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manner {
    /// By `run_while_leader`. The work looks at its tenure before each step, and tidies up in the end.
    #[default]
    WhileLeader,
    /// The same by `run_until`, which is told to end when the candidate leaves.
    Until,
    /// By `run_while_leader`. The work waits for its tenure's cancellation token, and ends at once.
    CancellationToken,
    /// By callbacks: one after each election, and one after each end of a tenure that takes its time too.
    Callbacks,
}

impl Manner {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::WhileLeader, Self::Until, Self::CancellationToken, Self::Callbacks];
}

impl Program {
    /// The most elections.
    pub const ELECTIONS_MOST: u32 = 16;

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Program {
    fn default() -> Self {
        Self { elections: one(), manner: Manner::default(), cancels: false }
    }
}

const fn one() -> u32 {
    1
}
