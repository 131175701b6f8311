//! The actions of a driver, which its shell carries out.

use std::time::Duration;

use tenure_core::{Event, HolderId, Request, RequestId, Stage, Token};

use super::{CallId, ElectionId, LostWork, ObserverId, QuestionId};

/// An order of a driver to its shell. Actions are carried out in their order, and all of them
/// before the next event is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<K> {
    /// Carry these requests out, one at least, in one call that is first polled from now on, and
    /// never before. All are of one kind, no more than the store takes; looks and asks are one. A
    /// key may occur twice.
    Call(CallId, Vec<Outgoing>),
    /// Ask the store that question, in a call that is first polled from now on.
    Ask(CallId, QuestionId),
    /// Tell the store the latest profile of that election's leader, in a call that is first polled
    /// from now on.
    Describe {
        /// The call.
        call: CallId,
        /// The election.
        election: ElectionId,
        /// The holder that was granted the lease.
        holder: HolderId,
        /// The tenure's token.
        token: Token,
    },
    /// Drop this call: its time is over, and nothing in it is wanted any more. So the connection
    /// learns that it may be stuck.
    Cancel(CallId),
    /// Report [`Event::Drained`](super::Event::Drained) when all work of the tenure has ended that
    /// was the last of that election.
    Drain(ElectionId),
    /// Look at the watched work of that election's tenure, and report a
    /// [`Command::WorkDue`](super::Command::WorkDue).
    LookAtWork(ElectionId),
    /// Hints of that election are wanted from now on.
    Subscribe(K),
    /// Hints of that election are no longer wanted. Some may still come.
    Unsubscribe(K),
    /// The election of that observer was hinted.
    WakeObserver(ObserverId),
    /// Something has happened in that election: tell its handles, those who listen, and the log.
    Publish(ElectionId, News),
    /// The first deadline was noticed that late.
    Late(Duration),
    /// The driver took more steps in a row than it can need, which is a bug, and rests a moment.
    TurnEnded {
        /// The number of steps.
        steps: usize,
        /// The most that it can need.
        most: usize,
    },
    /// There is no handle, no election and no question any more. Nothing follows.
    Stopped,
}

/// A request of a candidate that leaves now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The election.
    pub election: ElectionId,
    /// Names the request among those of its candidate.
    pub id: RequestId,
    /// The request.
    pub request: Request,
}

/// The news of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// An event of its candidate, where a resignation has the reason for which it was asked. If a
    /// handle has closed the claim that begins or is renewed, a
    /// [`Command::Closed`](super::Command::Closed) must follow.
    Event(Event),
    /// A resignation was taken in: a claim that a handle had closed may be opened again.
    Reopened,
    /// The store has confirmed the release of that tenure.
    GivenBack(Token),
    /// The candidate's stage. Follows each event of one that does not lead.
    Stage(Stage),
    /// The candidate leaves the election because its work was lost.
    WorkLost {
        /// The tenure that it gives up, if it leads.
        token: Option<Token>,
        /// The way in which it was lost.
        how: LostWork,
        /// The time to stay out.
        pause: Duration,
    },
    /// The tenure has ended before its hold was over: its lease is not given back, and ends by
    /// itself.
    RunsOut {
        /// The tenure.
        token: Token,
        /// The time left of its hold.
        held_for: Duration,
    },
    /// The candidate gives that tenure up because watched work is silent.
    WorkSilent(Token),
    /// A request was answered, or has failed, before it was given up.
    Answered {
        /// Its name.
        request: &'static str,
        /// The time that this took.
        took: Duration,
        /// Its outcome.
        verdict: Verdict,
    },
    /// A request of that name was given up: its time is over.
    GivenUp(&'static str),
    /// The candidate has left the election for good. Once.
    Left,
    /// Nothing follows about this election, and nothing names it any more. Once.
    Ended,
}

/// The outcome of a request, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was carried out.
    Done,
    /// The store has refused it.
    Refused,
    /// Nobody knows.
    Unknown,
}
