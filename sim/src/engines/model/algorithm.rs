//! The interface of an election algorithm, as the engine runs it: tenure's own state machine, or a
//! model of another algorithm.

use std::time::Duration;

use tenure_core::{Config, Instant};

use crate::trace::{Answer, Asked, Mark, Reason};

/// An election algorithm: the behaviour of a candidate, and of its store.
///
/// A value is one life of one candidate.
pub(crate) trait Algorithm: Clone {
    /// Identifies a request among those of one candidate.
    type Id: Copy + Eq;
    /// A request of a candidate to the store.
    type Request: Copy;
    /// An answer of the store.
    type Reply: Copy;
    /// The data of the store.
    type Store: Clone + Default;
    /// The clock of its timers and deadlines.
    const TIMERS: Timers;

    /// A candidate of that node that has not campaigned yet. Every `seed` of a run is different.
    fn new(config: &Config, node: usize, seed: u128) -> Self;

    /// Takes an input, at that time of the candidate's clock.
    fn handle(&mut self, now: Instant, input: Input<Self::Id, Self::Reply>);

    /// The next output that the last input caused; `None` if there is no more.
    fn poll(&mut self) -> Option<Output<Self::Id, Self::Request>>;

    /// The time at which it has to be woken.
    fn deadline(&self) -> Option<Instant>;

    /// The lead under which it answers "I lead" at that time of its clock.
    fn leads(&self, now: Instant) -> Option<Lead>;

    /// One atomic step at the store.
    fn serve(store: &mut Self::Store, at: Visit, request: Self::Request) -> Served<Self::Reply>;

    /// The election's record, if it has any.
    fn kept(store: &Self::Store) -> Option<Stored>;

    /// The leader wishes for that node to lead, if there is such a thing. Says whether there is.
    fn wish(store: &mut Self::Store, at: Visit, to: usize) -> bool {
        let _ = (store, at, to);
        false
    }

    /// The store has noticed that a candidate's connection is closed.
    fn disconnected(store: &mut Self::Store, session: Session) -> bool {
        let _ = (store, session);
        false
    }

    /// The store has been cut off from a candidate, and may notice. Later messages of the candidate
    /// arrive late or never.
    fn cut_off(store: &mut Self::Store, session: Session) {
        let _ = (store, session);
    }

    /// The number of a request.
    fn number(id: Self::Id) -> u64;

    /// The holder and the request in the terms of the trace, if there are any.
    fn asked(request: Self::Request) -> Option<(u128, Asked)>;

    /// The answer in the terms of the trace.
    fn answered(reply: Self::Reply) -> Option<Answer>;
}

/// A clock of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timers {
    /// The clock that keeps running while the machine sleeps.
    Boot,
    /// The clock that stops while the machine sleeps.
    Monotonic,
}

/// An input of a candidate.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input<I, R> {
    Campaign,
    Resign {
        again_after: Option<Duration>,
    },
    /// All work of the tenure that ended has ended.
    Drained,
    /// The machine was suspended, and runs again.
    Resumed,
    /// The answer to a request; `None` if it is certain that none will arrive.
    Reply {
        id: I,
        reply: Option<R>,
    },
    Hint,
    Wake,
}

/// An output of a candidate.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Output<I, Q> {
    Send {
        id: I,
        request: Q,
    },
    /// The candidate no longer waits for the answer to a request.
    Cancel {
        id: I,
    },
    Elected(Lead),
    Renewed(Lead),
    /// Work may run until then in order to end cleanly.
    SteppedDown {
        token: u64,
        reason: Reason,
        drain_until: Instant,
    },
    DrainUntil {
        token: u64,
        until: Instant,
    },
    /// It has begun to watch the store's past.
    Watches,
    /// A resignation is complete.
    Withdrawn,
}

/// A lead, and its end unless it is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lead {
    pub(crate) token: u64,
    /// [`Instant::FAR_FUTURE`] for algorithms without a deadline of their own.
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
    /// The number of the server.
    pub(crate) server: u32,
    /// True if it trusts an empty store to have lost nothing.
    pub(crate) trust_empty_store: bool,
    pub(crate) session: Session,
    /// True if it is the first step over that connection.
    pub(crate) first: bool,
    /// The number of the step among all steps of the run, whatever server carries it out.
    pub(crate) number: u64,
}

/// An election's record as a store keeps it. The engine adds the lease's end in true time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) token: u64,
    pub(crate) mark: Mark,
    pub(crate) released: bool,
    pub(crate) ends: Ends,
}

/// The end of a lease neither renewed nor handed back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// The server ends it at that time of its clock.
    ByServer(Instant),
    /// Another candidate takes it after it has watched the mark for so long.
    Watched(Duration),
}

impl Stored {
    /// A lease that the server ends. Its end is its mark as well, since each renewal moves it.
    pub(crate) const fn until(token: u64, holder: u128, ends: Instant) -> Self {
        let mark = Mark { holder, number: ends.as_nanos() };
        Self { token, mark, released: false, ends: Ends::ByServer(ends) }
    }
}

/// The result of one step at the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served<R> {
    pub(crate) reply: R,
    /// True if candidates get a hint that the lease is vacant.
    pub(crate) hints: bool,
    /// True if a new tenure has begun.
    pub(crate) granted: bool,
}
