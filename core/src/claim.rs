//! The value that proves a grant.

use crate::id::Token;
use crate::time::Instant;

/// A candidate's right to lead: its fencing token, and the end of its validity on the candidate's
/// own clock.
///
/// Only the state machine mints one, and only from a grant or a renewal that answers the request in
/// flight. A claim in hand is not leadership: ask [`Candidate::claim`](crate::Candidate::claim)
/// with the present time, and read the clock *after* you hold the answer's inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    token: Token,
    valid_until: Instant,
}

impl Claim {
    pub(crate) const fn new(token: Token, valid_until: Instant) -> Self {
        Self { token, valid_until }
    }

    /// The tenure's fencing token.
    pub const fn token(&self) -> Token {
        self.token
    }

    /// The first instant, on the candidate's clock, at which the claim no longer holds.
    pub const fn valid_until(&self) -> Instant {
        self.valid_until
    }
}
