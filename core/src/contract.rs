//! The store contract as code: what a store keeps for an election, and what it answers.
//!
//! Each function here is one atomic step at the store. The memory store and the simulators run it;
//! adapters that speak to a server are compared with it. Candidates' names and metadata are left to
//! the caller: no decision depends on them.
//!
//! > A candidate may take what it has watched, unchanged, for as long as it must. The store only compares.
//!
//! No decision rests on the store's clock: a candidate waits by its own clock, and the store
//! grants only if what was watched still stands.

pub mod server_ends;

use core::time::Duration;

use crate::id::{HolderId, RequestId, Stamp, Token};
pub use crate::record::Record;
use crate::record::{Asked, Mark, Reservation, Wish};
use crate::request::{Acquire, Loss, Reply, Request, Sight, UnwatchedPast, WatchedStamp};
use crate::time::Instant;

/// The watched time of a past that was trusted from the beginning.
pub const FOREVER: Duration = Duration::from_micros(1 << 52);
/// The largest reading of a store's clock that tokens follow, in microseconds: a clock beyond it is
/// no clock.
const LARGEST_TIME: u64 = 1 << 52;

/// A store's knowledge of its own history, beside all elections of one prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Past {
    /// The server that it is about; another one may have lost grants.
    pub identity: u128,
    /// The stamp of this past.
    pub stamp: Stamp,
    /// The longest time for which one candidate has watched this stamp.
    pub watched: Duration,
    /// The longest TTL that was granted under the prefix. It outlives its server where records do.
    pub longest: Duration,
    /// The highest token among the records that were purged.
    pub purged: Option<Token>,
}

impl Past {
    /// The time that a candidate of that quarantine must watch the stamp before it may be granted
    /// anything.
    fn demands(&self, quarantine: Duration) -> Duration {
        quarantine.max(self.longest)
    }

    fn stamped(&mut self, stamp: Stamp) {
        (self.stamp, self.watched) = (stamp, Duration::ZERO);
    }
}

/// The circumstances of one step at the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Moment {
    /// The store's clock, which counts from 1970. New tokens are at least its microseconds, so that
    /// they keep increasing even if every record was lost. Nothing else depends on it.
    pub now: Instant,
    /// The server's identity: it changes whenever acknowledged writes may have been lost.
    pub identity: u128,
    /// A stamp that was never given before: random, or made of what no other request has in common
    /// with this one.
    pub fresh: Stamp,
    /// True if this is the first request over its connection. While a connection lasts, the server
    /// behind it is the same. A store that has no connections says that each request is the first.
    pub first: bool,
    /// Treat a store that has never seen the prefix as one that has lost nothing. For tests and
    /// throw-away servers only: it gives up promise G6 for the loss of a whole store.
    pub trust_empty_store: bool,
}

/// Carries out one request on an election's record and its prefix's past.
///
/// Not guaranteed: that the reply reaches its candidate. The step has happened all the same.
pub fn apply(
    record: &mut Option<Record>,
    past: &mut Option<Past>,
    at: Moment,
    request: Request,
) -> Reply {
    if let Request::Acquire(acquire) = request {
        return Step { record, past, at }.acquire(acquire);
    }
    let mut step = Step { record, past, at };
    if at.first {
        step.examine(false);
    }
    match request {
        Request::Acquire(acquire) => step.acquire(acquire),
        Request::Look { quarantine, .. } => Reply::At(step.sight(quarantine)),
        Request::Renew { holder, token, number, stamp } => step.renew(holder, token, number, stamp),
        Request::Release { holder, token, reservation } => step.release(holder, token, reservation),
        Request::Ask { token, asked, quarantine, .. } => {
            step.ask(token, asked);
            Reply::At(step.sight(quarantine))
        }
        Request::Want { token, wish } => step.want(token, wish),
        Request::Purge { mark, watched } => step.purge(mark, watched),
    }
}

struct Step<'a> {
    record: &'a mut Option<Record>,
    past: &'a mut Option<Past>,
    at: Moment,
}

impl Step<'_> {
    /// The last token that is known of; of an election without a record, the highest that was
    /// purged.
    fn last(&self) -> Option<Token> {
        self.record.map_or_else(|| self.purged(), |record| Some(record.token))
    }

    fn purged(&self) -> Option<Token> {
        self.past.and_then(|past| past.purged)
    }

    /// The record of a lease that was not given back.
    fn leased(&mut self, token: Token) -> Option<&mut Record> {
        self.record.as_mut().filter(|record| !record.released && record.token == token)
    }

    fn sight(&self, quarantine: Duration) -> Sight {
        let past = self.unwatched(quarantine);
        Sight { last: self.last(), record: *self.record, past, now: self.at.now }
    }

    fn unwatched(&self, quarantine: Duration) -> Option<UnwatchedPast> {
        let past = self.past.filter(|past| past.watched < past.demands(quarantine))?;
        Some(UnwatchedPast { stamp: past.stamp, longest: past.longest })
    }

    /// A server that the past does not name may have lost grants: the past is another one.
    fn examine(&mut self, trusts: bool) {
        let Moment { identity, fresh: stamp, .. } = self.at;
        match self.past {
            Some(past) if past.identity == identity => {}
            Some(past) => {
                past.identity = identity;
                past.stamped(stamp);
            }
            None => {
                let watched = if trusts { FOREVER } else { Duration::ZERO };
                let longest = Duration::ZERO;
                *self.past = Some(Past { identity, stamp, watched, longest, purged: None });
            }
        }
    }

    fn acquire(&mut self, asks: Acquire) -> Reply {
        let last = self.last();
        let mine = self.record.is_some_and(|lease| !lease.released && lease.holder == asks.holder);
        let grantable = mine || self.is_vacant(asks) || self.is_free(asks) || self.is_taken(asks);
        if self.at.first || grantable {
            self.examine(self.at.trust_empty_store && asks.seen <= last);
        }
        let lost_a_grant = asks.seen > last && asks.lost != Some(Loss { last });
        if lost_a_grant {
            // Only a past that was watched: otherwise two candidates would stamp each other away
            // for ever.
            if let Some(past) = self.past.as_mut().filter(|past| !past.watched.is_zero()) {
                past.stamped(self.at.fresh);
            }
        } else {
            self.note_watch(asks.stamp);
        }
        let settled = self.past.is_some() && self.unwatched(asks.quarantine).is_none();
        if lost_a_grant || !settled || !grantable {
            return Reply::Not(self.sight(asks.quarantine));
        }
        Reply::Granted { token: self.grant(asks, mine, last) }
    }

    /// An election without a record. A late duplicate has not seen the token that was purged.
    fn is_vacant(&self, asks: Acquire) -> bool {
        self.record.is_none() && asks.seen >= self.purged()
    }

    /// A lease that was given back to this candidate, by settings that agree. A late duplicate has
    /// not seen its token.
    fn is_free(&self, asks: Acquire) -> bool {
        self.record.is_some_and(|lease| {
            let kept = lease.reservation.is_some_and(|kept| kept.name != asks.name);
            let knows = asks.seen >= Some(lease.token);
            lease.released && !kept && knows && lease.agrees(asks.ttl, asks.quarantine)
        })
    }

    /// A lease whose mark the candidate has watched for as long as the record demands.
    fn is_taken(&self, asks: Acquire) -> bool {
        self.record.is_some_and(|lease| asks.mark == Some(lease.mark()))
    }

    /// The token of the lease that is granted, or that was granted to this candidate already.
    fn grant(&mut self, asks: Acquire, again: bool, last: Option<Token>) -> Token {
        if let Some(lease) = self.record.as_mut().filter(|_| again) {
            if asks.number > lease.number {
                (lease.number, lease.written) = (asks.number, self.at.now);
            }
            return lease.token;
        }
        let above = asks.seen.max(last).map_or(Token::FIRST, Token::next);
        let token = clock_token(self.at.now).map_or(above, |clock| clock.max(above));
        *self.record = Some(Record {
            token,
            holder: asks.holder,
            number: asks.number,
            released: false,
            reservation: None,
            ttl: asks.ttl,
            quarantine: asks.quarantine,
            wanted: None,
            asked: None,
            written: self.at.now,
        });
        if let Some(past) = self.past {
            past.longest = past.longest.max(asks.ttl);
        }
        token
    }

    /// A candidate has told for how long it has watched a stamp.
    fn note_watch(&mut self, watch: Option<WatchedStamp>) {
        if let (Some(past), Some(watch)) = (&mut *self.past, watch)
            && past.stamp == watch.stamp
        {
            past.watched = past.watched.max(watch.time);
        }
    }

    fn renew(
        &mut self,
        holder: HolderId,
        token: Token,
        number: RequestId,
        stamp: Option<WatchedStamp>,
    ) -> Reply {
        let now = self.at.now;
        let Some(lease) = self.leased(token).filter(|lease| lease.holder == holder) else {
            return Reply::Superseded { last: self.last() };
        };
        let Record { asked, wanted, quarantine, .. } = *lease;
        if number > lease.number {
            (lease.number, lease.asked, lease.written) = (number, None, now);
            self.note_watch(stamp);
        }
        Reply::Renewed { asked, wanted, past: self.unwatched(quarantine) }
    }

    fn release(
        &mut self,
        holder: HolderId,
        token: Token,
        reservation: Option<Reservation>,
    ) -> Reply {
        let Some(lease) = self.leased(token).filter(|lease| lease.holder == holder) else {
            return Reply::NotHeld;
        };
        (lease.released, lease.reservation) = (true, reservation);
        Reply::Released
    }

    /// Keeps a requested successor; otherwise the latest request replaces the one before.
    fn ask(&mut self, token: Token, asked: Asked) {
        if let Some(lease) = self.leased(token) {
            let wished = |one: Asked| lease.wanted.is_some_and(|wish| one.is_wished(wish));
            if !lease.asked.is_some_and(wished) {
                lease.asked = Some(asked);
            }
        }
    }

    fn want(&mut self, token: Token, wish: Option<Wish>) -> Reply {
        let Some(lease) = self.leased(token) else { return Reply::NotNoted };
        lease.wanted = wish;
        Reply::Noted
    }

    /// The past keeps the highest token that was deleted, so tokens rise also after the store's
    /// clock was set back, and a candidate that knows a deleted token does not prove a loss.
    fn purge(&mut self, mark: Mark, watched: bool) -> Reply {
        match (*self.record, &mut *self.past) {
            (Some(lease), Some(past)) if lease.mark() == mark && (lease.released || watched) => {
                past.purged = past.purged.max(Some(lease.token));
                *self.record = None;
                Reply::Purged
            }
            _ => Reply::Kept,
        }
    }
}

/// The store's clock in microseconds.
fn clock_token(now: Instant) -> Option<Token> {
    Token::new(now.as_nanos() / 1_000).filter(|token| token.get() <= LARGEST_TIME)
}
