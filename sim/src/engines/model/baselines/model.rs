//! The differences between the libraries: their store's steps, and the times of their requests.

use std::time::Duration;

use tenure_core::Config;

use super::super::algorithm::{Session, Stored, Visit};
use super::pace::Pace;
use crate::trace::{Answer, Asked};

/// One library.
pub(crate) trait Model: Clone {
    /// The data of its store.
    type Store: Clone + Default;

    /// The times of its requests.
    fn pace(config: &Config) -> Pace;

    /// One atomic step at the store.
    fn serve(store: &mut Self::Store, at: Visit, ask: Ask) -> StoreAnswer;

    /// The election's record, if it has one.
    fn kept(store: &Self::Store) -> Option<Stored>;

    /// The store has noticed that a connection is closed.
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
    /// The ordinal of its tenure, for the trace only.
    pub(super) token: u64,
    /// The server of the connection, once it has answered.
    pub(super) server: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    Take,
    Keep,
    GiveBack,
    Tidy,
}

/// The result of a request at the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreAnswer {
    /// A new tenure begins, with that ordinal.
    Granted { token: u64 },
    /// The same tenure continues.
    Renewed,
    /// Another candidate holds the lease, or none does.
    NotHeld,
    /// Handed back, or cleaned up.
    Done,
    /// The server does not know the connection.
    UnknownSession,
}

/// An answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    pub(super) server: u32,
    pub(super) want: Want,
    pub(super) answer: StoreAnswer,
}

impl Ask {
    pub(super) const fn in_words(self) -> Option<(u128, Asked)> {
        let asked = match self.want {
            Want::Take => Asked::Acquire { seen: 0, watched: None },
            Want::Keep => Asked::Renew { token: self.token },
            Want::GiveBack => Asked::Release { token: self.token },
            Want::Tidy => return None,
        };
        Some((self.holder, asked))
    }
}

impl Reply {
    pub(super) const fn in_words(self) -> Option<Answer> {
        Some(match (self.want, self.answer) {
            (Want::Tidy, _) => return None,
            (_, StoreAnswer::Granted { token }) => Answer::Granted { token },
            (_, StoreAnswer::Renewed) => Answer::Renewed { past_is_watched: true },
            (Want::Take, StoreAnswer::NotHeld) => Answer::Not { past_is_watched: true },
            (Want::Keep, StoreAnswer::NotHeld) => Answer::Superseded,
            (Want::GiveBack, StoreAnswer::NotHeld) => Answer::NotHeld,
            (_, StoreAnswer::Done) => Answer::Released,
            (_, StoreAnswer::UnknownSession) => Answer::Other,
        })
    }
}
