//! An advisory lock of a PostgreSQL session, which every candidate polls for, as in
//! `@platformatic/leader`.
//!
//! The lock has no expiry: the server frees it when it notices that the connection is closed. The
//! connection of a crashed process is closed at once; a machine without power closes none. A leader
//! that is cut off keeps the lock until the server ends its session: [`SessionLock`] models a
//! server that never does, [`EndedSession`] one that does at the moment of the cut.

use tenure_core::Config;

use super::super::algorithm::{Session, Stored, Visit};
use super::model::{Ask, Model, StoreAnswer, Want};
use super::pace::{Pace, Timer};
use super::{ordinal, retry};

/// The lock of a server. `ENDS_SESSIONS` is whether it ends the sessions of candidates that are cut
/// off.
#[derive(Clone, Debug)]
pub(crate) struct Lock<const ENDS_SESSIONS: bool>;

/// The lock of a server that keeps the sessions of candidates that are cut off.
pub(crate) type SessionLock = Lock<false>;

/// The lock of a server that ends the session of a candidate that is cut off.
pub(crate) type EndedSession = Lock<true>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    holder: Option<Session>,
    token: u64,
    /// Sessions that the server has ended, and whose clients have not learned it.
    ended: Vec<Session>,
}

impl<const ENDS_SESSIONS: bool> Model for Lock<ENDS_SESSIONS> {
    type Store = Store;

    fn pace(config: &Config) -> Pace {
        Pace { is_of_a_connection: true, ..Pace::steady(Timer::AfterReply(retry(config))) }
    }

    fn serve(store: &mut Store, at: Visit, ask: Ask) -> StoreAnswer {
        if let Some(place) = store.ended.iter().position(|session| *session == at.session) {
            store.ended.swap_remove(place);
            return StoreAnswer::UnknownSession;
        }
        if ask.server.is_some_and(|server| server != at.server) {
            return StoreAnswer::UnknownSession;
        }
        match (ask.want, store.holder) {
            (Want::Take | Want::Keep, None) => {
                store.holder = Some(at.session);
                store.token = ordinal(store.token, at);
                StoreAnswer::Granted { token: store.token }
            }
            (Want::Keep, Some(holder)) if holder == at.session => StoreAnswer::Renewed,
            // A session may lock again what it holds.
            (Want::Take, Some(holder)) if holder == at.session => {
                StoreAnswer::Granted { token: store.token }
            }
            (Want::GiveBack, Some(holder)) if holder == at.session => {
                store.holder = None;
                StoreAnswer::Done
            }
            (Want::Take | Want::Keep, Some(_)) | (Want::GiveBack | Want::Tidy, _) => {
                StoreAnswer::NotHeld
            }
        }
    }

    fn kept(_: &Store) -> Option<Stored> {
        None
    }

    fn disconnected(store: &mut Store, session: Session) {
        store.holder = store.holder.filter(|holder| *holder != session);
    }

    fn cut_off(store: &mut Store, session: Session) {
        if ENDS_SESSIONS {
            Self::disconnected(store, session);
            store.ended.push(session);
        }
    }
}
