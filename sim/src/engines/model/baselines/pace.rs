//! When a candidate asks its store.

use std::time::Duration;

/// What leads from one request to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timer {
    /// So long after the last one was answered: `setTimeout` at the end of an asynchronous function.
    AfterReply(Duration),
    /// Again and again, answered or not: `setInterval`.
    Every(Duration),
    /// The same, but what falls due while a request is under way waits for its reply: `setInterval` with
    /// a chain of promises.
    Queued(Duration),
}

/// When a candidate asks its store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// While it waits.
    pub(super) standby: Timer,
    /// While it leads.
    pub(super) leader: Timer,
    /// Each wait after a reply is longer or shorter by up to that.
    pub(super) jitter: Duration,
    /// How often every candidate tidies up at the store, if it does.
    pub(super) tidies: Option<Duration>,
    /// How long the client library repeats a request that is refused before it says so.
    pub(super) patience: Duration,
    /// It says that it leads until its release is answered.
    pub(super) leads_until_released: bool,
    /// What it held is gone with its connection, and it notices when the connection is made anew.
    pub(super) is_of_a_connection: bool,
}

impl Pace {
    /// One timer for leaders and others, which do the same.
    pub(super) const fn steady(timer: Timer) -> Self {
        Self {
            standby: timer,
            leader: timer,
            jitter: Duration::ZERO,
            tidies: None,
            patience: Duration::ZERO,
            leads_until_released: false,
            is_of_a_connection: false,
        }
    }
}
