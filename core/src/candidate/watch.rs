//! A candidate's watches: the lease of another candidate, and the store's past.
//!
//! A watch begins with the input that first told what is watched, never earlier, and counts by the
//! candidate's own clock. Only answers count as sights.

use core::time::Duration;

use crate::config::Config;
use crate::contract::Record;
use crate::id::{Stamp, Token};
use crate::record::Mark;
use crate::request::{Loss, Sight, UnwatchedPast, WatchedStamp};
use crate::time::{Instant, Span};

/// A lease that the candidate waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LeaseWatch {
    mark: Mark,
    released: bool,
    since: Instant,
    demand: Span,
    /// The priority delay, after the demand.
    defer: Span,
    /// The expected time of the next renewal.
    renews_at: Instant,
}

impl LeaseWatch {
    /// A watch that begins with an answer that showed this record.
    pub(super) fn new(
        record: &Record,
        since: Instant,
        demand: Duration,
        defer: Duration,
        renews_at: Instant,
    ) -> Self {
        let (demand, defer) = (Span::of(demand), Span::of(defer));
        Self { mark: record.mark(), released: record.released, since, demand, defer, renews_at }
    }

    /// The same, if the record was watched before. A mark that was newly released is watched anew,
    /// since a lease that is kept for another one is kept from then on.
    pub(super) fn continues(self, before: Option<Self>) -> Self {
        match before.filter(|before| self.shows_what(Some(*before))) {
            Some(Self { since, renews_at, .. }) => Self { since, renews_at, ..self },
            None => self,
        }
    }

    pub(super) fn shows_what(&self, before: Option<Self>) -> bool {
        before.is_some_and(|before| before.mark == self.mark && before.released == self.released)
    }

    /// From this instant on, the lease may be taken if it stays as it is.
    pub(super) fn ready(&self) -> Instant {
        self.since + self.demand.get()
    }

    pub(super) const fn defer(&self) -> Duration {
        self.defer.get()
    }

    pub(super) const fn mark(&self) -> Mark {
        self.mark
    }

    pub(super) const fn renews_at(&self) -> Instant {
        self.renews_at
    }

    pub(super) const fn begin_anew(&mut self, now: Instant) {
        self.since = now;
    }
}

/// An answer's statement about the past.
#[derive(Clone, Copy)]
pub(super) struct Answer {
    pub(super) last: Option<Token>,
    pub(super) past: Option<UnwatchedPast>,
    pub(super) to_acquire: bool,
}

impl Answer {
    pub(super) const fn of(sight: &Sight, to_acquire: bool) -> Self {
        Self { last: sight.last, past: sight.past, to_acquire }
    }

    /// A grant: there is nothing to watch.
    pub(super) const fn granted(token: Token) -> Self {
        Self { last: Some(token), past: None, to_acquire: true }
    }
}

/// The store's past: a store that may have lost grants, or has lost one that the candidate knows
/// of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PastWatch {
    /// The stamp that was told last.
    stamp: Option<Stamp>,
    /// True if the last answer told it: nobody has watched it for as long as this candidate must.
    told: bool,
    longest: Span,
    /// The store knew less than the candidate, when it last answered.
    loss: Option<Loss>,
    /// The loss was noticed by an answer that told no stamp: the store does not know of it.
    unreported: bool,
    since: Instant,
}

impl PastWatch {
    pub(super) const NONE: Self = Self {
        stamp: None,
        told: false,
        longest: Span::ZERO,
        loss: None,
        unreported: false,
        since: Instant::ORIGIN,
    };

    /// Takes in what an answer told of the past, and its last token. Says whether the watch begins
    /// with it.
    ///
    /// An acquire of a candidate that knows more than the store has told the store of the loss.
    pub(super) fn take_in(&mut self, now: Instant, seen: Option<Token>, answer: &Answer) -> bool {
        let Answer { last, past, to_acquire } = *answer;
        let begins = self.is_told(now, past);
        let loss = (last < seen).then_some(Loss { last });
        let is_news = loss.is_some() && self.loss != loss;
        self.loss = loss;
        if is_news {
            self.since = now;
        }
        self.unreported =
            !self.told && !to_acquire && (is_news || self.unreported && loss.is_some());
        begins || is_news
    }

    /// The same of an answer to a leader. Says whether the stamp is new.
    pub(super) fn is_told(&mut self, now: Instant, past: Option<UnwatchedPast>) -> bool {
        self.told = past.is_some();
        let Some(UnwatchedPast { stamp, longest }) = past else { return false };
        self.longest = Span::of(longest);
        let is_new = self.stamp != Some(stamp);
        if is_new {
            (self.stamp, self.since) = (Some(stamp), now);
        }
        is_new
    }

    /// From when on the candidate may be granted a lease; `None` if there is nothing to wait for.
    ///
    /// A loss is watched out by the candidate itself, whatever others have watched.
    pub(super) fn ready(&self, config: &Config) -> Option<Instant> {
        let waits = self.told || self.loss.is_some();
        waits.then(|| self.since + config.quarantine().max(self.longest.get()))
    }

    pub(super) fn is_settled(&self, config: &Config, now: Instant) -> bool {
        self.ready(config).is_none_or(|ready| now >= ready)
    }

    /// True if the next request must tell the store of a loss, by an acquire that knows more than
    /// it does.
    pub(super) const fn is_unreported(&self) -> bool {
        self.unreported
    }

    /// The loss that an acquire may report.
    pub(super) fn lost(&self, config: &Config, now: Instant) -> Option<Loss> {
        self.loss.filter(|_| self.is_settled(config, now))
    }

    /// A request's report of the watched stamp; `None` once any watch of it was long enough.
    pub(super) fn watched(&self, now: Instant) -> Option<WatchedStamp> {
        self.stamp
            .filter(|_| self.told)
            .map(|stamp| WatchedStamp { stamp, time: now.since(self.since) })
    }

    pub(super) const fn begin_anew(&mut self, now: Instant) {
        self.since = now;
    }
}
