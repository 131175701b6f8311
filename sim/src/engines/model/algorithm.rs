//! What the engine runs on each node and at the store: tenure's own state machine, or a model of another
//! algorithm.

use std::time::Duration;

use tenure_core::{Config, Instant};

use crate::trace::{Answer, Asked, Kept, Reason};

/// An election algorithm: what a candidate does, and what its store does.
///
/// A value of it is one life of one candidate.
pub(crate) trait Algorithm: Clone {
    /// Names a request among those of one candidate.
    type Id: Copy + Eq;
    /// What a candidate asks of the store.
    type Request: Copy;
    /// What the store answers.
    type Reply: Copy;
    /// What the store keeps.
    type Store: Clone + Default;
    /// The clock that its timers and deadlines count by.
    const TIMERS: Timers;

    /// A candidate that takes no part yet. `seed` is never given twice in a run.
    fn new(config: &Config, seed: u128) -> Self;

    /// Takes in what happened, at that time of the candidate's clock.
    fn handle(&mut self, now: Instant, input: Input<Self::Id, Self::Reply>);

    /// The next thing that the last input gave rise to, until there is none.
    fn poll(&mut self) -> Option<Output<Self::Id, Self::Request>>;

    /// When it wants to be woken.
    fn deadline(&self) -> Option<Instant>;

    /// Whether it answers "I lead" at that time of its clock.
    fn leads(&self, now: Instant) -> Option<Lead>;

    /// One atomic step at the store.
    fn serve(store: &mut Self::Store, at: Visit, request: Self::Request) -> Served<Self::Reply>;

    /// The election's record, in the words of the trace, if it has any. When the lease ends in true time
    /// is the engine's to say.
    fn kept(store: &Self::Store) -> Option<Kept>;

    /// The store has noticed that a candidate's connection is gone.
    fn disconnected(store: &mut Self::Store, session: Session) -> bool {
        let _ = (store, session);
        false
    }

    /// The store has been cut off from a candidate, and may notice: what the candidate sends from then on
    /// arrives late or never.
    fn cut_off(store: &mut Self::Store, session: Session) {
        let _ = (store, session);
    }

    /// The request's name as a number.
    fn number(id: Self::Id) -> u64;

    /// Who asks what, in the words of the trace, if it has any.
    fn asked(request: Self::Request) -> Option<(u128, Asked)>;

    /// The answer in the words of the trace.
    fn answered(reply: Self::Reply) -> Option<Answer>;
}

/// Which of a machine's clocks counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timers {
    /// The one that keeps running while the machine sleeps.
    Boot,
    /// The one that does not.
    Monotonic,
}

/// What can happen to a candidate.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input<I, R> {
    Campaign,
    Resign {
        again_after: Option<Duration>,
    },
    /// All work of the tenure that ended has ended.
    Drained,
    /// The answer to a request; `None` if it is known that none will come.
    Reply {
        id: I,
        reply: Option<R>,
    },
    Hint,
    Wake,
}

/// What a candidate wants done or known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Output<I, Q> {
    Send {
        id: I,
        request: Q,
    },
    Elected(Lead),
    Renewed(Lead),
    /// Work may go on until then in order to end tidily.
    SteppedDown {
        token: u64,
        reason: Reason,
        drain_until: Instant,
    },
    DrainUntil {
        token: u64,
        until: Instant,
    },
    Quarantined,
    /// A resignation is complete.
    Withdrawn,
}

/// A lead, and when it ends if it is not renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lead {
    pub(crate) token: u64,
    /// Never, for algorithms without a deadline of their own.
    pub(crate) until: Instant,
}

/// A connection of one candidate to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) node: usize,
    pub(crate) connection: u32,
}

/// The circumstances of one step at the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    /// The store's clock.
    pub(crate) now: Instant,
    /// Which server it is.
    pub(crate) server: u32,
    /// It takes an empty store for one that has lost nothing.
    pub(crate) trust_empty_store: bool,
    pub(crate) session: Session,
}

/// What came of one step at the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served<R> {
    pub(crate) reply: R,
    /// Candidates are told that the lease is vacant.
    pub(crate) hints: bool,
    /// A new tenure has begun.
    pub(crate) granted: bool,
}
