//! A recorder that panics costs values alone.

use std::sync::atomic::{AtomicBool, Ordering};

use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
    set_default_local_recorder,
};

use super::recorder::Kept;
use super::support::{Remote, soon, start, steady, until};

/// Panics until it works.
#[derive(Default)]
struct Panics {
    kept: Kept,
    works: AtomicBool,
}

impl Panics {
    fn set(&self, works: bool) {
        self.works.store(works, Ordering::SeqCst);
    }

    fn kept(&self) -> &Kept {
        assert!(self.works.load(Ordering::SeqCst), "on purpose");
        &self.kept
    }
}

impl Recorder for Panics {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, meaning: SharedString) {
        self.kept().describe_counter(name, unit, meaning);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, meaning: SharedString) {
        self.kept().describe_gauge(name, unit, meaning);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, meaning: SharedString) {
        self.kept().describe_histogram(name, unit, meaning);
    }

    fn register_counter(&self, key: &Key, metadata: &Metadata<'_>) -> Counter {
        self.kept().register_counter(key, metadata)
    }

    fn register_gauge(&self, key: &Key, metadata: &Metadata<'_>) -> Gauge {
        self.kept().register_gauge(key, metadata)
    }

    fn register_histogram(&self, key: &Key, metadata: &Metadata<'_>) -> Histogram {
        self.kept().register_histogram(key, metadata)
    }
}

#[tokio::test]
async fn a_recorder_that_panics_costs_values_alone() {
    let recorder = Panics::default();
    let _guard = set_default_local_recorder(&recorder);
    let candidate = start(&Remote::default(), "panics", steady());
    let tenure = soon(candidate.elected()).await.unwrap();
    recorder.set(true);
    let value = |name: &str| recorder.kept.value(name, "panics");
    until(|| value("tenure_renewals_total") > Some(0.0)).await;
    assert!(tenure.is_current());

    // Each panic is counted once, by any recorder of this process.
    until(|| {
        recorder.set(false);
        tenure::metrics::describe();
        recorder.set(true);
        tenure::metrics::describe();
        value("tenure_callback_panics_total") > Some(0.0)
    })
    .await;

    // The gauges have kept count meanwhile.
    soon(candidate.stop()).await.unwrap();
    assert_eq!(value("tenure_leading"), Some(0.0));
    until(|| value("tenure_candidates") == Some(0.0)).await;
}
