//! A store whose clock, identity and data the tests set by hand.

use std::time::Duration;
use tenure_core::contract::{History, Moment, Record, apply};
use tenure_core::{HolderId, Instant, Reply, Request, Token};

pub(crate) const TTL: Duration = Duration::from_secs(10);
pub(crate) const QUARANTINE: Duration = Duration::from_secs(12);
pub(crate) const ANNA: HolderId = HolderId::from_bits(0xa);
pub(crate) const BERT: HolderId = HolderId::from_bits(0xb);

/// A store, and its clock in seconds; the tests set both.
pub(crate) struct Store {
    pub(crate) record: Option<Record>,
    pub(crate) history: Option<History>,
    pub(crate) identity: u128,
    pub(crate) trusted: bool,
    pub(crate) compares: bool,
    pub(crate) at: Instant,
}

impl Store {
    /// Has known its prefix for longer than any quarantine.
    pub(crate) fn whole() -> Self {
        let known_since = Instant::ORIGIN;
        let longest_ttl = Duration::ZERO;
        let history = History { identity: 1, known_since, longest_ttl, purged: None };
        Self { history: Some(history), ..Self::empty() }
    }

    /// Has never seen its prefix.
    pub(crate) fn empty() -> Self {
        let at = seconds(1_000);
        Self { record: None, history: None, identity: 1, trusted: false, compares: false, at }
    }

    pub(crate) fn at(&mut self, seconds_on_its_clock: u64) -> &mut Self {
        self.at = seconds(seconds_on_its_clock);
        self
    }

    pub(crate) fn ask(&mut self, request: Request) -> Reply {
        let moment = Moment {
            now: self.at,
            identity: self.identity,
            trust_empty_store: self.trusted,
            compares_identity: self.compares,
        };
        apply(&mut self.record, &mut self.history, moment, request)
    }

    pub(crate) fn acquire(&mut self, holder: HolderId, seen: Option<Token>) -> Reply {
        self.ask(Request::Acquire { holder, seen, ttl: TTL, quarantine: QUARANTINE })
    }

    pub(crate) fn granted(&mut self, holder: HolderId, seen: Option<Token>) -> (Token, Duration) {
        match self.acquire(holder, seen) {
            Reply::Granted { token, wait } => (token, wait),
            refused => panic!("not granted: {refused:?}"),
        }
    }

    pub(crate) fn renew(&mut self, holder: HolderId, token: Token) -> Reply {
        self.ask(Request::Renew { holder, token, ttl: TTL })
    }

    pub(crate) fn release(&mut self, holder: HolderId, token: Token) -> Reply {
        self.ask(Request::Release { holder, token })
    }

    pub(crate) fn lease_end(&self) -> Instant {
        self.record.expect("granted before").lease_end
    }

    /// Asks, and checks that nothing was written.
    pub(crate) fn refuses(&mut self, request: Request) -> Reply {
        let before = (self.record, self.history);
        let reply = self.ask(request);
        assert_eq!((self.record, self.history), before, "{request:?} left a trace");
        reply
    }
}

pub(crate) const fn seconds(count: u64) -> Instant {
    Instant::from_nanos(count * 1_000_000_000)
}

/// The token of a first grant at that second: microseconds of the store's clock.
pub(crate) fn micros(seconds: u64) -> Token {
    Token::new(seconds * 1_000_000).expect("not zero")
}

pub(crate) fn release(holder: HolderId, token: Token) -> Request {
    Request::Release { holder, token }
}

pub(crate) fn renew(holder: HolderId, token: Token) -> Request {
    Request::Renew { holder, token, ttl: TTL }
}

pub(crate) fn acquire(holder: HolderId, seen: Option<Token>) -> Request {
    Request::Acquire { holder, seen, ttl: TTL, quarantine: QUARANTINE }
}
