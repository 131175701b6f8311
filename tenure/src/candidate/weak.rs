//! A handle that does not keep its candidate in an election.

use std::fmt;
use std::sync::{Arc, Weak};

use super::{Candidate, Owner};

/// A handle on a [`Candidate`] that does not keep it in its election, for callbacks and other
/// values that the candidate itself keeps alive.
#[derive(Clone)]
pub struct WeakCandidate(Weak<Owner>);

impl Candidate {
    /// A weak handle: the election is left once the last [`Candidate`] is gone.
    pub fn downgrade(&self) -> WeakCandidate {
        WeakCandidate(Arc::downgrade(&self.0))
    }
}

impl WeakCandidate {
    /// The candidate, if a handle on it still exists.
    pub fn upgrade(&self) -> Option<Candidate> {
        self.0.upgrade().map(Candidate)
    }
}

impl fmt::Debug for WeakCandidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakCandidate").field(&self.upgrade()).finish()
    }
}
