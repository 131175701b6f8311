//! A connection for requests, and what is known of the server behind it; and one for notifications.

use std::sync::atomic::AtomicBool;

use tokio_util::sync::CancellationToken;

use super::session::Session;
use super::statements::Statements;
use crate::store::slot::Connection;

/// A connection for requests.
pub(super) struct Live {
    pub(super) session: Session,
    /// The server's identity, which can't change while a session with a primary lasts.
    pub(super) identity: String,
    /// The process that has reported the identity.
    pub(super) backend: String,
    pub(super) statements: Statements,
    /// True if a request over it has compared the server with the past.
    pub(super) is_examined: AtomicBool,
}

impl Connection for Live {
    fn dead(&self) -> &CancellationToken {
        &self.session.dead
    }

    fn has_served(&self) -> bool {
        self.session.has_served()
    }

    fn is_wrong(&self) {
        self.session.is_wrong();
    }
}

/// A connection for notifications.
pub(super) struct Listening {
    pub(super) session: Session,
    /// True if it listens to wake-ups, and to messages.
    pub(super) hints: AtomicBool,
    pub(super) inboxes: AtomicBool,
}

impl Listening {
    pub(super) fn new(session: Session) -> Self {
        Self { session, hints: AtomicBool::new(false), inboxes: AtomicBool::new(false) }
    }
}

impl Connection for Listening {
    fn dead(&self) -> &CancellationToken {
        &self.session.dead
    }

    fn has_served(&self) -> bool {
        self.session.has_served()
    }

    fn is_wrong(&self) {
        self.session.is_wrong();
    }
}
