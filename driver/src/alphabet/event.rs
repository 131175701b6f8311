//! The events of a driver.

use std::time::Duration;

use tenure_core::{Config, Instant, NameId, Reply, Seed, StepDownReason, Token};

use super::{CallId, ElectionId, ObserverId, QuestionId, Verdict};

/// An input of a driver. `K` is the name of an election at the store.
#[derive(Clone, Debug)]
pub enum Event<K> {
    /// A candidate joins an election. Boxed: it is much larger than the others, and rare.
    Join(Box<Join<K>>),
    /// A handle of that election, or its work, sends a command. Changes nothing if there is no such
    /// election.
    Command(ElectionId, Command),
    /// All work of that election's tenure has ended, for which an
    /// [`Action::Drain`](super::Action::Drain) asked.
    Drained(ElectionId),
    /// A call or a question has ended: how each of its requests has ended, in their order. Requests
    /// without a result count as refused. That of a call which was
    /// [cancelled](super::Action::Cancel) changes nothing.
    Called(CallId, Vec<Outcome>),
    /// An [`Action::Describe`](super::Action::Describe) has ended, in which that version of the
    /// profile was sent.
    Described(CallId, u64, DescribeOutcome),
    /// The application asks the store something.
    Ask(Question),
    /// The caller of a question has given up. One that has left is not cancelled: a request that is
    /// dropped condemns its connection, which all elections share.
    GiveUp(QuestionId),
    /// An observer wants the hints of that election.
    Watch(K, ObserverId),
    /// The same observer no longer wants them.
    Unwatch(K, ObserverId),
    /// The lease of that election may have become vacant, or its leader is wished to hand over.
    Hint(K),
    /// The machine was suspended. Goes before every event that was taken after the suspend.
    Resumed,
    /// There is no handle any more, and so no command follows.
    HandlesGone,
    /// All that has happened was handed in: what is due by now is done, and what may leave leaves.
    /// One step of it, so that each call leaves at a time of its own:
    /// [`Driver::deadline`](crate::Driver::deadline) says whether another step is due.
    Due,
}

/// A command of a handle, or a report of its work.
///
/// What handles and the driver share is read after the command was taken, and each change sends
/// one: so the last command has the last value.
#[derive(Clone, Copy, Debug)]
pub enum Command {
    /// Give up the lead or the campaign, and hold off for that long. The candidate's `Withdrawn`
    /// follows.
    Resign(Duration),
    /// Leave the election for good. [`Left`](super::News::Left), `Withdrawn` and
    /// [`Ended`](super::News::Ended) follow.
    Stop,
    /// Another candidate is wished for: a renewal learns whether it asks.
    RenewNow,
    /// True if any work is offered to the candidate.
    Offers(bool),
    /// Offered work was lost.
    WorkLost {
        /// The tenure under which it ran; `None` if it was waiting for one.
        token: Option<Token>,
        /// The way in which it was lost.
        how: LostWork,
        /// True if any work is offered still.
        any: bool,
        /// The time to stay out of an election that is given up for that.
        hold_off: Duration,
    },
    /// The time of the next sign of life of watched work. Sent when work begins to be watched, and
    /// as an answer to [`Action::LookAtWork`](super::Action::LookAtWork).
    WorkDue {
        /// Its tenure.
        token: Token,
        /// The first time at which a sign of life is due; `None` if none is.
        due: Option<Instant>,
        /// The time to stay out of an election that is given up for that.
        hold_off: Duration,
    },
    /// A handle or work had closed the claim of that tenure, by its own reading of the clock,
    /// before a renewal arrived that would have extended it.
    Closed(Token),
    /// The tenure of that token is held until then: its lease is not given back before, and it is
    /// not handed over. Goes before a reply that says that another candidate asks for the lead, and
    /// before [`Event::Drained`], if the tenure is held by then.
    Held(Token, Instant),
    /// The candidate's profile was replaced, by that version of it, which is 1 at least.
    Describe(u64),
}

/// A candidate that joins an election.
#[derive(Clone, Debug)]
pub struct Join<K> {
    /// The election; no other may have the same number.
    pub election: ElectionId,
    /// The election at the store. Several candidates of a process may have the same.
    pub key: K,
    /// The settings.
    pub config: Config,
    /// The candidate's name.
    pub name: NameId,
    /// Random bits that no other candidate has.
    pub seed: Seed,
    /// Random: where the driver's times for renewals begin, if it has no other election.
    pub phase: u64,
}

/// A question of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Names it.
    pub id: QuestionId,
    /// The name of its request: some take more round trips than others.
    pub request: &'static str,
    /// The longest time under way.
    pub within: Duration,
}

/// The end of offered work that was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostWork {
    /// Its future was dropped: by a `select!`, a timeout, an abort.
    Dropped,
    /// It panicked.
    Panicked,
    /// It ended with an error, and is still offered.
    Failed {
        /// After so many failures in a row.
        before: u32,
        /// Random, from 0 to 1,000: which part of the random time to stay out.
        thousandths: u32,
    },
}

impl LostWork {
    /// For logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dropped => "dropped",
            Self::Panicked => "panicked",
            Self::Failed { .. } => "failed",
        }
    }

    /// The reason for the tenure's end.
    pub const fn reason(self) -> StepDownReason {
        match self {
            Self::Dropped | Self::Panicked => StepDownReason::WorkLost,
            Self::Failed { .. } => StepDownReason::WorkFailed,
        }
    }
}

/// The end of a request. Its outcome is known only if it was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "most are answers, and they are not kept")]
pub enum Outcome {
    /// The store has answered.
    Answered(Reply),
    /// The store has answered with what is no reply to a candidate.
    Unexpected,
    /// A server has answered with an error, so that the connection carries requests.
    Refused,
    /// No server has answered.
    Unanswered,
}

impl Outcome {
    /// True if a server has answered.
    pub const fn is_answer(&self) -> bool {
        match self {
            Self::Answered(_) | Self::Unexpected | Self::Refused => true,
            Self::Unanswered => false,
        }
    }

    pub(crate) const fn reply(&self) -> Option<Reply> {
        match self {
            Self::Answered(reply) => Some(*reply),
            Self::Unexpected | Self::Refused | Self::Unanswered => None,
        }
    }

    pub(crate) const fn verdict(&self) -> Verdict {
        match self {
            Self::Answered(
                Reply::Granted { .. }
                | Reply::At(_)
                | Reply::Renewed { .. }
                | Reply::Released
                | Reply::Noted
                | Reply::Purged,
            ) => Verdict::Done,
            Self::Answered(
                Reply::Not(_)
                | Reply::Superseded { .. }
                | Reply::NotHeld
                | Reply::NotNoted
                | Reply::Kept,
            ) => Verdict::Refused,
            Self::Unexpected | Self::Refused | Self::Unanswered => Verdict::Unknown,
        }
    }
}

/// The end of a description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescribeOutcome {
    /// The store has recorded it.
    Answered,
    /// The store replaces no profile.
    Unsupported,
    /// A server has answered with another error.
    Refused,
    /// No server has answered.
    Unanswered,
}

impl DescribeOutcome {
    pub(crate) const fn is_answer(self) -> bool {
        match self {
            Self::Answered | Self::Unsupported | Self::Refused => true,
            Self::Unanswered => false,
        }
    }
}

/// The most requests of a kind in one call, each 1 at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InCall {
    /// Renewals.
    pub renewals: usize,
    /// Looks and asks.
    pub looks: usize,
    /// Acquires.
    pub acquires: usize,
}

impl Default for InCall {
    /// Each request by a call of its own.
    fn default() -> Self {
        Self { renewals: 1, looks: 1, acquires: 1 }
    }
}
