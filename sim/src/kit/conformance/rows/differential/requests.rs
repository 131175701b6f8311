//! Random requests, most of them about what the store contains.

use std::time::Duration;

use tenure::store::contract::{
    Acquire, Asked, Loss, Mark, NameId, RequestId, Reservation, WatchedStamp, Wish,
};
use tenure::store::{Request, StoreTraits};
use tenure::{HolderId, Token};

use super::model::Model;
use crate::conformance::probe::{self, Probe, holder, profile};
use crate::plan::draw::Draw;

const HOUR: Duration = Duration::from_secs(3_600);

/// The kind of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Acquire,
    Look,
    Renew,
    Other,
}

impl Kind {
    /// The number that a store takes in one call.
    pub(super) fn in_call(self, traits: &StoreTraits) -> usize {
        match self {
            Self::Acquire => traits.acquires_in_call,
            Self::Look => traits.looks_in_call,
            Self::Renew => traits.renewals_in_call,
            Self::Other => 1,
        }
    }
}

/// The requests, and what earlier ones have met.
pub(super) struct Requests {
    pub(super) draw: Draw,
    /// By a server that ends leases nobody takes one that was watched.
    takes: bool,
    tokens: [Vec<Token>; 3],
    marks: [Vec<Mark>; 3],
    sent: [Vec<(Kind, Request)>; 3],
}

impl Requests {
    pub(super) fn new(draw: Draw, traits: &StoreTraits) -> Self {
        let takes = !traits.ends_leases;
        let (tokens, marks, sent) = Default::default();
        Self { draw, takes, tokens, marks, sent }
    }

    /// The first request over a connection examines the server, of whatever kind it is.
    pub(super) fn kind(&mut self, is_first: bool) -> Kind {
        use Kind::{Acquire, Look, Other, Renew};
        if is_first {
            return self.draw.pick(&[Acquire, Acquire, Look, Renew, Other]);
        }
        self.draw.pick(&[Acquire, Acquire, Acquire, Acquire, Look, Renew, Renew, Other, Other])
    }

    pub(super) fn draw(
        &mut self,
        probe: &Probe<'_>,
        model: &Model,
        (election, kind): (usize, Kind),
    ) -> Request {
        self.tokens[election].extend(model.last(election));
        self.marks[election].extend(model.records[election].map(|record| record.mark()));
        // A late duplicate.
        let alike: Vec<_> = self.sent[election].iter().filter(|(sent, _)| *sent == kind).collect();
        if !alike.is_empty() && self.draw.chance(1, 12) {
            let place = self.draw.within(0..=alike.len() as u64 - 1);
            return alike[usize::try_from(place).unwrap_or(0)].1.clone();
        }
        let number = probe.next_number();
        let request = match kind {
            Kind::Acquire => probe::request(self.acquire(model, election, number)),
            Kind::Look => {
                Request::Look { seen: self.token(model, election), quarantine: self.duration() }
            }
            Kind::Renew => {
                let (by, token) = self.tenure(model, election);
                let late = self.earlier(number).filter(|_| self.draw.chance(1, 3));
                let number = late.unwrap_or(number);
                Request::Renew { holder: by, token, number, stamp: self.stamp(model, election) }
            }
            Kind::Other => self.other(model, election),
        };
        self.sent[election].push((kind, request.clone()));
        request
    }

    fn other(&mut self, model: &Model, election: usize) -> Request {
        let (by, token) = self.tenure(model, election);
        match self.draw.within(0..=7) {
            0..=2 => {
                let kept = Reservation { name: self.name(), reserve: self.duration() };
                let reservation = Some(kept).filter(|_| self.draw.chance(1, 2));
                Request::Release { holder: by, token, reservation }
            }
            3 | 4 => {
                let asked = Asked { name: self.name(), defer: self.duration() };
                let seen = self.token(model, election);
                Request::Ask { token, asked, seen, quarantine: self.duration() }
            }
            5 | 6 => {
                let wished = Wish::Name(self.name());
                let wish = self.draw.pick(&[None, Some(Wish::Anybody), Some(wished), Some(wished)]);
                Request::Want { token, wish }
            }
            _ => Request::Observe,
        }
    }

    fn acquire(&mut self, model: &Model, election: usize, number: RequestId) -> Acquire {
        let candidate = self.draw.pick(&[1, 2, 3]);
        let seen = self.token(model, election);
        let lost = match self.draw.within(0..=5) {
            0 | 1 => Some(Loss { last: model.last(election) }),
            2 => Some(Loss { last: self.token(model, election) }),
            _ => None,
        };
        let (ttl, quarantine) = (self.duration(), self.duration());
        let (mark, stamp) = (self.mark(model, election), self.stamp(model, election));
        let name = profile(candidate).name_id();
        let holder = holder(candidate);
        Acquire { holder, number, seen, lost, mark, stamp, ttl, quarantine, name }
    }

    /// Most of these cover each other.
    fn duration(&mut self) -> Duration {
        HOUR * self.draw.pick(&[2, 3, 3, 3, 3, 3, 4, 5])
    }

    fn name(&mut self) -> NameId {
        profile(self.draw.pick(&[1, 2, 3, 4])).name_id()
    }

    /// Most are the present one.
    fn tenure(&mut self, model: &Model, election: usize) -> (HolderId, Token) {
        let record = model.records[election].filter(|_| self.draw.chance(3, 4));
        let other = holder(self.draw.pick(&[1, 2, 3]));
        let by = record.map_or(other, |record| record.holder);
        // The least token was never granted: a clock or an offset is above it.
        let token = match record.filter(|_| self.draw.chance(7, 8)) {
            Some(record) => record.token,
            None => self.token(model, election).unwrap_or(Token::FIRST),
        };
        (by, token)
    }

    fn token(&mut self, model: &Model, election: usize) -> Option<Token> {
        match self.draw.within(0..=31) {
            // One that was never granted.
            0 => {
                let last = model.last(election)?;
                Token::new(last.get() + 1_000_000_000_000)
            }
            1..=3 => None,
            4..=7 if !self.tokens[election].is_empty() => {
                Some(self.draw.pick(&self.tokens[election]))
            }
            _ => model.last(election),
        }
    }

    fn stamp(&mut self, model: &Model, election: usize) -> Option<WatchedStamp> {
        let stamps = model.stamps();
        let stamp = match self.draw.within(0..=7) {
            0 | 1 => return None,
            2 if !stamps.is_empty() => self.draw.pick(&stamps),
            _ => model.stamp(election)?,
        };
        Some(WatchedStamp { stamp, time: HOUR * self.draw.pick(&[0, 1, 3, 4, 6, 6, 6]) })
    }

    fn mark(&mut self, model: &Model, election: usize) -> Option<Mark> {
        match self.draw.within(0..=7) {
            _ if !self.takes => None,
            0..=2 => None,
            3 if !self.marks[election].is_empty() => Some(self.draw.pick(&self.marks[election])),
            4 => self.almost(model.records[election]?.mark()),
            _ => model.records[election].map(|record| record.mark()),
        }
    }

    /// A mark that has the holder or the number of that one.
    fn almost(&mut self, mark: Mark) -> Option<Mark> {
        if self.draw.chance(1, 2) {
            return Some(Mark { holder: holder(self.draw.pick(&[1, 2, 3])), ..mark });
        }
        Some(Mark { number: self.earlier(mark.number)?, ..mark })
    }

    fn earlier(&mut self, number: RequestId) -> Option<RequestId> {
        RequestId::new(self.draw.within(1..=number.get()))
    }
}
