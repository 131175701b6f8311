//! The store contract as code: what a store keeps for an election, and what it answers.
//!
//! Each function here is one atomic step at the store. The memory store and the simulators run it;
//! adapters that speak to a server are compared with it. Candidates' names and metadata are left to the
//! caller: no decision depends on them.
//!
//! The contract in one sentence: a lease is granted only when vacant and only to a candidate that
//! knows the last tenure; a lease is changed only by its own holder and token; and a candidate that is granted
//! a lease by a store that lost, or may have lost, its history waits until no older leader can be left.

use core::time::Duration;

use crate::alphabet::{Reply, Request};
use crate::id::{HolderId, Token};
use crate::time::Instant;

/// What a store keeps for one election. It has no expiry of its own: the token must outlive the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// The last tenure's token.
    pub token: Token,
    /// The last tenure's holder.
    pub holder: HolderId,
    /// When the lease ends, on the store's clock.
    pub lease_end: Instant,
    /// The TTL of the last grant or renewal: the most that can remain of this lease, whatever the
    /// store's clock does.
    pub ttl: Duration,
    /// The quarantine that the last tenure's candidate declared; `None` in a record from before that was
    /// kept.
    pub quarantine: Option<Duration>,
    /// The holder has given the lease back.
    pub released: bool,
}

impl Record {
    /// Whether the lease is live: it has neither been given back nor ended. Otherwise the election
    /// is vacant.
    pub fn is_live(&self, now: Instant) -> bool {
        !self.released && now < self.lease_end
    }

    /// What remains of a live lease.
    pub fn remaining(&self, now: Instant) -> Duration {
        self.lease_end.since(now).min(self.ttl)
    }

    /// Whether a candidate with these settings and one with the recorded settings would not wait for each
    /// other's leases after a loss of data. The recorded settings count for as long as a candidate with them
    /// may still ask for the lease: a waiting candidate asks at least once in its TTL.
    pub fn contradicts(&self, now: Instant, ttl: Duration, quarantine: Duration) -> bool {
        let binds = self.ttl.max(self.quarantine.unwrap_or_default());
        now < self.lease_end + binds
            && (quarantine < self.ttl || self.quarantine.is_some_and(|declared| declared < ttl))
    }

    /// Whether the record may be deleted: its lease ended longer ago than `age` and than its own settings bind others,
    /// and the store's time is above its token. A lease that was given back counts as if it had lasted until its end.
    fn is_outdated(&self, now: Instant, age: Duration) -> bool {
        let binds = self.ttl.max(self.quarantine.unwrap_or_default());
        self.lease_end + age.max(binds) < now && Some(self.token) < floor(now)
    }

    fn is_live_tenure(&self, now: Instant, holder: HolderId, token: Token) -> bool {
        self.is_live(now) && self.holder == holder && self.token == token
    }

    fn extend(&mut self, now: Instant, ttl: Duration) {
        self.lease_end = self.lease_end.max(now + ttl);
        self.ttl = ttl;
    }
}

/// What a store keeps beside all elections of one prefix: since when it knows, without a gap, which
/// leases it granted, and how long a lease may last that it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct History {
    /// The server that wrote this; another one may have lost grants.
    pub identity: u128,
    /// The first grant of that server, or the last one that found a part of its history gone; or, if a
    /// renewal came before any grant, that renewal plus the longest TTL.
    pub known_since: Instant,
    /// The longest TTL that was granted under the prefix. It outlives its server where records do.
    pub longest_ttl: Duration,
    /// The highest token among the records that were [purged](purge).
    pub purged: Option<Token>,
}

impl History {
    /// The history after a grant of that TTL.
    fn after_grant(found: Option<Self>, at: Moment, ttl: Duration, lost_a_grant: bool) -> Self {
        let known_since = match found {
            // A renewal may have set it to a time in the future. A grant never makes a candidate wait for
            // longer than one quarantine.
            Some(known) if known.identity == at.identity && !lost_a_grant => {
                known.known_since.min(at.now)
            }
            None if at.trust_empty_store && !lost_a_grant => Instant::ORIGIN,
            Some(_) | None => at.now,
        };
        let longest_ttl = Self::longest(found, ttl);
        Self { identity: at.identity, known_since, longest_ttl, purged: Self::purged(found) }
    }

    /// The history after a renewal of that TTL, which found a live lease at a server that the history does not
    /// name. The server before this one may still acknowledge requests of its own leaders until they learn
    /// of this one: the longest TTL is left for that.
    fn after_renewal(found: Option<Self>, at: Moment, ttl: Duration) -> Self {
        let longest_ttl = Self::longest(found, ttl);
        let known_since = at.now + longest_ttl;
        Self { identity: at.identity, known_since, longest_ttl, purged: Self::purged(found) }
    }

    fn longest(found: Option<Self>, ttl: Duration) -> Duration {
        found.map_or(ttl, |known| known.longest_ttl.max(ttl))
    }

    fn purged(found: Option<Self>) -> Option<Token> {
        found.and_then(|known| known.purged)
    }
}

/// The circumstances of one step at the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Moment {
    /// The store's clock, which counts from 1970. New tokens are at least its microseconds, so that
    /// they keep increasing even if every record was lost.
    pub now: Instant,
    /// The server's identity: it changes whenever acknowledged writes may have been lost.
    pub identity: u128,
    /// Treat a store that has never seen the prefix as one that has lost nothing. For tests and
    /// throw-away servers only: it gives up promise G6 for the loss of a whole store.
    pub trust_empty_store: bool,
    /// Whether a renewal compares the identity. A store has each renewal compare it until one was answered
    /// over the same connection: while a connection lasts, the server behind it is the same.
    pub compares_identity: bool,
}

/// Carries out one request on an election's record and its prefix's history.
///
/// Not guaranteed: that the reply reaches its candidate. The step has happened all the same.
pub fn apply(
    record: &mut Option<Record>,
    history: &mut Option<History>,
    at: Moment,
    request: Request,
) -> Reply {
    match request {
        Request::Acquire { holder, seen, ttl, quarantine } => {
            acquire(record, history, at, Acquire { holder, seen, ttl, quarantine })
        }
        Request::Renew { holder, token, ttl } => match record {
            Some(lease) if lease.is_live_tenure(at.now, holder, token) => {
                lease.extend(at.now, ttl);
                if at.compares_identity && history.is_none_or(|known| known.identity != at.identity)
                {
                    *history = Some(History::after_renewal(*history, at, ttl));
                }
                Reply::Renewed
            }
            Some(_) | None => Reply::Superseded { last: record.map(|lease| lease.token) },
        },
        Request::Release { holder, token } => match record {
            Some(lease) if lease.is_live_tenure(at.now, holder, token) => {
                lease.released = true;
                Reply::Released
            }
            Some(_) | None => Reply::NotHeld,
        },
    }
}

/// Deletes the record of an election, if its lease ended long ago; says whether it did. One atomic step, like a request.
///
/// "Long ago" is longer ago than `age`, than the longest TTL that the history remembers, and than the record's own TTL
/// and quarantine. The history keeps the highest token that was deleted: without a history, nothing is deleted. So for
/// an election without a record,
///
/// - the next token is above all that were ever deleted, also if the store's clock was set back, and
/// - a candidate that knows a deleted token does not prove a loss.
///
/// Not guaranteed: that a late duplicate of an acquire is refused. A record without a token is not [`Reply::Stale`] for
/// any candidate, so a duplicate that is delayed for longer than `age` may be granted the lease. No candidate learns
/// of that grant, and it ends after its TTL.
pub fn purge(
    record: &mut Option<Record>,
    history: &mut Option<History>,
    now: Instant,
    age: Duration,
) -> bool {
    let (Some(lease), Some(known)) = (&*record, history) else { return false };
    if !lease.is_outdated(now, age.max(known.longest_ttl)) {
        return false;
    }
    known.purged = known.purged.max(Some(lease.token));
    *record = None;
    true
}

/// The store's clock in microseconds: the least that a new token may be.
fn floor(now: Instant) -> Option<Token> {
    Token::new(now.as_nanos() / 1_000)
}

#[derive(Clone, Copy)]
struct Acquire {
    holder: HolderId,
    seen: Option<Token>,
    ttl: Duration,
    quarantine: Duration,
}

fn acquire(
    record: &mut Option<Record>,
    history: &mut Option<History>,
    at: Moment,
    request: Acquire,
) -> Reply {
    let Acquire { holder, seen, ttl, quarantine } = request;
    // The highest token of the election that the store knows; with no record, the highest of any that it has purged.
    let last = record.map_or(History::purged(*history), |lease| Some(lease.token));
    let token = match record {
        Some(lease) if lease.is_live(at.now) && lease.holder == holder => {
            lease.extend(at.now, ttl);
            lease.token
        }
        Some(lease) if lease.contradicts(at.now, ttl, quarantine) => {
            return Reply::Refused { ttl: lease.ttl, quarantine: lease.quarantine };
        }
        Some(lease) if lease.is_live(at.now) => {
            let remaining = lease.remaining(at.now);
            return Reply::Held { token: lease.token, remaining, ttl: lease.ttl };
        }
        Some(lease) if seen < Some(lease.token) => return Reply::Stale { last: lease.token },
        Some(_) | None => {
            let above = seen.max(last).map_or(Token::FIRST, Token::next);
            let floor = floor(at.now);
            let token = floor.map_or(above, |floor| floor.max(above));
            let (lease_end, quarantine) = (at.now + ttl, Some(quarantine));
            *record = Some(Record { token, holder, lease_end, ttl, quarantine, released: false });
            token
        }
    };
    let lost_a_grant = seen > last;
    let known = History::after_grant(*history, at, ttl, lost_a_grant);
    *history = Some(known);
    let quarantine = quarantine.max(known.longest_ttl);
    Reply::Granted { token, wait: (known.known_since + quarantine).since(at.now) }
}
