//! The program of a node, as far as engines share it: the shipped driver over a store whose
//! requests are recorded, and leader-only work. What a process can do, and what leaders write to,
//! each engine says.

mod elections;
mod recording;
mod work;

use crate::plan::clock::Clock;
use crate::plan::{Point, RequestKind, SimTime};
use crate::trace::{Event, Who};

pub(crate) use elections::{election_of, key};
pub(crate) use recording::Recording;
pub(crate) use work::{Job, Resource};

/// The process of a node, as its program sees it.
pub(crate) trait NodeProcess: Send + Sync + 'static {
    fn who(&self) -> Who;

    /// Its clock, with the errors that the plan gives it.
    fn clock(&self) -> &Clock;

    fn true_now(&self) -> SimTime;

    /// Records an event of this moment in one election.
    fn record(&self, election: usize, event: Event);

    /// The driver has reached that point of a call. An engine whose processes wait there returns
    /// when they may go on; one that sees the points on the wire does nothing.
    fn stops_at(&self, _: Point, _: Option<RequestKind>) {}

    /// One of its candidates campaigns with that holder id.
    fn campaigns_as(&self, _: u128) {}
}
