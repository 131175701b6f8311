//! A store with one server of bounded rate, behind a fixed round trip.
//!
//! The server carries out one call after the other, in the order in which they arrive, and its rate
//! is known in advance. So a call's end is computed when it arrives, and its effect on the records,
//! which no other call can see before, is made at once.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::contract::{Moment, Past, Record, apply};
use tenure_core::{Instant, Reply, Request, Stamp};

use super::plan::Plan;
use crate::engines::calls::{answered, asked, mark};
use crate::plan::clock::true_time;
use crate::plan::{RequestKind, SimTime};
use crate::trace::{Kept, StoreStep};

/// The store's clock when a run begins: it counts from 1970.
const EPOCH: Duration = Duration::from_secs(1_700_000_000);

/// The server, and the network in front of it.
#[derive(Default)]
pub(super) struct Server {
    /// The end of the calls that were sent so far.
    free_at: SimTime,
    past: Option<Past>,
    elections: BTreeMap<u32, Election>,
}

#[derive(Default)]
struct Election {
    record: Option<Record>,
    /// The record in the terms of the trace.
    kept: Option<Kept>,
}

/// A call that was answered.
pub(super) struct Answered {
    /// The end of the server's work on it.
    pub(super) done: SimTime,
    /// The arrival of the answer.
    pub(super) at: SimTime,
    pub(super) replies: Vec<Reply>,
    /// Its steps, for the trace.
    pub(super) steps: Vec<(u32, StoreStep)>,
}

impl Server {
    /// Carries out a call that arrives now.
    pub(super) fn answer(
        &mut self,
        plan: &Plan,
        now: SimTime,
        requests: &[(u32, Request)],
    ) -> Answered {
        let begin = self.free_at.max(now);
        // The requests of a call are of one kind.
        let asking = requests.first().and_then(|(_, request)| asked(*request));
        let asking = asking.map_or(RequestKind::Acquire, |(_, asked)| asked.kind());
        let number = u32::try_from(requests.len()).unwrap_or(u32::MAX);
        let done = plan.call_done(begin, asking, number);
        self.free_at = done;
        let (mut replies, mut steps) = (Vec::with_capacity(requests.len()), Vec::new());
        for (election, request) in requests {
            let of = self.elections.entry(*election).or_default();
            let before = of.kept;
            let reply = of.step(&mut self.past, done, *request);
            if let Some((holder, request)) = asked(*request) {
                of.keep(done, plan.config().drift_ppm());
                let (answer, after) = (answered(reply), of.kept);
                let step = StoreStep { server: 0, holder, request, answer, before, after };
                steps.push((*election, step));
            }
            replies.push(reply);
        }
        Answered { done, at: done + plan.round_trip / 2, replies, steps }
    }
}

impl Election {
    /// Keeps the record as it is after a step at that time.
    fn keep(&mut self, done: SimTime, drift_ppm: u32) {
        self.kept = self.record.map(|record| {
            let mark = mark(record.mark());
            let lease_ends = match self.kept {
                Some(before) if before.mark == mark => before.lease_ends,
                _ => done + true_time(record.ttl, drift_ppm.into()),
            };
            Kept { token: record.token.get(), mark, lease_ends, released: record.released }
        });
    }

    fn step(&mut self, past: &mut Option<Past>, done: SimTime, request: Request) -> Reply {
        // There is one server, which loses nothing: it never begins another past.
        let at = Moment {
            now: Instant::ORIGIN + EPOCH + done.since(SimTime::START),
            identity: 1,
            fresh: Stamp::from_bits(1),
            first: true,
            trust_empty_store: true,
        };
        apply(&mut self.record, past, at, request)
    }
}
