//! A candidate's activity, in one word.

use crate::time::Instant;

/// A candidate's activity, for people who look at it. No decision depends on it: whether the
/// candidate leads is the question of [`Candidate::claim`](crate::Candidate::claim), which has the
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Takes no part in the election, for good or until its hold-off is over.
    Out,
    /// Asks for the lease, or watches it.
    Campaigning,
    /// The same, and watches the store's past besides: the store may have lost data.
    Watching {
        /// Until then at least, it is granted nothing.
        until: Instant,
    },
    /// Led at the time of the last input.
    Leading,
    /// Gives back what it holds, or may hold: its work drains, or a release or an acquire is in
    /// flight.
    Ending,
}
