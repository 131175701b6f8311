//! Random requests, most of them about what the file contains.

use std::time::Duration;

use tenure_core::contract::{Past, Record};
use tenure_core::{
    Acquire, Asked, HolderId, Loss, Mark, NameId, Request, RequestId, Reservation, Stamp, Token,
    WatchedStamp, Wish,
};

/// Random numbers (splitmix64), and what earlier requests have met.
pub(crate) struct Draw {
    state: u64,
    number: u64,
    tokens: Vec<Token>,
    stamps: Vec<Stamp>,
    marks: Vec<Mark>,
}

/// In nanoseconds: equal, too short by less than a microsecond, contradicting, and over at once.
const DURATIONS: [u64; 6] =
    [10_000_000_000, 10_000_000_001, 9_999_999_999, 12_000_000_000, 30_000_000_000, 900_000];

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed, number: 1, tokens: vec![], stamps: vec![], marks: vec![] }
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % bound
    }

    pub(crate) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }

    fn duration(&mut self) -> Duration {
        Duration::from_nanos(self.of(&DURATIONS))
    }

    fn holder(&mut self) -> HolderId {
        HolderId::from_bits(u128::from(self.below(4)) << 100 | 7)
    }

    fn name(&mut self) -> NameId {
        NameId::from_bits(u128::from(self.below(4)) << 70 | 9)
    }

    fn asked(&mut self) -> Asked {
        Asked { name: self.name(), defer: self.duration() }
    }

    fn number(&mut self) -> RequestId {
        self.number += 1;
        let number = match self.below(60) {
            0 => u64::MAX,
            1..10 => 1 + self.below(self.number),
            _ => self.number,
        };
        RequestId::new(number).unwrap()
    }

    /// Rarely one that no column can keep, or that a double can't.
    fn token(&mut self, now: Option<Token>) -> Option<Token> {
        match self.below(100) {
            0 => Token::new(i64::MAX.unsigned_abs() + self.below(3) - 1),
            1 => Token::new((1 << 53) + 1),
            2..7 => now.map(Token::next),
            7..12 => None,
            12..30 if !self.tokens.is_empty() => Some(self.of(&self.tokens.clone())),
            _ => now,
        }
    }

    fn stamp(&mut self, past: Option<Past>) -> Option<WatchedStamp> {
        let stamp = match self.below(8) {
            0 => return None,
            1 if !self.stamps.is_empty() => self.of(&self.stamps.clone()),
            _ => past?.stamp,
        };
        Some(WatchedStamp { stamp, time: self.duration() })
    }

    fn mark(&mut self, record: Option<Record>) -> Option<Mark> {
        match self.below(4) {
            0 => None,
            1 if !self.marks.is_empty() => Some(self.of(&self.marks.clone())),
            _ => Some(record?.mark()),
        }
    }

    pub(crate) fn request(&mut self, record: Option<Record>, past: Option<Past>) -> Request {
        let last = record.map_or(past.and_then(|past| past.purged), |record| Some(record.token));
        self.tokens.extend(last);
        self.stamps.extend(past.map(|past| past.stamp));
        self.marks.extend(record.map(|record| record.mark()));
        let incumbent = record.map(|record| record.holder);
        let holder = incumbent.filter(|_| !self.one_in(4)).unwrap_or_else(|| self.holder());
        let token = self.token(last).unwrap_or(Token::FIRST);
        match self.below(20) {
            0..8 => self.acquire(record, past, last),
            8..10 => Request::Look { seen: self.token(last), quarantine: self.duration() },
            10..14 => {
                let (number, stamp) = (self.number(), self.stamp(past));
                Request::Renew { holder, token, number, stamp }
            }
            14..16 => {
                let to = Reservation { name: self.name(), reserve: self.duration() };
                let reservation = Some(to).filter(|_| self.one_in(2));
                Request::Release { holder, token, reservation }
            }
            16..18 => {
                let (asked, seen) = (self.asked(), self.token(last));
                Request::Ask { token, asked, seen, quarantine: self.duration() }
            }
            _ => {
                let wished = Wish::Name(self.name());
                let wish = self.of(&[None, Some(Wish::Anybody), Some(wished), Some(wished)]);
                Request::Want { token, wish }
            }
        }
    }

    fn acquire(
        &mut self,
        record: Option<Record>,
        past: Option<Past>,
        last: Option<Token>,
    ) -> Request {
        let loss = match self.below(4) {
            0 => Some(Loss { last }),
            1 => Some(Loss { last: self.token(last) }),
            _ => None,
        };
        Request::Acquire(Acquire {
            holder: self.holder(),
            number: self.number(),
            seen: self.token(last),
            lost: loss,
            mark: self.mark(record),
            stamp: self.stamp(past),
            ttl: self.duration(),
            quarantine: self.duration(),
            name: self.name(),
        })
    }
}
