//! A store with one server of bounded rate, behind a fixed round trip.
//!
//! The server carries out one call after the other, in the order in which they were sent. All
//! processes are equally far away, so that this is the order in which calls arrive as well; and the
//! server's rate is known in advance. So a call's end is computed when it is sent, and its effect
//! on the records, which no other call can see before, is made at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tenure::Instant;
use tenure::store::{
    HistoryKind, Key, Reply, Request, Store, StoreError, StoreErrorKind, StoreTraits, Watched,
};
use tenure_core::Stamp;
use tenure_core::contract::{Moment, Past, Record, apply};
use tokio::sync::mpsc;

use super::journal::{Journal, candidate};
use super::plan::Plan;
use super::runtime::Clock;
use crate::engines::calls::mark;
use crate::engines::calls::of_driver::{answered, asked};
use crate::plan::clock::true_time;
use crate::plan::{RequestKind, SimTime};
use crate::trace::{Answer, Event, Kept, StoreStep, Who};

/// The store's clock when a run begins: it counts from 1970.
const EPOCH: Duration = Duration::from_secs(1_700_000_000);

/// The server, and the network in front of it.
pub(super) struct Server {
    plan: Plan,
    clock: Clock,
    journal: Arc<Journal>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The end of the calls that were sent so far.
    free_at: SimTime,
    past: Option<Past>,
    /// The number of calls so far.
    calls: u64,
    elections: BTreeMap<u32, Election>,
    /// The streams of hints, one for each process.
    listeners: Vec<mpsc::UnboundedSender<u32>>,
}

#[derive(Default)]
struct Election {
    record: Option<Record>,
    /// The record in the terms of the trace.
    kept: Option<Kept>,
}

/// The store as one process sees it.
#[derive(Clone)]
pub(super) struct SlowStore {
    pub(super) server: Arc<Server>,
    pub(super) process: u32,
}

impl Server {
    pub(super) fn new(plan: Plan, clock: Clock, journal: Arc<Journal>) -> Self {
        Self { plan, clock, journal, state: Mutex::default() }
    }

    /// The number of the next call.
    fn next_call(&self) -> u64 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.calls += 1;
        state.calls
    }

    /// Carries out a call that is sent now. Returns when the answer arrives, and the replies.
    fn answer(&self, requests: &[(u32, Request)]) -> (SimTime, Vec<Result<Reply, StoreError>>) {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let half = self.plan.round_trip / 2;
        let begin = state.free_at.max(self.clock.now() + half);
        // The requests of a call are of one kind.
        let asking = requests.first().and_then(|(_, request)| asked(request));
        let asking = asking.map_or(RequestKind::Acquire, |(_, asked)| asked.kind());
        let number = u32::try_from(requests.len()).unwrap_or(u32::MAX);
        let done = self.plan.call_done(begin, asking, number);
        state.free_at = done;
        let answered_at = done + half;
        let State { elections, past, listeners, .. } = state;
        let replies = requests.iter().map(|(election, request)| {
            let of = elections.entry(*election).or_default();
            let before = of.kept;
            let reply = of.step(past, done, request);
            if let (Some((holder, request)), Ok(reply)) = (asked(request), &reply) {
                of.keep(done, self.plan.config().drift_ppm());
                let (answer, after) = (answered(reply), of.kept);
                let step = StoreStep { server: 0, holder, request, answer, before, after };
                self.journal.will_step(done, *election, step);
            }
            if let Ok(Reply::Released) = reply {
                self.wake(listeners, *election, answered_at);
            }
            reply
        });
        (answered_at, replies.collect())
    }

    /// Hands hints to all processes, at that time.
    fn wake(&self, listeners: &[mpsc::UnboundedSender<u32>], election: u32, at: SimTime) {
        let (clock, listeners) = (self.clock, listeners.to_vec());
        tokio::spawn(async move {
            clock.sleep_until(at).await;
            for one in listeners {
                // It is no error if a process has ended.
                let _ = one.send(election);
            }
        });
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

    fn step(
        &mut self,
        past: &mut Option<Past>,
        done: SimTime,
        request: &Request,
    ) -> Result<Reply, StoreError> {
        let Some(request) = request.to_contract() else {
            return Err(StoreError::new(StoreErrorKind::UnexpectedReply, "not simulated"));
        };
        // There is one server, which loses nothing: it never begins another past.
        let at = Moment {
            now: clock(done),
            identity: 1,
            fresh: Stamp::from_bits(1),
            first: true,
            trust_empty_store: true,
        };
        Ok(Reply::from_contract(apply(&mut self.record, past, at, request), || None))
    }
}

impl SlowStore {
    fn note(&self, who: Who, event: Event) {
        self.server.journal.add(self.server.clock.now(), who, event);
    }
}

impl Store for SlowStore {
    fn traits(&self) -> StoreTraits {
        let mut traits = StoreTraits::new("overload");
        traits.granularity = Duration::from_nanos(1);
        traits.history = HistoryKind::SharesFate;
        traits.renewals_in_call = usize::try_from(self.server.plan.in_call).unwrap_or(1);
        traits.looks_in_call = traits.renewals_in_call;
        traits.acquires_in_call = traits.renewals_in_call;
        traits
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        let mut replies = self.call_all(vec![(key.clone(), request)]).await;
        replies.pop().unwrap_or_else(|| {
            Err(StoreError::new(StoreErrorKind::UnexpectedReply, "no answer to one request"))
        })
    }

    async fn call_all(&self, requests: Vec<(Key, Request)>) -> Vec<Result<Reply, StoreError>> {
        let requests: Vec<(u32, Request)> =
            requests.into_iter().map(|(key, request)| (number(&key), request)).collect();
        let id = self.server.next_call();
        let mut call = Call { store: self, id, open: Vec::new() };
        for (election, request) in &requests {
            let who = candidate(self.process, *election);
            let asked = asked(request);
            if let Some((_, request)) = asked {
                self.note(who, Event::Sent { who, id, request });
            }
            call.open.push(asked.map(|_| who));
        }
        let plan = &self.server.plan;
        if self.server.clock.now() >= plan.sticks_at()
            && requests.iter().any(|(election, _)| plan.is_stuck(*election as usize))
        {
            return std::future::pending().await;
        }
        let (at, replies) = self.server.answer(&requests);
        self.server.clock.sleep_until(at).await;
        for (who, reply) in call.open.drain(..).zip(&replies) {
            let Some(who) = who else { continue };
            let answer = Some(reply.as_ref().map_or(Answer::Other, answered));
            self.note(who, Event::Answered { who, id, answer });
        }
        replies
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        let (listener, released) = mpsc::unbounded_channel();
        let mut state = self.server.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.listeners.push(listener);
        futures_util::stream::unfold(
            (watched, released),
            |(mut watched, mut released)| async move {
                let keys = tokio::select! {
                    biased;
                    changes = watched.changed() => changes?.added,
                    election = released.recv() => {
                        let key = Key::new(key(election? as usize)).ok();
                        key.into_iter().filter(|key| watched.contains(key)).collect()
                    }
                };
                Some((futures_util::stream::iter(keys), (watched, released)))
            },
        )
        .flatten()
    }
}

/// A call that is under way. Its driver drops it when all its requests were given up. All its
/// requests have its number.
struct Call<'a> {
    store: &'a SlowStore,
    id: u64,
    /// The candidates whose requests have not ended; none for a request that changes no lease.
    open: Vec<Option<Who>>,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        for who in self.open.drain(..).flatten() {
            self.store.note(who, Event::Answered { who, id: self.id, answer: None });
        }
    }
}

/// The store's clock, which is right.
fn clock(at: SimTime) -> Instant {
    Instant::ORIGIN + EPOCH + at.since(SimTime::START)
}

/// The key of an election.
pub(super) fn key(election: usize) -> String {
    format!("election-{election}")
}

fn number(key: &Key) -> u32 {
    let number = key.as_str().rsplit('-').next();
    number.and_then(|number| number.parse().ok()).unwrap_or(u32::MAX)
}
