//! The answers of a store, one request at a time.

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
    /// The last tenure, and whether its lease was handed back.
    Last { token: u64, holder: u128, over: bool },
}

/// The store contract (section 4 of the design), as far as tokens and holders tell.
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

/// True if the answer is right in some state that agrees with the known one.
fn allowed(state: State, by: u128, request: Asked, answer: Answer) -> bool {
    let State::Last { token: last, holder, over } = state else { return true };
    let is_own = |token| token == last && by == holder && !over;
    match (request, answer) {
        (Asked::Acquire { seen, watched }, Answer::Granted { token }) => {
            let may_take =
                over && seen >= last || watched.is_some_and(|mark| mark.holder == holder);
            is_own(token) || (may_take && token > last.max(seen))
        }
        (Asked::Acquire { seen, .. }, Answer::Not { past_is_watched }) => {
            over || by != holder || !past_is_watched || seen > last
        }
        (Asked::Renew { token }, Answer::Renewed { .. })
        | (Asked::Release { token }, Answer::Released) => is_own(token),
        (Asked::Renew { token }, Answer::Superseded)
        | (Asked::Release { token }, Answer::NotHeld) => !is_own(token),
        // A look's answer says nothing that a trace has; an error says nothing, and an answer to
        // another request is judged by `own-lease-only`.
        (
            Asked::Acquire { .. }
            | Asked::Look { .. }
            | Asked::Renew { .. }
            | Asked::Release { .. },
            _,
        ) => true,
    }
}

/// The known state after that answer.
fn next(state: State, by: u128, request: Asked, answer: Answer) -> State {
    match (request, answer) {
        (Asked::Acquire { .. }, Answer::Granted { token })
        | (Asked::Renew { token }, Answer::Renewed { .. }) => {
            State::Last { token, holder: by, over: false }
        }
        (Asked::Release { token }, Answer::Released) => {
            State::Last { token, holder: by, over: true }
        }
        // What is refused may have been the last tenure.
        (Asked::Renew { token }, Answer::Superseded)
        | (Asked::Release { token }, Answer::NotHeld) => match state {
            State::Last { token: last, holder, .. } if last == token && holder == by => {
                State::Last { token, holder, over: true }
            }
            State::Last { .. } | State::Unknown => state,
        },
        (
            Asked::Acquire { .. }
            | Asked::Look { .. }
            | Asked::Renew { .. }
            | Asked::Release { .. },
            _,
        ) => state,
    }
}
