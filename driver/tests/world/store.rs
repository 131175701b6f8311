//! The store: the contract as code, and keys that hang for a while.

use std::collections::BTreeMap;

use tenure_core::contract::{Moment, Past, Record, apply};
use tenure_core::{Instant, Reply, Request, Stamp};

use super::{Draw, Key};

pub(crate) struct Store {
    records: BTreeMap<Key, Option<Record>>,
    past: Option<Past>,
    stuck: Option<Key>,
    steps: u64,
    seed: u64,
}

impl Store {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { records: BTreeMap::new(), past: None, stuck: None, steps: 0, seed }
    }

    /// One atomic step. Also whether it is hinted.
    pub(crate) fn serve(&mut self, now: Instant, key: Key, request: Request) -> (Reply, bool) {
        self.steps += 1;
        let at = Moment {
            now,
            identity: 1,
            fresh: Stamp::from_bits(u128::from(self.seed) << 64 | u128::from(self.steps)),
            first: true,
            trust_empty_store: true,
        };
        let record = self.records.entry(key).or_default();
        let reply = apply(record, &mut self.past, at, request);
        (reply, reply == Reply::Released)
    }

    /// A record may be locked, or another one.
    pub(crate) fn sticks(&mut self, draw: &mut Draw) {
        if draw.one_in(200) {
            let key = Key::try_from(draw.below(8)).unwrap();
            self.stuck = Some(key).filter(|_| draw.one_in(2));
        }
    }

    pub(crate) fn is_stuck(&self, key: Key) -> bool {
        self.stuck == Some(key)
    }
}
