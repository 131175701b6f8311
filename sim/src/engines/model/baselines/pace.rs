//! The times of a candidate's requests to its store.

use std::time::Duration;

/// The time of the next request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timer {
    /// A delay after the last answer: `setTimeout` at the end of an asynchronous function.
    AfterReply(Duration),
    /// A fixed interval, whether answered or not: `setInterval`.
    Every(Duration),
    /// A fixed interval, but a request that falls due while another is in flight waits for its
    /// reply: `setInterval` with a chain of promises.
    Queued(Duration),
}

/// The times of a candidate's requests to its store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// While it waits.
    pub(super) standby: Timer,
    /// While it leads.
    pub(super) leader: Timer,
    /// The largest random change of each delay after a reply, in either direction.
    pub(super) jitter: Duration,
    /// The interval of every candidate's cleanup at the store, if it has one.
    pub(super) tidies: Option<Duration>,
    /// The time for which the client library repeats a refused request before it reports the
    /// refusal.
    pub(super) patience: Duration,
    /// True if it leads until its release is answered.
    pub(super) leads_until_released: bool,
    /// True if its lock ends with its connection, and it notices when the connection is opened
    /// again.
    pub(super) is_of_a_connection: bool,
}

impl Pace {
    /// The same timer for leaders and standbys, which send the same requests.
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
