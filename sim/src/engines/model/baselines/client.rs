//! The client library of a candidate: the requests in flight, and their retries.

use std::time::Duration;

use tenure_core::Instant;

use super::model::{Ask, Want};

/// The delay before it repeats a request that was refused.
const REPEATS: Duration = Duration::from_millis(100);

/// One candidate's client.
#[derive(Clone, Debug)]
pub(super) struct Client {
    holder: u128,
    ttl: Duration,
    /// The time for which it repeats a request before it reports the refusal.
    patience: Duration,
    /// The server of its connection, once it has answered.
    server: Option<u32>,
    last_id: u64,
    unanswered: Vec<(u64, Want)>,
    repeats: Vec<(Instant, Want)>,
    refused_since: Option<Instant>,
}

impl Client {
    pub(super) const fn new(holder: u128, ttl: Duration, patience: Duration) -> Self {
        Self {
            holder,
            ttl,
            patience,
            server: None,
            last_id: 0,
            unanswered: Vec::new(),
            repeats: Vec::new(),
            refused_since: None,
        }
    }

    /// A request about the tenure with that ordinal, if there is one.
    pub(super) fn ask(&mut self, want: Want, token: Option<u64>) -> (u64, Ask) {
        self.last_id += 1;
        self.unanswered.push((self.last_id, want));
        let (holder, ttl, server) = (self.holder, self.ttl, self.server);
        (self.last_id, Ask { want, holder, ttl, token: token.unwrap_or(0), server })
    }

    /// The kind of a request, if this is the first answer to it.
    pub(super) fn first_answer(&mut self, id: u64) -> Option<Want> {
        let place = self.unanswered.iter().position(|(of, _)| *of == id)?;
        Some(self.unanswered.swap_remove(place).1)
    }

    /// True if a request is in flight for which the next one would wait.
    pub(super) fn is_busy(&self) -> bool {
        let asks = self.unanswered.iter().any(|(_, want)| *want != Want::Tidy);
        asks || !self.repeats.is_empty()
    }

    /// A server has answered.
    pub(super) const fn succeeds(&mut self, server: u32) {
        self.server = Some(server);
        self.refused_since = None;
    }

    /// A request was refused. Returns false if the time for repeats is over.
    pub(super) fn repeats(&mut self, now: Instant, want: Want) -> bool {
        let since = *self.refused_since.get_or_insert(now);
        let is_patient = now.since(since) < self.patience;
        if is_patient {
            self.repeats.push((now + REPEATS, want));
        } else {
            self.reconnects();
        }
        is_patient
    }

    /// The requests that are to be repeated now.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<Want> {
        let due = self.repeats.extract_if(.., |(at, _)| *at <= now);
        due.map(|(_, want)| want).collect()
    }

    pub(super) fn next_repeat(&self) -> Option<Instant> {
        self.repeats.iter().map(|(at, _)| *at).min()
    }

    /// The next request goes over another connection.
    pub(super) const fn reconnects(&mut self) {
        self.server = None;
        self.refused_since = None;
    }

    /// Drops all repeats: their caller no longer waits.
    pub(super) fn forgets_repeats(&mut self) {
        self.repeats.clear();
    }
}
