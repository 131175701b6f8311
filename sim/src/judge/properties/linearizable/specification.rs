//! The answers of a store, one request at a time and without a clock: the end of a lease is known
//! only from later answers.

use todc_utils::specifications::Specification;

use crate::trace::{Answer, Asked};

/// A request, its holder, and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// A step of the store.
    Step { holder: u128, request: Asked, answer: Answer },
    /// The state that a window begins with.
    Known(State),
}

/// The known state of the election's record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// Nothing is known.
    #[default]
    Unknown,
    /// The last tenure, and whether it is known to be over.
    Last { token: u64, holder: u128, over: bool },
}

impl State {
    /// Allows that an ended lease is live again.
    pub(super) fn forget_its_end(&mut self) {
        if let Self::Last { over, .. } = self {
            *over = false;
        }
    }
}

/// The store contract (section 4 of the design) without its clock.
pub(super) struct Contract;

impl Specification for Contract {
    type State = State;
    type Operation = Operation;

    fn init() -> State {
        State::Unknown
    }

    fn apply(operation: &Operation, state: &State) -> (bool, State) {
        match *operation {
            Operation::Known(known) => (true, known),
            Operation::Step { holder, request, answer } => {
                match (allowed(*state, holder, request, answer), *state) {
                    (true, state) => (true, next(state, holder, request, answer)),
                    (false, state) => (false, state),
                }
            }
        }
    }
}

/// Whether the answer is right in some state that agrees with the known one.
fn allowed(state: State, by: u128, request: Asked, answer: Answer) -> bool {
    let State::Last { token: last, holder, over } = state else { return true };
    let is_own = |token| token == last && by == holder && !over;
    match (request, answer) {
        (Asked::Acquire { seen }, Answer::Granted { token, .. }) => {
            is_own(token) || (seen >= last && token > seen)
        }
        (Asked::Acquire { .. }, Answer::Held) => by != holder && !over,
        (Asked::Acquire { seen }, Answer::Stale) => seen < last,
        (Asked::Renew { token }, Answer::Renewed) => is_own(token),
        (Asked::Release { token }, Answer::Released) => is_own(token),
        // By the store's clock the lease may be over.
        (Asked::Renew { .. }, Answer::Superseded) | (Asked::Release { .. }, Answer::NotHeld) => {
            true
        }
        // An error says nothing, and an answer to another request is judged by `own-lease-only`.
        (Asked::Acquire { .. } | Asked::Renew { .. } | Asked::Release { .. }, _) => true,
    }
}

/// The known state after that answer.
fn next(state: State, by: u128, request: Asked, answer: Answer) -> State {
    let ended = match state {
        State::Unknown => State::Unknown,
        State::Last { token, holder, .. } => State::Last { token, holder, over: true },
    };
    match (request, answer) {
        (Asked::Acquire { .. }, Answer::Granted { token, .. })
        | (Asked::Renew { token }, Answer::Renewed) => {
            State::Last { token, holder: by, over: false }
        }
        (Asked::Release { token }, Answer::Released) => {
            State::Last { token, holder: by, over: true }
        }
        (Asked::Acquire { .. }, Answer::Stale) => ended,
        // A refused tenure is over, if it was the last one.
        (Asked::Renew { token }, Answer::Superseded)
        | (Asked::Release { token }, Answer::NotHeld) => match state {
            State::Last { token: last, holder, .. } if last == token && holder == by => ended,
            State::Last { .. } | State::Unknown => state,
        },
        (Asked::Acquire { .. } | Asked::Renew { .. } | Asked::Release { .. }, _) => state,
    }
}
