//! Random requests: of several holders, with old and wrong numbers, tokens, marks and stamps among
//! them.

use std::collections::VecDeque;
use std::time::Duration;

use tenure::store::{Profile, Request};
use tenure::{HolderId, Token};
use tenure_core::contract::{Past, Record};
use tenure_core::{
    Acquire, Asked, Loss, Mark, NameId, RequestId, Reservation, Stamp, WatchedStamp, Wish,
};

const NAMES: [&str; 3] = ["anna", "bert", "carl"];

/// The values in the requests to a store; times are in nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct Values {
    pub(crate) ttls: &'static [u64],
    /// Quarantines, reservations and delays.
    pub(crate) times: &'static [u64],
    /// The times for which a stamp was watched, besides none.
    pub(crate) watched: &'static [u64],
    /// Rare tokens: above those of a clock, or above what a store keeps exactly.
    pub(crate) tokens: &'static [u64],
    /// Rare numbers of requests.
    pub(crate) numbers: &'static [u64],
}

pub(crate) struct Draw {
    state: u64,
    values: Values,
    numbers: u64,
    holders: [u64; 4],
    marks: Vec<Mark>,
    stamps: Vec<Stamp>,
    tokens: Vec<Token>,
    /// The last acquires.
    sent: VecDeque<Request>,
}

impl Draw {
    pub(crate) fn new(seed: u64, values: Values) -> Self {
        let (marks, stamps, tokens, sent) = Default::default();
        let holders = [1, 2, 3, 4];
        Self { state: seed, values, numbers: 0, holders, marks, stamps, tokens, sent }
    }

    /// A number below a bound, by `SplitMix64`. Source: G. Steele, D. Lea, C. Flood, "Fast
    /// Splittable Pseudorandom Number Generators" (2014).
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ mixed >> 31) % bound as u64).unwrap()
    }

    pub(crate) fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    pub(crate) fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// One of the last few.
    fn late<T: Copy>(&mut self, values: &[T]) -> Option<T> {
        let recent = &values[values.len().saturating_sub(6)..];
        (!recent.is_empty()).then(|| self.of(recent))
    }

    /// Notes what later requests may name.
    pub(crate) fn notes(&mut self, record: Option<&Record>, past: Option<&Past>) {
        if let Some(record) = record {
            self.marks.push(record.mark());
            self.tokens.push(record.token);
        }
        self.stamps.extend(past.map(|past| past.stamp));
    }

    fn time(&mut self) -> Duration {
        Duration::from_nanos(self.of(self.values.times))
    }

    fn name(&mut self) -> &'static str {
        self.of(&NAMES)
    }

    fn name_id(&mut self) -> NameId {
        Profile::new(self.name(), "").unwrap().name_id()
    }

    /// A new number, or an old one.
    fn number(&mut self) -> RequestId {
        if !self.values.numbers.is_empty() && self.one_in(60) {
            return RequestId::new(self.of(self.values.numbers)).unwrap();
        }
        self.numbers += 1;
        let back = if self.one_in(5) { self.below(40) as u64 } else { 0 };
        RequestId::new(self.numbers.saturating_sub(back).max(1)).unwrap()
    }

    fn holder(&mut self) -> HolderId {
        let place = self.below(self.holders.len());
        if self.one_in(20) {
            self.numbers += 1;
            self.holders[place] = self.numbers << 8;
        }
        // In both halves, so that an order of bytes shows.
        let bits = u128::from(self.holders[place]);
        HolderId::from_bits(bits << 96 | bits)
    }

    fn token(&mut self, record: Option<&Record>) -> Token {
        if self.one_in(50) {
            return Token::new(self.of(self.values.tokens)).unwrap();
        }
        let old = self.tokens.clone();
        let old = self.late(&old).unwrap_or(Token::FIRST);
        record.map(|record| record.token).filter(|_| !self.one_in(4)).unwrap_or(old)
    }

    fn seen(&mut self, record: Option<&Record>) -> Option<Token> {
        match self.below(10) {
            0 => None,
            1 => Token::new(self.token(record).get() + 1 + self.below(3) as u64),
            _ => Some(self.token(record)),
        }
    }

    fn stamp(&mut self, past: Option<&Past>) -> Option<WatchedStamp> {
        let old = self.stamps.clone();
        let old = self.late(&old).unwrap_or(Stamp::from_bits(1));
        let stamp = past.map(|past| past.stamp).filter(|_| !self.one_in(4)).unwrap_or(old);
        let watched = self.of(self.values.watched);
        let time = if self.one_in(5) { Duration::ZERO } else { Duration::from_nanos(watched) };
        (!self.one_in(3)).then_some(WatchedStamp { stamp, time })
    }

    pub(crate) fn acquire(&mut self, record: Option<&Record>, past: Option<&Past>) -> Request {
        if self.one_in(8) && !self.sent.is_empty() {
            // A late duplicate.
            let place = self.below(self.sent.len());
            return self.sent[place].clone();
        }
        let request = self.new_acquire(record, past);
        self.sent.push_back(request.clone());
        if self.sent.len() > 8 {
            self.sent.pop_front();
        }
        request
    }

    fn new_acquire(&mut self, record: Option<&Record>, past: Option<&Past>) -> Request {
        let last = record.map_or(past.and_then(|past| past.purged), |record| Some(record.token));
        let loss = match self.below(4) {
            0 => None,
            1 => Some(Loss { last: Some(self.token(record)) }),
            _ => Some(Loss { last }),
        };
        let old = self.marks.clone();
        let old = self.late(&old);
        let mark = record.map(Record::mark).filter(|_| !self.one_in(3)).or(old);
        // One of the same holder.
        let mark = mark.map(|mark| match self.below(6) {
            0 => Mark { number: self.number(), ..mark },
            _ => mark,
        });
        let name = self.name();
        let profile = Profile::new(name, if self.one_in(2) { "" } else { "at 10.0.0.7" }).unwrap();
        let asks = Acquire {
            holder: self.holder(),
            number: self.number(),
            seen: self.seen(record),
            lost: loss,
            mark: mark.filter(|_| self.one_in(2)),
            stamp: self.stamp(past),
            ttl: Duration::from_nanos(self.of(self.values.ttls)),
            quarantine: self.time(),
            name: profile.name_id(),
        };
        Request::Acquire { asks, profile }
    }

    pub(crate) fn look(&mut self, record: Option<&Record>) -> Request {
        Request::Look { seen: self.seen(record), quarantine: self.time() }
    }

    pub(crate) fn renew(&mut self, record: Option<&Record>, past: Option<&Past>) -> Request {
        let own = record.map(|record| record.number).filter(|_| self.one_in(6));
        let number = own.unwrap_or_else(|| self.number());
        let (token, stamp) = (self.token(record), self.stamp(past));
        Request::Renew { holder: self.holder_of(record), token, number, stamp }
    }

    fn holder_of(&mut self, record: Option<&Record>) -> HolderId {
        let other = self.holder();
        record.map(|record| record.holder).filter(|_| !self.one_in(5)).unwrap_or(other)
    }

    /// A request of another kind.
    pub(crate) fn other(&mut self, record: Option<&Record>) -> Request {
        let token = self.token(record);
        match self.below(5) {
            0 | 1 => {
                let kept = Reservation { name: self.name_id(), reserve: self.time() };
                let reservation = self.one_in(2).then_some(kept);
                Request::Release { holder: self.holder_of(record), token, reservation }
            }
            2 | 3 => {
                let asked = Asked { name: self.name_id(), defer: self.time() };
                let (seen, quarantine) = (self.seen(record), self.time());
                Request::Ask { token, asked, seen, quarantine }
            }
            _ => {
                let wishes = [None, Some(Wish::Anybody), Some(Wish::Name(self.name_id()))];
                Request::Want { token, wish: self.of(&wishes) }
            }
        }
    }
}
