//! Requests whose outcome is unknown.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// A request failed: its outcome is *unknown*. The kind serves people and logs; the election treats
/// all of them alike. Never shows a URL or a password.
#[derive(Clone, Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    detail: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// What went wrong, as far as the client can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// No reply within the request timeout.
    Timeout,
    /// No connection could be opened.
    Unreachable,
    /// The connection broke.
    Disconnected,
    /// No encrypted connection came about: the server offers none, or its certificate or ours is refused.
    Tls,
    /// The server does not accept the credentials, or asks for some.
    Authentication,
    /// The server accepts no writes: a replica, or a primary that was demoted.
    NotPrimary,
    /// The server may evict records when memory runs short, and a lease must never vanish.
    Evicting,
    /// The server may lose what it has acknowledged.
    NotDurable,
    /// The user lacks a right.
    Permission,
    /// The database, or what elections are kept in there, does not exist.
    Missing,
    /// The server, or what elections are kept in there, has a version that this store does not know.
    UnsupportedVersion,
    /// Something else is stored where the election's record should be, or the record is damaged.
    BadRecord,
    /// The server answered something that no version of it is known to answer.
    UnexpectedReply,
    /// The store's cluster has no leader, or changed it meanwhile, so that nobody vouches for an answer.
    NoLeader,
    /// The server has no room left for anything new.
    Full,
    /// The store can't keep a lease of that length.
    Ttl,
    /// The store has no such thing.
    Unsupported,
    /// The store needs a session of its own at the server, and something in between shares it with others.
    Pooler,
    /// The server refused for another reason.
    Refused,
}

impl StoreErrorKind {
    /// What an operator should know.
    const fn explanation(self) -> &'static str {
        match self {
            Self::Timeout => "no reply within the request timeout",
            Self::Unreachable => "the store can't be reached",
            Self::Disconnected => "the connection to the store broke",
            Self::Tls => "no encrypted connection to the store",
            Self::Authentication => "the store does not accept the credentials",
            Self::NotPrimary => "the server is not a primary",
            Self::Evicting => {
                "the server may evict records (set maxmemory-policy to noeviction or volatile-*)"
            }
            Self::NotDurable => "the server may lose what it has acknowledged",
            Self::Permission => "the user lacks a right",
            Self::Missing => "what elections are kept in does not exist",
            Self::UnsupportedVersion => "the version is not supported",
            Self::BadRecord => "the election's record is damaged or something else",
            Self::UnexpectedReply => "the store gave an unexpected reply",
            Self::NoLeader => "the store's cluster has no leader just now",
            Self::Full => "the server's storage is full",
            Self::Ttl => "the store can't keep a lease of that length",
            Self::Unsupported => "the store has no such thing",
            Self::Pooler => "the connection goes through a pooler",
            Self::Refused => "the store refused the request",
        }
    }
}

impl StoreError {
    /// An error of that kind; `detail` names the value at fault, and no secret. What a server said may
    /// be part of it: it is cut after 500 bytes, and control characters are escaped, lest it flood or
    /// forge a log.
    pub fn new(kind: StoreErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: tame(detail.into()), source: None }
    }

    /// What a store without messages answers to [`Request::Notify`](super::Request).
    #[cfg(any(feature = "etcd", feature = "sqlite"))]
    pub(super) fn no_messages(store: &'static str) -> Self {
        Self::new(StoreErrorKind::Unsupported, format!("{store} brings no messages"))
    }

    /// Adds the error that caused this one.
    #[must_use]
    pub fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }
}

/// The most bytes of a detail, before "...".
const DETAIL_MOST: usize = 500;

fn tame(detail: String) -> String {
    if detail.len() <= DETAIL_MOST && !detail.contains(char::is_control) {
        return detail;
    }
    let mut tamed = String::with_capacity(DETAIL_MOST);
    for character in detail.chars() {
        let before = tamed.len();
        if character.is_control() {
            tamed.extend(character.escape_default());
        } else {
            tamed.push(character);
        }
        if tamed.len() > DETAIL_MOST {
            tamed.truncate(before);
            tamed.push_str("...");
            break;
        }
    }
    tamed
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.explanation())?;
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| &**source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail(said: &str) -> String {
        StoreError::new(StoreErrorKind::Refused, said).detail
    }

    #[test]
    fn what_a_server_says_is_kept_as_it_is_if_it_can_be() {
        let most = "ä".repeat(DETAIL_MOST / 2);
        assert_eq!(detail(&most), most);
        assert_eq!(detail("ERR no"), "ERR no");
    }

    #[test]
    fn what_a_server_says_is_cut_between_characters() {
        let cut = format!("a{}...", "ä".repeat(DETAIL_MOST / 2 - 1));
        assert_eq!(detail(&format!("a{}", "ä".repeat(9 * DETAIL_MOST))), cut);
    }

    #[test]
    fn what_a_server_says_makes_no_lines_of_a_log() {
        assert_eq!(detail("no\r\nleader: me\u{1b}[31m"), "no\\r\\nleader: me\\u{1b}[31m");
        let cut = detail(&"\n".repeat(DETAIL_MOST));
        assert_eq!(cut, format!("{}...", "\\n".repeat(DETAIL_MOST / 2)));
    }
}
