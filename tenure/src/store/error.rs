//! Requests whose outcome is unknown.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::error::Error;
use std::fmt::{self, Write};
use std::sync::Arc;

use super::hidden;

/// A request failed: its outcome is *unknown*. The kind is for people and logs; the election treats
/// all kinds alike. Never shows a URL or a password.
#[derive(Clone)]
pub struct StoreError {
    kind: StoreErrorKind,
    detail: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// A kind of error, as far as the client can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// No reply within the request timeout.
    Timeout,
    /// No connection could be opened.
    Unreachable,
    /// The connection broke.
    Disconnected,
    /// No encrypted connection could be made: the server offers none, or its certificate or ours is
    /// refused.
    Tls,
    /// The server does not accept the credentials, or needs some.
    Authentication,
    /// The file or the [provider](super::CredentialsProvider) that has the credentials gave none.
    NoCredentials,
    /// The server accepts no writes: a replica, or a primary that was demoted.
    NotPrimary,
    /// The server may evict records when memory runs short, and a lease must never vanish.
    Evicting,
    /// The server may lose what it has acknowledged.
    NotDurable,
    /// The server does not report what a grant depends on, such as its identity, by which a loss of
    /// its data is noticed.
    Withheld,
    /// The user lacks a right.
    Permission,
    /// The database, or the table or primary that keeps elections, does not exist.
    Missing,
    /// The server, or its tables and functions, has a version that this store does not know.
    UnsupportedVersion,
    /// Something else is stored where the election's record should be, or the record is damaged.
    BadRecord,
    /// The server gave a reply that no known version of it gives.
    UnexpectedReply,
    /// The store's cluster has no leader, or changed it meanwhile, so that no majority confirms a
    /// reply.
    NoLeader,
    /// The server has no room left for anything new.
    Full,
    /// The store can't keep a lease of that length.
    Ttl,
    /// The store does not support the request.
    Unsupported,
    /// The store needs a session or a stream of its own at the server, and a pooler or a proxy in
    /// between shares it with others.
    Pooler,
    /// Other sessions have kept the election's record locked for longer than the store waits.
    Locked,
    /// The server refused for another reason.
    Refused,
}

impl StoreErrorKind {
    /// The kind in words, for operators.
    const fn explanation(self) -> &'static str {
        match self {
            Self::Timeout => "no reply within the request timeout",
            Self::Unreachable => "the store can't be reached",
            Self::Disconnected => "the connection to the store broke",
            Self::Tls => "no encrypted connection to the store",
            Self::Authentication => "the store does not accept the credentials",
            Self::NoCredentials => "there are no credentials for the store",
            Self::NotPrimary => "the server is not a primary",
            Self::Evicting => {
                "the server may evict records (set maxmemory-policy to noeviction or volatile-*)"
            }
            Self::NotDurable => "the server may lose what it has acknowledged",
            Self::Withheld => "the server does not report what a grant depends on",
            Self::Permission => "the user lacks a right",
            Self::Missing => "what elections are kept in does not exist",
            Self::UnsupportedVersion => "the version is not supported",
            Self::BadRecord => "the election's record is damaged or something else",
            Self::UnexpectedReply => "the store gave an unexpected reply",
            Self::NoLeader => "the store's cluster has no leader just now",
            Self::Full => "the server's storage is full",
            Self::Ttl => "the store can't keep a lease of that length",
            Self::Unsupported => "the store does not support this",
            Self::Pooler => "the connection goes through a pooler or a proxy",
            Self::Locked => "the election's record is locked by others",
            Self::Refused => "the store refused the request",
        }
    }
}

impl fmt::Display for StoreErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.explanation())
    }
}

impl StoreError {
    /// An error of that kind; `detail` names the value at fault, and no secret. It may contain text
    /// of a server: it is cut after 500 bytes, and control characters are escaped, so that it can't
    /// flood or forge a log; a password of 4 or more characters that a store has sent is replaced
    /// by `***`.
    pub fn new(kind: StoreErrorKind, detail: impl Into<String>) -> Self {
        Self::showing(kind, detail.into())
    }

    /// The same for a value that is only formatted up to the limit.
    pub(super) fn showing(kind: StoreErrorKind, detail: impl fmt::Display) -> Self {
        Self { kind, detail: sanitized(detail, DETAIL_MOST), source: None }
    }

    /// No handshake happens in such a build.
    #[cfg(all(feature = "redis-without-tls", not(feature = "tls")))]
    pub(super) fn of_handshake(error: std::io::Error) -> Self {
        Self::showing(StoreErrorKind::Tls, error)
    }

    /// No error of such a build is about TLS.
    #[cfg(all(feature = "redis-without-tls", not(feature = "tls")))]
    pub(super) fn about_tls(_: &(dyn Error + 'static)) -> Option<Self> {
        None
    }

    /// The error of a store without messages on [`Request::Notify`](super::Request).
    #[cfg(any(feature = "cas", feature = "etcd", feature = "sqlite"))]
    pub(super) fn no_messages(store: &'static str) -> Self {
        Self::new(StoreErrorKind::Unsupported, format!("{store} has no messages"))
    }

    /// The error of a store that can't [delete records](super::Store::purge).
    pub(super) fn no_purge(store: &'static str) -> Self {
        Self::new(StoreErrorKind::Unsupported, format!("{store} deletes no records"))
    }

    /// The error of a store that can't [list elections](super::Store::keys).
    pub(super) fn no_keys(store: &'static str) -> Self {
        Self::new(StoreErrorKind::Unsupported, format!("{store} lists no elections"))
    }

    /// Adds the error that caused this one. If its text, or that of one of its sources, is longer
    /// than 500 bytes, or has control characters or a password that a store has sent, only a text
    /// that is cut, escaped and masked is kept of them.
    #[must_use]
    pub fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(if is_plain(&source) {
            Arc::new(source)
        } else {
            Arc::new(Sanitized(sanitized(&source, DETAIL_MOST)))
        });
        self
    }

    /// The error and its causes in one text, for logs. A cause that the text has already is left
    /// out.
    pub(crate) fn with_causes(&self) -> String {
        let (mut text, mut next) = (self.to_string(), self.source());
        while let Some(cause) = next {
            let said = cause.to_string();
            if !text.contains(&said) {
                text = format!("{text}: {said}");
            }
            next = cause.source();
        }
        text
    }

    /// The error's kind.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }
}

/// The most bytes of a detail, before "...".
const DETAIL_MOST: usize = 500;

/// The text of a value from outside, fit for a log: passwords that stores have sent are replaced by
/// `***`, control characters are escaped, and a text of more than `most` bytes is cut and ends with
/// "...". No more than that and one password is ever kept in memory.
pub(crate) fn sanitized(shown: impl fmt::Display, most: usize) -> String {
    let hidden = hidden::all();
    let mut hidden: Vec<_> = hidden.iter().flat_map(|text| forms((**text).as_ref())).collect();
    // One may be a part of another.
    hidden.sort_by_key(|text| Reverse(text.len()));
    let longest = hidden.first().map_or(0, |text| text.len());
    let mut sanitizer = Sanitizer { text: String::new(), most: most + longest };
    let is_whole = write!(sanitizer, "{shown}").is_ok();
    let mut text = sanitizer.text;
    for hidden in &hidden {
        if text.contains(&**hidden) {
            text = text.replace(&**hidden, "***");
        }
    }
    if is_whole && text.len() <= most {
        return text;
    }
    // The end of what was read may be the beginning of a password.
    let read = if is_whole { text.len() } else { text.len().saturating_sub(longest) };
    let mut kept = read.min(most);
    while !text.is_char_boundary(kept) {
        kept -= 1;
    }
    text.truncate(kept);
    text.push_str("...");
    text
}

/// The forms of a password in a sanitized text: as it is, or quoted as by `Debug` or in JSON, twice
/// where an error quotes another one.
fn forms(password: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let quoted = std::iter::successors(Some(Cow::from(password)), |form| {
        let differs = form.contains(['"', '\\']);
        differs.then(|| form.replace('\\', r"\\").replace('"', r#"\""#).into())
    });
    quoted.take(3).map(escaped)
}

/// The text in its sanitized form.
fn escaped(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains(needs_escape) {
        return text;
    }
    let mut sanitizer = Sanitizer { text: String::new(), most: usize::MAX };
    // Without a limit it can't fail.
    let _ = sanitizer.write_str(&text);
    sanitizer.text.into()
}

/// Escapes a text, and fails at its limit.
struct Sanitizer {
    text: String,
    most: usize,
}

impl fmt::Write for Sanitizer {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        for character in part.chars() {
            let before = self.text.len();
            if needs_escape(character) {
                self.text.extend(character.escape_default());
            } else {
                self.text.push(character);
            }
            if self.text.len() > self.most {
                self.text.truncate(before);
                return Err(fmt::Error);
            }
        }
        Ok(())
    }
}

/// True if a character breaks a line, moves a terminal's cursor, or reverses the text after it.
fn needs_escape(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{061c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// True if an error and all its sources can be shown as they are.
fn is_plain(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let fit = sanitized(error, DETAIL_MOST);
        let mut same = Same(&fit);
        if write!(same, "{error}").is_err() || !same.0.is_empty() {
            return false;
        }
        next = error.source();
    }
    true
}

/// Fails on text that is not this one.
struct Same<'a>(&'a str);

impl fmt::Write for Same<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(part).ok_or(fmt::Error)?;
        Ok(())
    }
}

/// The text of an error that can't be shown as it is.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Sanitized(String);

impl fmt::Debug for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, detail, source } = self;
        // A source's Debug escapes control characters, and has no limit.
        let source =
            source.as_ref().map(|source| sanitized(format_args!("{source:?}"), 2 * DETAIL_MOST));
        let mut shown = f.debug_struct("StoreError");
        shown.field("kind", kind).field("detail", detail);
        shown.field("source", &source.map(Shown)).finish()
    }
}

/// A text that is shown for a value's `Debug`.
struct Shown(String);

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
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
    fn short_printable_texts_are_kept() {
        let most = "ä".repeat(DETAIL_MOST / 2);
        assert_eq!(detail(&most), most);
        assert_eq!(detail("ERR no"), "ERR no");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let cut = format!("a{}...", "ä".repeat(DETAIL_MOST / 2 - 1));
        assert_eq!(detail(&format!("a{}", "ä".repeat(9 * DETAIL_MOST))), cut);
    }

    #[test]
    fn sources_are_sanitized_too() {
        #[derive(Debug, thiserror::Error)]
        #[error("{0}")]
        struct Cause(String, #[source] Option<Box<Cause>>);

        let caused = |said: &str| {
            let error = Cause("no".into(), Some(Box::new(Cause(said.into(), None))));
            StoreError::new(StoreErrorKind::Refused, "").with_source(error)
        };
        let kept = caused("it is late");
        assert!(kept.source().unwrap().is::<Cause>());
        for unsafe_text in ["a\nleader: me", "a\u{202e}b", &"x".repeat(3_000_000)] {
            let error = caused(unsafe_text);
            let source = error.source().unwrap();
            assert!(!source.is::<Cause>() && source.source().is_none());
            let shown = format!("{error} {error:?} {source} {source:?}");
            assert!(shown.len() < 2000 && !shown.contains(needs_escape), "{shown}");
        }
    }

    #[test]
    fn a_log_shows_each_cause_once() {
        let refused = std::io::Error::other("connection refused");
        let error = StoreError::new(StoreErrorKind::Unreachable, "h:1").with_source(refused);
        let outer =
            StoreError::new(StoreErrorKind::NoLeader, "no majority").with_source(error.clone());
        assert_eq!(error.with_causes(), "the store can't be reached: h:1: connection refused");
        assert_eq!(
            outer.with_causes(),
            "the store's cluster has no leader just now: no majority: the store can't be reached: h:1: \
             connection refused"
        );
        let said = StoreError::new(StoreErrorKind::Tls, "expired")
            .with_source(std::io::Error::other("expired"));
        assert_eq!(said.with_causes(), "no encrypted connection to the store: expired");
    }

    #[test]
    fn endless_texts_are_cut() {
        struct Endless;
        impl fmt::Display for Endless {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                loop {
                    f.write_str("and so on ")?;
                }
            }
        }
        let error = StoreError::showing(StoreErrorKind::Refused, Endless);
        assert_eq!(error.detail.len(), DETAIL_MOST + 3);
    }

    #[test]
    fn passwords_that_were_sent_are_hidden() {
        let hide = |text: &str| {
            let text: Arc<hidden::Text> = Arc::new(text.to_owned());
            hidden::hide(Arc::downgrade(&text));
            text
        };
        let kept = ["hunter2", "hunter2-and\nmore", "abc"].map(hide);
        assert_eq!(detail("of hunter2 and abc, 'hunter2-and\nmore'"), "of *** and abc, '***'");
        for before in DETAIL_MOST - 20..=DETAIL_MOST + 20 {
            let after = "y".repeat(before % 2 * 50);
            let shown = detail(&format!("{}hunter2-and\nmore{after}", "x".repeat(before)));
            assert!(!shown.contains("hun") && shown.len() <= DETAIL_MOST + 3, "{shown}");
        }
        let caused = || std::io::Error::other("no hunter2 here");
        let error = StoreError::new(StoreErrorKind::Refused, "").with_source(caused());
        let shown = format!("{error:?} {}", error.with_causes());
        assert!(!shown.contains("hunter2") && shown.contains("no *** here"), "{shown}");
        drop(kept);
        assert_eq!(detail("of hunter2"), "of hunter2");
    }

    /// A library's error may quote another one.
    #[test]
    fn passwords_that_are_quoted_are_hidden() {
        let password: Arc<hidden::Text> = Arc::new(r#"hun"ter\2"#.to_owned());
        hidden::hide(Arc::downgrade(&password));
        let plain = (*password).as_ref();
        let quoted = format!("of {plain:?}");
        for said in [plain, &quoted, &format!("{quoted:?}")] {
            let shown = detail(said);
            assert!(shown.contains("***") && !shown.contains("hun"), "{shown}");
        }
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(detail("no\r\nleader: me\u{1b}[31m"), "no\\r\\nleader: me\\u{1b}[31m");
        let cut = detail(&"\n".repeat(DETAIL_MOST));
        // A password that another test hides meanwhile may move the cut.
        let least = "\\n".repeat(DETAIL_MOST / 2 - 1);
        assert!(cut.starts_with(&least) && cut.ends_with("..."), "{cut}");
    }
}
