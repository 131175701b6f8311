//! An advisory lock of a PostgreSQL session, which everybody polls for. What `@platformatic/leader` does.
//!
//! The lock has no expiry: the server frees it when it notices that the connection is gone. A crashed
//! process's connection is closed at once; a machine without power closes none. A leader that is cut off
//! keeps the lock until the server ends its session: [`SessionLock`] models a server that never does,
//! [`EndedSession`] one that does so at the moment of the cut.

use tenure_core::Config;

use super::super::algorithm::{Session, Visit};
use super::model::{Ask, Model, Told, Want};
use super::pace::{Pace, Timer};
use super::{ordinal, retry};
use crate::trace::Kept;

/// The lock of a server that waits for those that are cut off.
#[derive(Clone, Debug)]
pub(crate) struct SessionLock;

/// The lock of a server that ends the session of a candidate that is cut off.
#[derive(Clone, Debug)]
pub(crate) struct EndedSession;

#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    holder: Option<Session>,
    token: u64,
    /// Those that the server has ended, and that have not been told.
    ended: Vec<Session>,
}

impl Store {
    fn serve(&mut self, at: Visit, ask: Ask) -> Told {
        if let Some(place) = self.ended.iter().position(|session| *session == at.session) {
            self.ended.swap_remove(place);
            return Told::Broken;
        }
        if ask.server.is_some_and(|server| server != at.server) {
            return Told::Broken;
        }
        match (ask.want, self.holder) {
            (Want::Take | Want::Keep, None) => {
                self.holder = Some(at.session);
                self.token = ordinal(self.token, at);
                Told::Yours { token: self.token }
            }
            (Want::Keep, Some(holder)) if holder == at.session => Told::StillYours,
            // A session may lock what it holds once more.
            (Want::Take, Some(holder)) if holder == at.session => Told::Yours { token: self.token },
            (Want::GiveBack, Some(holder)) if holder == at.session => {
                self.holder = None;
                Told::Done
            }
            (Want::Take | Want::Keep, Some(_)) | (Want::GiveBack | Want::Tidy, _) => Told::NotYours,
        }
    }

    fn disconnected(&mut self, session: Session) {
        self.holder = self.holder.filter(|holder| *holder != session);
    }
}

fn pace(config: &Config) -> Pace {
    Pace { is_of_a_connection: true, ..Pace::steady(Timer::AfterReply(retry(config))) }
}

impl Model for SessionLock {
    type Store = Store;

    fn pace(config: &Config) -> Pace {
        pace(config)
    }

    fn serve(store: &mut Store, at: Visit, ask: Ask) -> Told {
        store.serve(at, ask)
    }

    fn kept(_: &Store) -> Option<Kept> {
        None
    }

    fn disconnected(store: &mut Store, session: Session) {
        store.disconnected(session);
    }
}

impl Model for EndedSession {
    type Store = Store;

    fn pace(config: &Config) -> Pace {
        pace(config)
    }

    fn serve(store: &mut Store, at: Visit, ask: Ask) -> Told {
        store.serve(at, ask)
    }

    fn kept(_: &Store) -> Option<Kept> {
        None
    }

    fn disconnected(store: &mut Store, session: Session) {
        store.disconnected(session);
    }

    fn cut_off(store: &mut Store, session: Session) {
        store.disconnected(session);
        store.ended.push(session);
    }
}
