//! A record with a version that the store compares on every write, and time that only the
//! candidates count, as in client-go's `leaderelection` with a Kubernetes `Lease`.
//!
//! A candidate treats the lease as expired once it has not seen the record change for the lease's
//! duration, by its own clock. A leader gives up once no renewal has succeeded for the renew
//! deadline. That deadline is shorter than the lease, but it is counted from the last success's
//! reply and not from its request, and a timer enforces it. So it leads too long if a renewal is
//! answered late, or if the process is paused.
//!
//! A leader that sees another holder's record goes on until its deadline, as client-go's own
//! candidates did when they were measured (`tests/stores/kubernetes/client_go_alone.rs`).
//! Favourable to it: here it releases the lease on leaving, which is not its default.

use std::collections::VecDeque;
use std::time::Duration;

use tenure_core::{Config, Instant};

use super::super::algorithm::{
    Algorithm, Ends, Input, Lead, Output, Served, Stored, Timers, Visit,
};
use super::{ordinal, retry};
use crate::trace::{Answer, Asked, Mark, Reason};

/// The data of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    version: u64,
    /// `None` once it is released.
    holder: Option<u128>,
    token: u64,
    lease: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    Get,
    /// Writes if the version is still that one; if it is `None`, writes if there is no record.
    Put {
        version: Option<u64>,
        me: u128,
        release: bool,
        lease: Duration,
        renews: Option<u64>,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Reply {
    Found(Option<Record>),
    Written { record: Record, renews: bool },
    Conflict { renews: bool },
}

/// One life of a candidate.
#[derive(Clone, Debug)]
pub(crate) struct RenewDeadline {
    me: u128,
    lease: Duration,
    gives_up_after: Duration,
    retry: Duration,
    takes_part: bool,
    leads: Option<u64>,
    /// The record as last seen, and when it was seen to change.
    seen: Option<(Record, Instant)>,
    last_id: u64,
    /// The request that it waits for, and the time at which it gives up.
    asked: Option<(u64, Instant)>,
    next: Option<Instant>,
    gives_up_at: Option<Instant>,
    again_at: Option<Instant>,
    outputs: VecDeque<Output<u64, Request>>,
}

impl RenewDeadline {
    fn send(&mut self, now: Instant, request: Request) {
        self.last_id += 1;
        // A REST client's timeout is half the renew deadline by convention.
        self.asked = Some((self.last_id, now + self.gives_up_after / 2));
        self.next = None;
        self.outputs.push_back(Output::Send { id: self.last_id, request });
    }

    fn put(&mut self, now: Instant, release: bool) {
        let version = self.seen.map(|(record, _)| record.version);
        let (me, lease, renews) = (self.me, self.lease, self.leads);
        self.send(now, Request::Put { version, me, release, lease, renews });
    }

    fn attempt(&mut self, now: Instant) {
        if self.holds_the_lease() { self.put(now, false) } else { self.send(now, Request::Get) }
    }

    /// True as far as it has seen.
    fn holds_the_lease(&self) -> bool {
        self.leads.is_some() && self.seen.is_some_and(|(record, _)| record.holder == Some(self.me))
    }

    fn later(&mut self, now: Instant) {
        self.asked = None;
        self.next = self.takes_part.then(|| now + self.retry);
    }

    fn see(&mut self, now: Instant, record: Option<Record>) {
        if record != self.seen.map(|(record, _)| record) {
            self.seen = record.map(|record| (record, now));
        }
    }

    fn answered(&mut self, now: Instant, id: u64, reply: Option<Reply>) {
        if self.asked.is_none_or(|(asked, _)| asked != id) {
            return;
        }
        self.asked = None;
        if !self.takes_part {
            return;
        }
        match reply {
            Some(Reply::Found(record)) => {
                self.see(now, record);
                let is_anothers = self.seen.is_some_and(|(record, changed)| {
                    record.holder.is_some_and(|holder| holder != self.me)
                        && now < changed + record.lease
                });
                if is_anothers { self.later(now) } else { self.put(now, false) }
            }
            Some(Reply::Written { record, .. }) => {
                self.seen = Some((record, now));
                self.lead(now, record.token);
                // The next renewal begins after a delay, and its deadline starts then.
                self.gives_up_at = Some(now + self.retry + self.gives_up_after);
                self.later(now);
            }
            Some(Reply::Conflict { .. }) if self.leads.is_some() => self.send(now, Request::Get),
            Some(Reply::Conflict { .. }) | None => self.later(now),
        }
    }

    fn lead(&mut self, now: Instant, token: u64) {
        let lead = Lead { token, until: Instant::FAR_FUTURE };
        if self.leads == Some(token) {
            self.outputs.push_back(Output::Renewed(lead));
        } else {
            self.lose(now, Reason::Superseded);
            self.leads = Some(token);
            self.outputs.push_back(Output::Elected(lead));
        }
    }

    fn lose(&mut self, now: Instant, reason: Reason) {
        self.gives_up_at = None;
        if let Some(token) = self.leads.take() {
            self.outputs.push_back(Output::SteppedDown { token, reason, drain_until: now });
        }
    }

    fn begin(&mut self, now: Instant) {
        if !self.takes_part {
            (self.takes_part, self.again_at) = (true, None);
            self.attempt(now);
        }
    }

    fn leave(&mut self, now: Instant, again_after: Option<Duration>) {
        self.takes_part = false;
        (self.next, self.again_at) = (None, again_after.map(|wait| now + wait));
        if self.holds_the_lease() {
            self.put(now, true);
        }
        self.lose(now, Reason::Resigned);
    }

    fn wake(&mut self, now: Instant) {
        if self.gives_up_at.is_some_and(|at| at <= now) {
            self.lose(now, Reason::Expired);
        }
        if self.again_at.is_some_and(|at| at <= now) {
            self.begin(now);
        }
        if self.asked.is_some_and(|(_, until)| until <= now) {
            self.later(now);
        }
        if self.next.is_some_and(|at| at <= now) {
            self.attempt(now);
        }
    }
}

impl Algorithm for RenewDeadline {
    type Id = u64;
    type Request = Request;
    type Reply = Reply;
    type Store = Option<Record>;
    const TIMERS: Timers = Timers::Monotonic;

    fn new(config: &Config, _: usize, seed: u128) -> Self {
        Self {
            me: seed,
            lease: config.ttl(),
            // As in its defaults: 10 s of 15 s.
            gives_up_after: config.ttl() * 2 / 3,
            retry: retry(config),
            takes_part: false,
            leads: None,
            seen: None,
            last_id: 0,
            asked: None,
            next: None,
            gives_up_at: None,
            again_at: None,
            outputs: VecDeque::new(),
        }
    }

    fn handle(&mut self, now: Instant, input: Input<u64, Reply>) {
        match input {
            Input::Campaign => self.begin(now),
            Input::Resign { again_after } => self.leave(now, again_after),
            Input::Reply { id, reply } => self.answered(now, id, reply),
            Input::Wake => self.wake(now),
            Input::Drained | Input::Resumed | Input::Hint => {}
        }
    }

    fn poll(&mut self) -> Option<Output<u64, Request>> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        let gives_up_asking = self.asked.map(|(_, until)| until);
        [self.next, self.gives_up_at, self.again_at, gives_up_asking].into_iter().flatten().min()
    }

    fn leads(&self, _: Instant) -> Option<Lead> {
        self.leads.map(|token| Lead { token, until: Instant::FAR_FUTURE })
    }

    fn serve(store: &mut Option<Record>, at: Visit, request: Request) -> Served<Reply> {
        let served = |reply| Served { reply, hints: false, granted: false };
        let Request::Put { version, me, release, lease, renews } = request else {
            return served(Reply::Found(*store));
        };
        if store.map(|record| record.version) != version {
            return served(Reply::Conflict { renews: renews.is_some() });
        }
        let was = store.map(|record| (record.holder, record.token));
        let token = match was {
            Some((holder, token)) if release || holder == Some(me) => token,
            Some((_, token)) => ordinal(token, at),
            None => ordinal(0, at),
        };
        let record = Record {
            version: ordinal(version.unwrap_or(0), at),
            holder: (!release).then_some(me),
            token,
            lease,
        };
        *store = Some(record);
        let granted = was != Some((Some(me), token)) && !release;
        let reply = Reply::Written { record, renews: renews.is_some() };
        Served { reply, hints: false, granted }
    }

    fn kept(store: &Option<Record>) -> Option<Stored> {
        store.map(|record| Stored {
            token: record.token,
            mark: Mark { holder: record.holder.unwrap_or(0), number: record.version },
            released: record.holder.is_none(),
            ends: Ends::Watched(record.lease),
        })
    }

    fn number(id: u64) -> u64 {
        id
    }

    fn asked(request: Request) -> Option<(u128, Asked)> {
        match request {
            Request::Get => None,
            Request::Put { me, release: true, renews, .. } => {
                Some((me, Asked::Release { token: renews.unwrap_or(0) }))
            }
            Request::Put { me, renews: Some(token), .. } => Some((me, Asked::Renew { token })),
            Request::Put { me, renews: None, .. } => {
                Some((me, Asked::Acquire { seen: 0, watched: None }))
            }
        }
    }

    fn answered(reply: Reply) -> Option<Answer> {
        match reply {
            Reply::Found(_) => None,
            Reply::Written { record, .. } if record.holder.is_none() => Some(Answer::Released),
            Reply::Written { renews: true, .. } => Some(Answer::Renewed { past_is_watched: true }),
            Reply::Written { record, renews: false } => {
                Some(Answer::Granted { token: record.token })
            }
            Reply::Conflict { renews: true } => Some(Answer::Superseded),
            Reply::Conflict { renews: false } => Some(Answer::Not { past_is_watched: true }),
        }
    }
}
