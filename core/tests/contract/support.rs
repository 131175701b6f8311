//! A store whose clock, identity and data the tests set by hand.

use std::time::Duration;

use tenure_core::contract::{FOREVER, Moment, Past, Record};
use tenure_core::{
    Acquire, HolderId, Instant, Mark, NameId, Reply, Request, RequestId, Sight, Stamp, Token,
    WatchedStamp,
};

use crate::world::lines;

pub(crate) const TTL: Duration = Duration::from_secs(10);
pub(crate) const QUARANTINE: Duration = Duration::from_secs(12);
pub(crate) const ANNA: HolderId = HolderId::from_bits(0xa);
pub(crate) const BERT: HolderId = HolderId::from_bits(0xb);
pub(crate) const NOTHING: Duration = Duration::ZERO;

/// A store, and its clock in seconds; the tests set both.
pub(crate) struct Store {
    pub(crate) record: Option<Record>,
    pub(crate) past: Option<Past>,
    pub(crate) identity: u128,
    pub(crate) trusted: bool,
    pub(crate) first: bool,
    pub(crate) at: u64,
}

impl Store {
    /// Its past is watched, for as long as anybody must.
    pub(crate) fn whole() -> Self {
        let (stamp, watched) = (lines::fresh(), FOREVER);
        let past = Past { identity: 1, stamp, watched, longest: NOTHING, purged: None };
        Self { past: Some(past), ..Self::empty() }
    }

    /// Has never seen its prefix.
    pub(crate) fn empty() -> Self {
        Self { record: None, past: None, identity: 1, trusted: false, first: false, at: 1_000 }
    }

    pub(crate) fn at(&mut self, seconds_on_its_clock: u64) -> &mut Self {
        self.at = seconds_on_its_clock;
        self
    }

    pub(crate) fn ask(&mut self, request: Request) -> Reply {
        let moment = Moment {
            now: Instant::from_nanos(self.at * 1_000_000_000),
            identity: self.identity,
            fresh: lines::fresh(),
            first: self.first,
            trust_empty_store: self.trusted,
        };
        lines::step(&mut self.record, &mut self.past, moment, request, 1)
    }

    pub(crate) fn acquire(&mut self, acquire: Acquire) -> Reply {
        self.ask(Request::Acquire(acquire))
    }

    pub(crate) fn granted(&mut self, acquire: Acquire) -> Token {
        match self.acquire(acquire) {
            Reply::Granted { token } => token,
            refused => panic!("not granted: {refused:?}"),
        }
    }

    /// Nothing is granted.
    pub(crate) fn refused(&mut self, acquire: Acquire) -> Sight {
        let before = self.record;
        let Reply::Not(sight) = self.acquire(acquire) else { panic!("granted: {acquire:?}") };
        assert_eq!(self.record, before, "{acquire:?} left a trace");
        sight
    }

    pub(crate) fn renew(&mut self, holder: HolderId, token: Token, number: u64) -> Reply {
        self.ask(renew(holder, token, number))
    }

    pub(crate) fn release(&mut self, holder: HolderId, token: Token) -> Reply {
        self.ask(release(holder, token))
    }

    pub(crate) fn look(&mut self) -> Sight {
        match self.ask(Request::Look { seen: None, quarantine: QUARANTINE }) {
            Reply::At(sight) => sight,
            other => panic!("no answer to a look: {other:?}"),
        }
    }

    pub(crate) fn mark(&self) -> Mark {
        self.record.expect("granted before").mark()
    }

    /// Asks, and checks that nothing was written.
    pub(crate) fn refuses(&mut self, request: Request) -> Reply {
        let before = (self.record, self.past);
        let reply = self.ask(request);
        assert_eq!((self.record, self.past), before, "{request:?} left a trace");
        reply
    }

    /// The stamp, watched for so long.
    pub(crate) fn watched(&self, seconds: u64) -> Option<WatchedStamp> {
        let time = Duration::from_secs(seconds);
        self.past.map(|past| WatchedStamp { stamp: past.stamp, time })
    }

    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.past.map(|past| past.stamp)
    }
}

pub(crate) fn id(number: u64) -> RequestId {
    RequestId::new(number).expect("not zero")
}

/// The token of a first grant at that second: microseconds of the store's clock.
pub(crate) fn micros(seconds: u64) -> Token {
    Token::new(seconds * 1_000_000).expect("not zero")
}

pub(crate) fn release(holder: HolderId, token: Token) -> Request {
    Request::Release { holder, token, reservation: None }
}

pub(crate) fn renew(holder: HolderId, token: Token, number: u64) -> Request {
    Request::Renew { holder, token, number: id(number), stamp: None }
}

/// Request 1 of a holder, which has watched nothing.
pub(crate) fn by(holder: HolderId, seen: Option<Token>) -> Acquire {
    Acquire { seen, quarantine: QUARANTINE, ..Acquire::new(holder, id(1), TTL, name(holder)) }
}

/// Each holder has a name of its own.
pub(crate) fn name(holder: HolderId) -> NameId {
    NameId::from_bits(holder.to_bits() << 8)
}
