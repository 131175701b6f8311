//! From settings to a running candidate.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::time::Duration;

use bytes::Bytes;
use tenure_core::Seed;

use super::default_name::default_name;
use super::{Candidate, Elections};
use crate::deadline::Deadline;
use crate::driver::Driver;
use crate::event::Events;
use crate::logging::{self, LIFE};
use crate::metrics::Metrics;
use crate::runtime::NoRuntime;
use crate::shared::{Announced, Callbacks, Chosen, Command, NewElection, Replaced, Shared};
use crate::store::{AnyStore, Key, LimitError, Profile, Store, StoreError};
use crate::trace::{Log, TraceError};
use crate::{Config, ConfigError, Remedy, StepDownReason, Tenure};

/// Builds a candidate.
#[derive(Debug)]
#[must_use]
pub struct CandidateBuilder {
    driver: DriverChoice,
    pub(super) key: String,
    pub(super) name: Option<String>,
    pub(super) metadata: Bytes,
    pub(super) config: Config,
    pub(super) hold_off: Option<Duration>,
    keeps_lead_without_work: bool,
    callbacks: Callbacks,
    log: Option<Log>,
    metrics: Option<Metrics>,
}

/// The choice of the driver.
#[derive(Debug)]
enum DriverChoice {
    /// A driver of its own.
    Alone(AnyStore),
    /// The driver of other elections.
    Shared(Elections),
}

impl DriverChoice {
    fn elections(&self) -> Elections {
        match self {
            Self::Alone(store) => Elections::new(store.clone()),
            Self::Shared(elections) => elections.clone(),
        }
    }
}

/// A failure to start a candidate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A key, name or metadata is too short or too long.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The settings are not possible with this store.
    #[error("these settings can't hold with the store {store}{}", for_example(source))]
    Config {
        /// The store's kind.
        store: &'static str,
        /// The settings, and why.
        source: ConfigError,
    },
    /// The TTL is shorter than the store can keep.
    #[error(
        "ttl is {ttl:?}; the store {store} can't keep leases shorter than {least:?}: set ttl to that"
    )]
    TtlTooShort {
        /// The store's kind.
        store: &'static str,
        /// The TTL.
        ttl: Duration,
        /// The least.
        least: Duration,
    },
    /// The renew interval is shorter than the store can show.
    #[error(
        "renew interval is {interval:?}; the store {store} can't show renewals less than {least:?} apart: set renew \
         interval to that, or a longer ttl"
    )]
    RenewIntervalTooShort {
        /// The store's kind.
        store: &'static str,
        /// The renew interval.
        interval: Duration,
        /// The least.
        least: Duration,
    },
    /// No async runtime runs here, or one that lacks timers or I/O.
    #[error(transparent)]
    NoRuntime(#[from] NoRuntime),
    /// The operating system has no randomness to give.
    #[error("no random holder id")]
    Entropy(#[source] io::Error),
    /// The driver that this candidate should share has ended; or [`build`](CandidateBuilder::build)
    /// should return it, and it was taken or started before.
    #[error("the driver of these elections is gone, or was taken or started before")]
    DriverGone,
    /// The candidate can't write to its log.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

/// The end of a sentence about refused settings.
fn for_example(refused: &ConfigError) -> String {
    refused.remedy().map_or_else(String::new, |remedy| format!(": {remedy}, for example"))
}

impl CandidateBuilder {
    pub(super) fn alone(store: AnyStore, key: &str) -> Self {
        Self::new(DriverChoice::Alone(store), key)
    }

    pub(super) fn shared(elections: Elections, key: &str) -> Self {
        Self::new(DriverChoice::Shared(elections), key)
    }

    fn new(driver: DriverChoice, key: &str) -> Self {
        Self {
            driver,
            key: key.to_owned(),
            name: None,
            metadata: Bytes::new(),
            config: Config::default(),
            hold_off: None,
            keeps_lead_without_work: false,
            callbacks: Callbacks::default(),
            log: None,
            metrics: None,
        }
    }

    /// The candidate's name, for people: up to 128 bytes.
    ///
    /// Default: `host-pid-boot`, with up to 64 bytes of the host's name and 8 digits of the
    /// machine's boot id, such as `web-7f9c-1-3fa9c1d2`. The process id alone is 1 in most
    /// containers. A host's name that can't be read is `unknown-host`. The boot id is known on
    /// Linux only; elsewhere it is 8 random digits, which the process keeps.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets data about the leader for other candidates, such as its address: up to 4,096 bytes.
    /// Default: nothing.
    pub fn metadata(mut self, metadata: impl Into<Bytes>) -> Self {
        self.metadata = metadata.into();
        self
    }

    /// The settings: TTL, renewals, bounds. Default: [`Config::normal`].
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// The settings as they were chosen, by code or by [variables](Self::settings_from_env): for a
    /// program that derives times of its own from them. A store that counts in whole seconds makes
    /// the claim shorter than they say.
    pub fn chosen_config(&self) -> &Config {
        &self.config
    }

    /// The time to hold off after [`Candidate::resign`], or after work was lost,
    /// [silent](crate::Tenure::watchdog) or [failed](Candidate::try_run_while_leader), so that
    /// another candidate can take over. Default: the renew interval.
    pub fn hold_off(mut self, hold_off: Duration) -> Self {
        self.hold_off = Some(hold_off);
        self
    }

    /// Sets whether it continues to lead, and to campaign, when work of
    /// [`run_while_leader`](Candidate::run_while_leader), [`run_until`](Candidate::run_until) or
    /// their `try_` forms panics or is dropped. Default: no, the candidate resigns or gives its
    /// campaign up, and campaigns again once such work is offered again and the hold-off is over,
    /// because a leader without work keeps all others from doing it.
    ///
    /// Errors of [`try_run_while_leader`](Candidate::try_run_while_leader) resign the lead
    /// nevertheless.
    pub fn keep_lead_without_work(mut self, keep: bool) -> Self {
        self.keeps_lead_without_work = keep;
        self
    }

    /// Calls back after each election, also the first: [`Candidate::on_elected`] misses one that
    /// came before its call.
    pub fn on_elected<F>(self, callback: impl Fn(Tenure) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.callbacks.on_elected(callback);
        self
    }

    /// Calls back after each end of a tenure; see [`Candidate::on_stepped_down`].
    pub fn on_stepped_down<F>(
        self,
        callback: impl Fn(Tenure, StepDownReason) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.callbacks.on_stepped_down(callback);
        self
    }

    /// Calls back after each request to the store that failed; see [`Candidate::on_store_error`].
    pub fn on_store_error(self, callback: impl Fn(&StoreError) + Send + Sync + 'static) -> Self {
        self.callbacks.on_store_error(callback);
        self
    }

    /// Writes each transition of this candidate to a [log](crate::trace). Default: the log of
    /// [`Elections::trace`], or none.
    pub fn trace(mut self, log: Log) -> Self {
        self.log = Some(log);
        self
    }

    /// Sets this candidate's metrics: its [`key_class`](Metrics::key_class). Default: the metrics
    /// of [`Elections::metrics`], or [`Metrics::new`].
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Starts campaigning, in a background task of the current runtime. Succeeds whether or not the
    /// store can be reached: the candidate campaigns until it can.
    ///
    /// # Errors
    /// See [`StartError`]. A server that refuses this program, such as for a wrong password, is no
    /// error here: see [`first_attempt`](Candidate::first_attempt).
    pub fn start(self) -> Result<Candidate, StartError> {
        let elections = self.driver.elections();
        elections.spawn()?;
        join(self.prepare(&elections)?, &elections)
    }

    /// Like [`start`](Self::start), but returns the driver for the caller to run.
    ///
    /// # Errors
    /// If a setting is not possible, or the driver that this candidate shares was taken before.
    pub fn build(self) -> Result<(Candidate, Driver), StartError> {
        let elections = self.driver.elections();
        let new = self.prepare(&elections)?;
        // Only now: with settings that are refused, the driver would be dropped, and the elections
        // be over for good.
        let driver = elections.driver().ok_or(StartError::DriverGone)?;
        Ok((join(new, &elections)?, driver))
    }

    /// Checks all settings. Nothing has begun yet.
    fn prepare(self, elections: &Elections) -> Result<Box<NewElection>, StartError> {
        let store = elections.store();
        let traits = store.traits();
        let (store, ttl, least) = (traits.name, self.config.ttl(), traits.least_ttl);
        let config = traits.config(self.config).map_err(|source| match source.remedy() {
            // The store refuses that value too; it accepts its least TTL, as a longer one.
            Some(Remedy::Time { setting: "ttl", value }) if value < least => {
                StartError::TtlTooShort { store, ttl, least }
            }
            _ => StartError::Config { store, source },
        })?;
        if ttl < least {
            return Err(StartError::TtlTooShort { store, ttl, least });
        }
        let (interval, least) = (config.renew_interval(), traits.least_renew_interval);
        if interval < least {
            return Err(StartError::RenewIntervalTooShort { store, interval, least });
        }
        let explanation = config.explain();
        for promise in traits.gives_up {
            logging::warn!(target: LIFE, store = traits.name, ?promise, "this store gives up a promise");
        }
        let key = Key::new(&self.key)?;
        let name = self.name.map_or_else(default_name, Arc::from);
        let profile = Profile::of(Arc::clone(&name), &self.metadata)?;
        let log = self.log.or_else(|| elections.log());
        let join =
            |log: Log| log.join(elections.runtime(), config.drift_ppm(), (key.clone(), name));
        let recorder = log.map(join).transpose()?.map(Arc::new);
        let random = elections.runtime().entropy().map_err(StartError::Entropy)?;
        let (seed, phase) = (Seed::new(random), u64::try_from(random >> 64).unwrap_or_default());
        let settings = elections.settings(Chosen {
            profile,
            config,
            longest_stop: explanation.longest_stop,
            hold_off: self.hold_off.unwrap_or(config.renew_interval()),
            keeps_lead_without_work: self.keeps_lead_without_work,
        });
        let metrics = self.metrics.or_else(|| elections.own_metrics()).unwrap_or_default().of(&key);
        let shared = Arc::new(Shared {
            id: elections.next_id(),
            key,
            settings,
            runtime: Arc::clone(elections.runtime()),
            replaced: Replaced::default(),
            leads_until: Deadline::never(),
            events: Events::default(),
            callbacks: self.callbacks,
            offers: AtomicUsize::new(0),
            goes_on_under: AtomicU64::new(0),
            standing: Announced::new(elections.runtime().now()),
            recorder,
        });
        Ok(Box::new(NewElection { shared, seed, phase, metrics }))
    }
}

/// Hands the new election to the driver.
fn join(new: Box<NewElection>, elections: &Elections) -> Result<Candidate, StartError> {
    let candidate = Candidate::new(Arc::clone(&new.shared));
    elections.send(Command::Join(new))?;
    log_settings(candidate.shared(), elections.store().traits().name);
    Ok(candidate)
}

/// All that decides how the candidate behaves, in one line.
fn log_settings(shared: &Shared, store: &'static str) {
    let config = &shared.settings.chosen.config;
    let explained = config.explain();
    logging::info!(
        target: LIFE, key = ?shared.key, name = shared.name(), store,
        ttl = ?config.ttl(), validity = ?config.validity(), renew_interval = ?config.renew_interval(),
        request_timeout = ?config.request_timeout(), stop_margin = ?config.stop_margin(),
        quarantine = ?config.quarantine(), drift_ppm = config.drift_ppm(),
        longest_stop = ?explained.longest_stop, longest_round_trip = ?explained.longest_round_trip,
        "campaigning"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConfigBuilder;
    use crate::store::{Reply, Request, StoreError, StoreTraits};

    /// A store that counts in steps of three seconds, keeps leases of at least eight, and shows a
    /// renewal each second.
    struct Coarse;

    impl Store for Coarse {
        fn traits(&self) -> StoreTraits {
            StoreTraits {
                granularity: Duration::from_secs(3),
                least_ttl: Duration::from_secs(8),
                least_renew_interval: Duration::from_secs(1),
                ..StoreTraits::new("coarse")
            }
        }

        async fn call(&self, _: &Key, _: Request) -> Result<Reply, StoreError> {
            std::future::pending().await
        }
    }

    fn built(config: ConfigBuilder) -> Result<(), StartError> {
        let builder = Candidate::builder(AnyStore::new(Coarse), "job");
        builder.config(config.build().unwrap()).build().map(drop)
    }

    #[tokio::test]
    async fn settings_that_a_store_refuses_have_a_remedy() {
        let of = |seconds| Config::builder(Duration::from_secs(seconds));
        let refused = built(of(5)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "ttl is 5s; the store coarse can't keep leases shorter than 8s: set ttl to that"
        );
        let StartError::TtlTooShort { least, .. } = refused else { panic!("{refused}") };
        assert!(built(Config::builder(least)).is_ok());

        let patient = of(15).request_timeout(Duration::from_millis(1_700));
        let refused = built(patient).unwrap_err();
        let text = refused.to_string();
        let StartError::Config { source, .. } = refused else { panic!("{refused}") };
        let Some(Remedy::Time { setting: "request timeout", value }) = source.remedy() else {
            panic!("{source}")
        };
        let end = format!("the store coarse: set request timeout to {value:?}, for example");
        assert!(text.ends_with(&end), "{text}");
        assert!(built(of(15).request_timeout(value)).is_ok());

        let refused = built(of(15).renew_interval(Duration::from_millis(900))).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "renew interval is 900ms; the store coarse can't show renewals less than 1s apart: set renew interval to \
             that, or a longer ttl"
        );
        assert!(built(of(15).renew_interval(Duration::from_secs(1))).is_ok());

        // Three renewals fit into 4 s, which are below the store's least TTL.
        let refused = built(of(2)).unwrap_err();
        assert!(
            matches!(refused, StartError::TtlTooShort { least, .. } if built(Config::builder(least)).is_ok())
        );
    }
}
