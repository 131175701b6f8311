//! What tells one library from another: what its store does, and when it asks.

use std::time::Duration;

use tenure_core::Config;

use super::super::algorithm::{Session, Visit};
use super::pace::Pace;
use crate::trace::{Answer, Asked, Kept};

/// One library.
pub(crate) trait Model: Clone {
    /// What its store keeps.
    type Store: Clone + Default;

    /// When it asks.
    fn pace(config: &Config) -> Pace;

    /// One atomic step at the store.
    fn serve(store: &mut Self::Store, at: Visit, ask: Ask) -> Told;

    /// The record, if it has a lease.
    fn kept(store: &Self::Store) -> Option<Kept>;

    /// The store has noticed that a connection is gone.
    fn disconnected(store: &mut Self::Store, session: Session) {
        let _ = (store, session);
    }

    /// The store is cut off from a candidate.
    fn cut_off(store: &mut Self::Store, session: Session) {
        let _ = (store, session);
    }
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(super) want: Want,
    pub(super) holder: u128,
    pub(super) ttl: Duration,
    /// The ordinal of the tenure that it is about, for the trace alone.
    pub(super) token: u64,
    /// The server that the connection was made to, once one has answered on it.
    pub(super) server: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    Take,
    Keep,
    GiveBack,
    Tidy,
}

/// What the store says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// A new tenure begins, with that ordinal.
    Yours { token: u64 },
    /// The same tenure goes on.
    StillYours,
    /// It is somebody else's, or nobody's.
    NotYours,
    /// Given back, or tidied up.
    Done,
    /// The server does not know the connection.
    Broken,
}

/// An answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    pub(super) server: u32,
    pub(super) want: Want,
    pub(super) told: Told,
}

impl Ask {
    pub(super) const fn in_words(self) -> Option<(u128, Asked)> {
        let asked = match self.want {
            Want::Take => Asked::Acquire { seen: 0 },
            Want::Keep => Asked::Renew { token: self.token },
            Want::GiveBack => Asked::Release { token: self.token },
            Want::Tidy => return None,
        };
        Some((self.holder, asked))
    }
}

impl Reply {
    pub(super) const fn in_words(self) -> Option<Answer> {
        Some(match (self.want, self.told) {
            (Want::Tidy, _) => return None,
            (_, Told::Yours { token }) => Answer::Granted { token, waits: false },
            (_, Told::StillYours) => Answer::Renewed,
            (Want::Take, Told::NotYours) => Answer::Held,
            (Want::Keep, Told::NotYours) => Answer::Superseded,
            (Want::GiveBack, Told::NotYours) => Answer::NotHeld,
            (_, Told::Done) => Answer::Released,
            (_, Told::Broken) => Answer::Other,
        })
    }
}
