//! The common settings of many candidates of a driver.

use std::time::Duration;

use super::Commands;
use crate::Config;
use crate::store::{AnyStore, Profile};

/// The driver, and a candidate's settings. Candidates with the same settings share it: a process
/// may have a hundred thousand of them.
pub(crate) struct Settings {
    pub(crate) store: AnyStore,
    pub(crate) commands: Commands,
    pub(crate) chosen: Chosen,
}

/// The application's choices.
#[derive(PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) profile: Profile,
    pub(crate) config: Config,
    pub(crate) longest_stop: Duration,
    pub(crate) hold_off: Duration,
    /// True if the candidate continues to lead and to campaign when offered work is lost.
    pub(crate) keeps_lead_without_work: bool,
}
