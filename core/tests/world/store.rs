//! The store of the world: the contract as code, run by a clock that drifts and counts coarsely.

use super::clock::Clock;
use core::time::Duration;
use tenure_core::contract::{History, Moment, Record, apply};
use tenure_core::{HolderId, Instant, Reply, Request, Token};

#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) clock: Clock,
    pub(crate) record: Option<Record>,
    pub(crate) history: Option<History>,
    /// How often data was lost; also the server's identity, which changes whenever that happens.
    pub(crate) losses: u64,
    /// The highest token ever granted, lost or not.
    pub(crate) highest: Option<Token>,
    backup: (Option<Record>, Option<History>),
    granularity: u64,
}

impl Store {
    pub(crate) fn new(clock: Clock, granularity: u64, knows_its_history: bool) -> Self {
        let (known_since, longest_ttl) = (Instant::ORIGIN, Duration::ZERO);
        let known = History { identity: 0, known_since, longest_ttl, purged: None };
        Self {
            clock,
            record: None,
            history: knows_its_history.then_some(known),
            losses: 0,
            highest: None,
            backup: (None, None),
            granularity,
        }
    }

    /// The store counts in steps, so that a lease may end up to a step early.
    pub(crate) fn read(&self, now: u64) -> Instant {
        let reading = self.clock.read(now).as_nanos();
        Instant::from_nanos(reading - reading % self.granularity)
    }

    pub(crate) fn step(&mut self, now: u64, request: Request) -> Reply {
        let at = self.read(now);
        let before = self.record;
        let moment = Moment {
            now: at,
            identity: u128::from(self.losses),
            trust_empty_store: false,
            compares_identity: true,
        };
        let mut reply = apply(&mut self.record, &mut self.history, moment, request);
        own_lease_only(before, self.record, at, request);
        if let Reply::Granted { token, wait } = &mut reply {
            self.highest = self.highest.max(Some(*token));
            if !wait.is_zero() {
                // Two coarse readings may be a step further apart than the instants were.
                *wait += Duration::from_nanos(self.granularity);
            }
        }
        reply
    }

    /// The earliest true time at which the store may lose data, so that its clock is not behind a lost
    /// grant, the assumption of G3. Tokens count microseconds.
    pub(crate) fn may_lose_data_from(&self, now: u64) -> u64 {
        let ahead = self.highest.map_or(0, |token| (token.get() + 1) * 1_000);
        let reading = ahead.next_multiple_of(self.granularity);
        self.clock.when(now, Instant::from_nanos(reading))
    }

    pub(crate) fn back_up(&mut self) {
        self.backup = (self.record, self.history);
    }

    pub(crate) fn roll_back(&mut self) {
        (self.record, self.history) = self.backup;
        self.losses += 1;
    }

    pub(crate) fn lose_everything(&mut self) {
        (self.record, self.history) = (None, None);
        self.losses += 1;
    }
}

/// (i) Only its holder changes a live lease, and tokens never decrease.
fn own_lease_only(before: Option<Record>, after: Option<Record>, at: Instant, request: Request) {
    if before == after {
        return;
    }
    let after = after.expect("(i) no request removes a record");
    assert!(before.is_none_or(|before| before.token <= after.token), "(i) a token went back");
    let live = before.filter(|before| before.is_live(at));
    let (holder, token) = named(request);
    assert_eq!(after.holder, holder, "(i) {request:?} wrote another holder's name");
    assert_eq!(after.token, token.unwrap_or(after.token), "(i) {request:?} wrote another token");
    if let Some(live) = live {
        assert_eq!(live.holder, holder, "(i) {request:?} changed the live lease {live:?}");
        assert_eq!(live.token, after.token, "(i) {request:?} replaced the live lease {live:?}");
        assert!(live.lease_end <= after.lease_end, "(i) {request:?} shortened {live:?}");
    } else {
        let acquired = matches!(request, Request::Acquire { .. });
        assert!(acquired, "(i) {request:?} changed the ended lease {before:?}");
        assert!(before.is_none_or(|before| before.token < after.token), "(i) a token came twice");
    }
}

fn named(request: Request) -> (HolderId, Option<Token>) {
    match request {
        Request::Acquire { holder, .. } => (holder, None),
        Request::Renew { holder, token, .. } | Request::Release { holder, token } => {
            (holder, Some(token))
        }
    }
}
