//! The program of each node: its elections, and the way in which leaders get their work.

use serde::{Deserialize, Serialize};

/// The program of each node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The number of elections in which each node takes part, over one driver and one connection.
    /// Each election is judged by itself. The model engine supports only one.
    #[serde(default = "one")]
    pub elections: u32,
    /// The way in which leaders get their work. The model engine supports only the first one.
    #[serde(default)]
    pub manner: Manner,
    /// True if futures of every kind are started and dropped before they complete. Only the turmoil
    /// engine supports it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancels: bool,
    /// True if the subscriber of the log panics at times, as one does whose writer fails. Only the
    /// turmoil engine supports it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub log_panics: bool,
}

/// The way in which leaders get their work, as in applications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manner {
    /// By `run_while_leader`. The work checks its tenure before each step, and cleans up at the
    /// end.
    #[default]
    WhileLeader,
    /// By `run_until`, which ends when the candidate leaves. The work is the same.
    Until,
    /// By `run_while_leader`. The work waits for its tenure's cancellation token, and ends at once.
    CancellationToken,
    /// By callbacks: one after each election, and one after each end of a tenure, which takes a
    /// while too.
    Callbacks,
}

impl Manner {
    /// All ways.
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
        Self { elections: one(), manner: Manner::default(), cancels: false, log_panics: false }
    }
}

const fn one() -> u32 {
    1
}
