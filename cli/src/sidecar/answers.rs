//! The sidecar's answers, and the lead that it keeps for those that rely on it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tenure::runtime::{Runtime, TokioRuntime};
use tenure::{Candidate, Health, Instant, Role, Tenure, Token};
use tokio::sync::watch;

use crate::health::not_ready;

/// The candidate, and what was answered of it.
///
/// **Guarantee**: from the moment when an answer is computed, and for the validity in it, no other
/// candidate leads, under the assumptions of the library. For a claim that runs out, that is the
/// claim itself. For a lead that is given back or handed over,
/// [`keep_promises`](Self::keep_promises) delays that.
///
/// **Not guaranteed**: anything after that time, or if the store loses the lease and says so.
#[derive(Debug)]
pub(super) struct Answers {
    candidate: Candidate,
    ttl: Duration,
    valid_for: Duration,
    /// Until when answers may be relied on that have this candidate's lead in them.
    promised: Mutex<Instant>,
    /// The time of the last question.
    asked: watch::Sender<Instant>,
    /// The tenure under which promises are kept: no answer has the lead of another one in it.
    kept_under: Mutex<Option<Token>>,
}

/// The answer to `GET /`, as `docs/schemas/sidecar.json` has it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Standing<'a> {
    key: &'a str,
    name: &'a str,
    leads: bool,
    token: Option<Token>,
    valid_ms: u64,
    leader: Option<Leader>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Leader {
    name: String,
    token: Token,
}

impl Answers {
    pub(super) fn new(candidate: Candidate, ttl: Duration, valid_for: Duration) -> Self {
        let now = TokioRuntime.now();
        let (asked, _) = watch::channel(now);
        let (promised, kept_under) = (Mutex::new(now), Mutex::new(None));
        Self { candidate, ttl, valid_for, promised, asked, kept_under }
    }

    /// The answer to a reader.
    pub(super) fn reply(&self) -> Standing<'_> {
        let standing = self.standing();
        // Afterwards: a promise ends before the silence that follows it.
        self.asked.send_replace(TokioRuntime.now());
        standing
    }

    /// Ends once no reader has asked for that long.
    pub(super) async fn silence(&self, time: Duration) {
        loop {
            let silent_at = *self.asked.borrow() + time;
            if TokioRuntime.now() >= silent_at {
                return;
            }
            TokioRuntime.sleep_until(silent_at).await;
        }
    }

    /// Promises are kept no more. Ends once a reader asks again.
    pub(super) async fn give_up(&self) {
        self.keep_under(None);
        // An error is the end of the sender, which lives here.
        let _ = self.asked.subscribe().changed().await;
    }

    fn keep_under(&self, tenure: Option<Token>) {
        *self.kept_under.lock().unwrap_or_else(PoisonError::into_inner) = tenure;
    }

    /// This candidate's standing now. A lead in it is a promise.
    fn standing(&self) -> Standing<'_> {
        let Health { role, .. } = self.candidate.health();
        let kept_under = *self.kept_under.lock().unwrap_or_else(PoisonError::into_inner);
        let valid = match role {
            Role::Leading { token, remaining, .. } if Some(token) == kept_under => {
                remaining.min(self.valid_for)
            }
            _ => Duration::ZERO,
        };
        let valid_ms = u64::try_from(valid.as_millis()).unwrap_or(u64::MAX);
        if valid_ms > 0 {
            // The clock is read after the health, so the promise is never shorter than the answer.
            // No tenure ends in between: its end is noted on this thread, too.
            let mut promised = self.promised.lock().unwrap_or_else(PoisonError::into_inner);
            *promised = (*promised).max(TokioRuntime.now() + valid);
        }
        let (key, name) = (self.candidate.key().as_str(), self.candidate.name());
        let (token, leader) = match role {
            Role::Leading { token, .. } => {
                (Some(token), Some(Leader { name: name.to_owned(), token }))
            }
            // One that is overdue leads no more.
            Role::Following { incumbent, unchanged, .. } if unchanged < incumbent.ttl => {
                (None, Some(Leader { name: incumbent.name, token: incumbent.token }))
            }
            _ => (None, None),
        };
        let leads = valid_ms > 0;
        Standing { key, name, leads, token: token.filter(|_| leads), valid_ms, leader }
    }

    /// The reason for not being ready, if there is one.
    pub(super) fn not_ready(&self) -> Option<String> {
        not_ready(&self.candidate.health(), self.ttl)
    }

    /// The leader's work: it ends once the tenure is over and no answer may be relied on any more.
    /// Until then, the library keeps the lease.
    pub(super) async fn keep_promises(&self, tenure: Tenure) {
        self.keep_under(Some(tenure.token()));
        tenure.ended().await;
        // No answer has this lead in it from here on.
        let promised = *self.promised.lock().unwrap_or_else(PoisonError::into_inner);
        TokioRuntime.sleep_until(promised).await;
    }
}
