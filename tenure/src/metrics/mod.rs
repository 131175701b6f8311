//! Counters, gauges and histograms, through the `metrics` facade: install any recorder of that
//! crate, such as an exporter for Prometheus. Names, labels and meanings are stable, and
//! `docs/operations.md` lists them.
//!
//! The label `key_class` stands for a group of elections. By default it is the part of the key
//! before the first colon: all elections `report:<customer>` count as `report`.
//! [`Metrics::key_class`] sets another mapping.
//!
//! **What is guaranteed**: a process reports at most 100 classes and the class `other`,
//! whatever the number of its elections. The gauges and counters of a class exist from the
//! start of its first candidate. A recorder that panics costs the value alone, and is counted,
//! unless the program's panics abort it.
//!
//! **What is not**: a recorder that is installed after the first candidate has started shows a
//! value only after its next change, and no descriptions unless [`describe`] is called.

mod class;
mod election;
mod table;

use std::fmt;
use std::sync::Arc;

pub(crate) use election::ElectionMetrics;
pub use table::describe;
pub(crate) use table::{callback_panicked, driver_was_late};

use crate::store::Key;

/// The metrics of a candidate. Clones are the same.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tenure::{Elections, metrics::Metrics, store::Memory};
///
/// // The second part of `customer/report/...` is the class.
/// let metrics = Metrics::new()
///     .key_class(|key| key.as_str().split('/').nth(1).unwrap_or("none").to_owned());
/// let elections = Elections::new(Memory::new()).metrics(metrics);
/// let candidate = elections.candidate("acme/report/nightly").start()?;
/// # candidate.stop().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Metrics {
    key_class: Option<Arc<KeyClass>>,
    leader_names: bool,
}

type KeyClass = dyn Fn(&Key) -> String + Send + Sync;

impl Metrics {
    /// The defaults: the class is the key's part before its first colon, and only names that begin
    /// with `tenure_` are used.
    pub fn new() -> Self {
        Self::default()
    }

    /// Maps each key to its class. Called once for each candidate, by the thread that starts it.
    ///
    /// A class has up to 27 time series, ten of them histograms: choose a mapping with few values.
    /// Classes beyond 100 count as `other`.
    #[must_use]
    pub fn key_class(mut self, class: impl Fn(&Key) -> String + Send + Sync + 'static) -> Self {
        self.key_class = Some(Arc::new(class));
        self
    }

    /// Sets whether to count also under the four names that other libraries have used, for
    /// dashboards that exist: `leader_acquired_total`, `leader_lost_total`, `leader_renewals_total`
    /// and `leader_renewal_failures_total`, each with the single label `key_class`. Default: no.
    #[must_use]
    pub fn leader_names(mut self, count: bool) -> Self {
        self.leader_names = count;
        self
    }

    /// The metrics of a candidate in that election, which takes part from now on.
    pub(crate) fn of(&self, key: &Key) -> ElectionMetrics {
        let class = match &self.key_class {
            Some(mapping) => class::of(&mapping(key)),
            None => class::of(key.class()),
        };
        ElectionMetrics::new(class, self.leader_names)
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics")
            .field("maps_keys", &self.key_class.is_some())
            .field("leader_names", &self.leader_names)
            .finish()
    }
}
