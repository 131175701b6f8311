//! A store with one server of bounded rate, behind a fixed round trip.
//!
//! The server carries out one call after the other, in the order in which they were sent. All processes are equally far
//! away, so that this is the order in which calls arrive as well; and the server's rate is known in advance. So a
//! call's end is computed when it is sent, and its effect on the records, which no other call can see before, is made
//! at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tenure::store::{
    HistoryKind, Incumbent, Key, Reply, Request, Store, StoreError, StoreErrorKind, StoreTraits,
    Watched,
};
use tenure::{HolderId, Instant};
use tenure_core::contract::{History, Moment, Record, apply};
use tokio::sync::mpsc;

use super::journal::{Journal, candidate};
use super::plan::Plan;
use super::runtime::Clock;
use crate::engines::calls::{answered, asked, kind};
use crate::plan::{Asking, SimTime};
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
    /// When the calls that were sent so far are done.
    free_at: SimTime,
    history: Option<History>,
    /// The number of calls so far.
    calls: u64,
    elections: BTreeMap<u32, Election>,
    /// The streams of hints, one for each process.
    listeners: Vec<mpsc::UnboundedSender<u32>>,
}

#[derive(Default)]
struct Election {
    record: Option<Record>,
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
    fn carry_out(&self, requests: &[(u32, Request)]) -> (SimTime, Vec<Result<Reply, StoreError>>) {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let half = self.plan.round_trip / 2;
        let begin = state.free_at.max(self.clock.now() + half);
        // The requests of a call are of one kind.
        let asking = requests.first().and_then(|(_, request)| kind(request));
        let number = u32::try_from(requests.len()).unwrap_or(u32::MAX);
        let done = self.plan.call_done(begin, asking.unwrap_or(Asking::Acquire), number);
        state.free_at = done;
        let answered_at = done + half;
        let State { elections, history, listeners, .. } = state;
        let replies = requests.iter().map(|(election, request)| {
            let of = elections.entry(*election).or_default();
            let before = of.kept();
            let reply = of.step(history, done, request);
            if let (Some(holder), Some(asked), Ok(reply)) =
                (holder(request), asked(request), &reply)
            {
                let step = StoreStep {
                    server: 0,
                    now: clock(done).as_nanos(),
                    holder: holder.to_bits(),
                    request: asked,
                    answer: answered(reply),
                    before,
                    after: of.kept(),
                };
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
    /// Its record in the terms of the trace.
    fn kept(&self) -> Option<Kept> {
        self.record.map(|record| Kept {
            token: record.token.get(),
            holder: record.holder.to_bits(),
            lease_end: record.lease_end.as_nanos(),
            lease_ends: SimTime::START + record.lease_end.since(clock(SimTime::START)),
            released: record.released,
        })
    }

    fn step(
        &mut self,
        history: &mut Option<History>,
        done: SimTime,
        request: &Request,
    ) -> Result<Reply, StoreError> {
        let request = match *request {
            Request::Acquire { holder, seen, ttl, quarantine, .. } => {
                tenure_core::Request::Acquire { holder, seen, ttl, quarantine }
            }
            Request::Renew { holder, token, ttl } => {
                tenure_core::Request::Renew { holder, token, ttl }
            }
            Request::Release { holder, token } => tenure_core::Request::Release { holder, token },
            Request::Describe { .. } | Request::Observe | Request::Notify { .. } => {
                return Err(StoreError::new(StoreErrorKind::UnexpectedReply, "not simulated"));
            }
        };
        let at = Moment {
            now: clock(done),
            identity: 1,
            trust_empty_store: true,
            compares_identity: false,
        };
        Ok(match apply(&mut self.record, history, at, request) {
            tenure_core::Reply::Granted { token, wait } => Reply::Granted { token, wait },
            tenure_core::Reply::Held { token, remaining, ttl } => {
                let holder = self.record.map(|record| record.holder);
                let holder = holder.unwrap_or(HolderId::from_bits(0));
                Reply::Held(Incumbent::new(token, holder, "", "", remaining).with_ttl(ttl))
            }
            tenure_core::Reply::Refused { ttl, quarantine } => Reply::Refused { ttl, quarantine },
            tenure_core::Reply::Stale { last } => Reply::Stale { last },
            tenure_core::Reply::Renewed => Reply::Renewed,
            tenure_core::Reply::Superseded { last } => Reply::Superseded { last },
            tenure_core::Reply::Released => Reply::Released,
            tenure_core::Reply::NotHeld => Reply::NotHeld,
        })
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
            if let Some(request) = asked {
                self.note(who, Event::Sent { who, id, request });
            }
            call.open.push(asked.map(|_| who));
        }
        let (at, replies) = self.server.carry_out(&requests);
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

/// A call that is under way. Its driver drops it when all its requests were given up. All its requests have its number.
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

fn holder(request: &Request) -> Option<HolderId> {
    match request {
        Request::Acquire { holder, .. }
        | Request::Renew { holder, .. }
        | Request::Release { holder, .. } => Some(*holder),
        Request::Describe { .. } | Request::Observe | Request::Notify { .. } => None,
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
