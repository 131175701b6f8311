//! One election as its handles, its callbacks, the log and the metrics know it.

mod standing;
mod tenure;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tenure_core::OtherSettings;
use tenure_driver::Verdict;
use tokio::sync::mpsc;

use crate::event::Event;
use crate::logging::{self, LIFE, REQUEST};
use crate::metrics::ElectionMetrics;
use crate::shared::{NewElection, Shared, Standing};
use crate::store::StoreError;
use crate::tenure::Tenure;
use crate::watchdog::WatchedWork;
use crate::{Config, Instant, Token};
use standing::Answer;

pub(super) struct Election {
    pub(super) shared: Arc<Shared>,
    /// The last one.
    tenure: Option<Tenure>,
    /// The tenure's start.
    elected_at: Instant,
    /// The watched work of the present tenure.
    watched: Vec<Arc<WatchedWork>>,
    has_left: bool,
    last_error: Option<Box<StoreError>>,
    /// The last answer, as far as people want to know it.
    answer: Answer,
    /// True if the store has ever answered.
    has_answered: bool,
    /// To the error callbacks, once an error has been reported.
    errors: Option<mpsc::Sender<StoreError>>,
    metrics: ElectionMetrics,
}

/// The most errors that wait for slow callbacks; more are not reported to them.
const ERRORS: usize = 64;

impl Drop for Election {
    fn drop(&mut self) {
        if !self.has_left {
            if let Some(tenure) = &self.tenure {
                tenure.step_down(tenure.drain_until());
            }
            self.shared.abandoned();
        }
        // Dropping callbacks runs the application's code.
        if let Some(callbacks) = self.shared.callbacks.take()
            && self.shared.runtime.available().is_ok()
        {
            self.shared.runtime.spawn(async move { drop(callbacks) }.boxed());
        }
    }
}

impl Election {
    pub(super) fn new(new: NewElection) -> Self {
        let NewElection { shared, metrics, .. } = new;
        Self {
            shared,
            tenure: None,
            elected_at: Instant::ORIGIN,
            watched: Vec::new(),
            has_left: false,
            last_error: None,
            answer: Answer::Other,
            has_answered: false,
            errors: None,
            metrics,
        }
    }

    fn config(&self) -> &Config {
        &self.shared.settings.chosen.config
    }

    pub(super) fn request_timeout(&self) -> Duration {
        self.config().request_timeout()
    }

    pub(super) fn hold_off(&self) -> Duration {
        self.shared.settings.chosen.hold_off
    }

    /// Its name is known from the store's answer.
    pub(super) fn incumbent_changed(&self, token: Token) {
        let key = &self.shared.key;
        let said = "another candidate has the lease";
        match &self.answer {
            Answer::Held(seen) if seen.incumbent.token == token => {
                logging::info!(target: LIFE, ?key, %token, incumbent = &*seen.incumbent.name, "{said}");
            }
            Answer::Held(_) | Answer::Other => {
                logging::info!(target: LIFE, ?key, %token, "{said}");
            }
        }
        self.shared.events.publish(|| Event::IncumbentChanged { token });
    }

    pub(super) fn watches_past(&mut self, now: Instant, until: Instant) {
        let remaining = until.since(now);
        let own_quarantine = self.config().quarantine();
        let longer = if remaining > own_quarantine {
            "; that is longer than this candidate's quarantine, since a candidate with a longer TTL has led"
        } else {
            ""
        };
        logging::warn!(
            target: LIFE, key = ?self.shared.key, ?remaining, ?own_quarantine,
            "the store is new to this prefix, was restarted, or lost data: nobody is granted the lease \
             before the longest lease of an older leader would have ended{longer}"
        );
        self.metrics.watching(now, until);
        self.shared.events.publish(|| Event::Watching { remaining });
    }

    pub(super) fn contradicted(&self, other: OtherSettings) {
        let (key, ttl, quarantine) = (&self.shared.key, other.ttl(), other.quarantine());
        let (own_ttl, own_quarantine) = (self.config().ttl(), self.config().quarantine());
        if matches!(self.answer, Answer::Other) {
            logging::warn!(
                target: LIFE, ?key, ?own_ttl, ?own_quarantine, ?ttl, ?quarantine,
                "the last leader, which gave the lead back, had a TTL above the own quarantine, or a quarantine \
                 below the own TTL: waiting once for the longer of its TTL and its quarantine, unless other \
                 candidates have these settings still"
            );
        } else {
            logging::error!(
                target: LIFE, ?key, ?own_ttl, ?own_quarantine, ?ttl, ?quarantine,
                "another candidate of this election has a TTL above the own quarantine, or a quarantine below \
                 the own TTL, so that each handover between them takes the longer of its TTL and its \
                 quarantine: set the quarantine of every candidate to the longest TTL in use"
            );
        }
        self.metrics.contradicted();
        self.shared.events.publish(|| Event::SettingsContradict { ttl, quarantine });
    }

    /// The error of the last request that has failed since the store last answered.
    pub(super) fn last_error(&self) -> Option<StoreError> {
        self.last_error.as_deref().cloned()
    }

    pub(super) fn store_is_unavailable(&mut self, since: Instant, error: StoreError) {
        self.metrics.store_is_down();
        self.shared.standing.store_is_unavailable(since, error.clone());
        self.shared.events.publish(|| Event::StoreUnavailable { error });
    }

    pub(super) fn store_answers_again(&mut self) {
        self.last_error = None;
        self.metrics.store_is_up();
        self.shared.standing.store_answers();
        self.shared.events.publish(|| Event::StoreRecovered);
    }

    /// A request was answered, has failed or was given up.
    pub(super) fn request_ended(
        &mut self,
        now: Instant,
        request: &'static str,
        took: Duration,
        verdict: Verdict,
    ) {
        self.metrics.answered(now, request, took, verdict);
        if verdict != Verdict::Unknown {
            logging::debug!(target: REQUEST, key = ?self.shared.key, request, ?took, "answered");
        }
    }

    pub(super) fn failed(&mut self, error: StoreError) {
        let shared = &self.shared;
        if shared.callbacks.has_error_callbacks() {
            let report = self.errors.get_or_insert_with(|| {
                let (report, mut reports) = mpsc::channel(ERRORS);
                let callbacks = shared.callbacks.clone();
                let run = async move {
                    while let Some(error) = reports.recv().await {
                        callbacks.store_error(&error).await;
                    }
                };
                shared.runtime.spawn(run.boxed());
                report
            });
            // Callbacks that are too slow miss errors.
            let _ = report.try_send(error.clone());
        }
        if self.last_error.is_some() {
            shared.standing.store_failed_again(error.clone());
        }
        self.last_error = Some(Box::new(error));
    }

    pub(super) fn left(&mut self, now: Instant) {
        self.has_left = true;
        logging::info!(target: LIFE, key = ?self.shared.key, "left the election");
        self.shared.standing.set(Standing::Stopped, now);
        self.shared.events.publish(|| Event::Stopped);
        self.shared.events.close();
    }
}
