//! The store of the world: the contract as code. Its clock may show anything.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_core::contract::{FOREVER, Moment, Past, Record};
use tenure_core::{Acquire, HolderId, Reply, Request, Token};

use super::clock::Clock;
use super::lines;
use super::network::Sender;

/// One of so many steps is written for the replay.
const WRITTEN: u64 = 50;

#[derive(Clone, Debug)]
pub(crate) struct Store {
    clock: Clock,
    pub(crate) record: Option<Record>,
    pub(crate) past: Option<Past>,
    /// The number of data losses; also the server's identity, which changes with each.
    pub(crate) losses: u64,
    /// The highest token ever granted, lost or not.
    highest: Option<Token>,
    backup: (Option<Record>, Option<Past>),
    /// The processes that this server has answered: their connections.
    connected: BTreeSet<(usize, u64)>,
}

impl Store {
    pub(crate) fn new(clock: Clock, knows_its_past: bool) -> Self {
        let (stamp, longest) = (lines::fresh(), Duration::ZERO);
        let known = Past { identity: 0, stamp, watched: FOREVER, longest, purged: None };
        Self {
            clock,
            record: None,
            past: knows_its_past.then_some(known),
            losses: 0,
            highest: None,
            backup: (None, None),
            connected: BTreeSet::new(),
        }
    }

    pub(crate) fn step(&mut self, now: u64, from: Sender, request: Request) -> Reply {
        let before = self.record;
        let moment = Moment {
            now: self.clock.read(now),
            identity: u128::from(self.losses),
            fresh: lines::fresh(),
            first: self.connected.insert((from.node, from.incarnation)),
            trust_empty_store: false,
        };
        let reply = lines::step(&mut self.record, &mut self.past, moment, request, WRITTEN);
        own_lease_only(before, self.record, request);
        if let Reply::Granted { token } = reply {
            self.highest = self.highest.max(Some(token));
        }
        reply
    }

    /// The clock is set, by an operator or by a machine that lost its time.
    ///
    /// Once data was lost, not to before the highest token that was ever granted: that is the
    /// assumption of G3.
    pub(crate) fn set_clock(&mut self, now: u64, to: u64) {
        let least = if self.losses == 0 { 0 } else { self.beyond_all_tokens() };
        self.clock.set(now, to.max(least));
    }

    fn beyond_all_tokens(&self) -> u64 {
        self.highest.map_or(0, |token| (token.get() + 1) * 1_000)
    }

    pub(crate) fn back_up(&mut self) {
        self.backup = (self.record, self.past);
    }

    pub(crate) fn roll_back(&mut self, now: u64) {
        (self.record, self.past) = self.backup;
        self.another_server(now);
    }

    pub(crate) fn lose_everything(&mut self, now: u64) {
        (self.record, self.past) = (None, None);
        self.another_server(now);
    }

    fn another_server(&mut self, now: u64) {
        self.losses += 1;
        self.connected.clear();
        self.set_clock(now, self.clock.read(now).as_nanos());
    }
}

/// (i) Only its holder changes a lease, except for one who may take it; marks and tokens never go
/// back.
fn own_lease_only(before: Option<Record>, after: Option<Record>, request: Request) {
    if before == after {
        return;
    }
    let after = after.expect("(i) no request of a candidate removes a record");
    let Some(before) = before.filter(|before| before.token == after.token) else {
        return granted(before, after, request);
    };
    let (holder, token) = named(request);
    assert_eq!((after.holder, before.holder), (holder, holder), "(i) {request:?} by another");
    assert_eq!(after.token, token.unwrap_or(after.token), "(i) {request:?} of another tenure");
    assert!(before.number <= after.number, "(i) {request:?} set a mark back");
    assert!(!before.released, "(i) {request:?} changed a lease that was given back");
}

fn granted(before: Option<Record>, after: Record, request: Request) {
    let Request::Acquire(Acquire { holder, number, mark, .. }) = request else {
        panic!("(i) {request:?} granted a lease")
    };
    assert_eq!((after.holder, after.number), (holder, number), "(i) {request:?}: another mark");
    if let Some(before) = before {
        assert!(before.token < after.token, "(i) a token went back");
        let may = before.released || mark == Some(before.mark());
        assert!(may, "(i) {request:?} took {before:?}, which it had not watched");
    }
}

fn named(request: Request) -> (HolderId, Option<Token>) {
    match request {
        Request::Acquire(Acquire { holder, .. }) => (holder, None),
        Request::Renew { holder, token, .. } | Request::Release { holder, token, .. } => {
            (holder, Some(token))
        }
        Request::Look { .. }
        | Request::Ask { .. }
        | Request::Want { .. }
        | Request::Purge { .. } => {
            panic!("(i) {request:?} changed the record")
        }
    }
}
