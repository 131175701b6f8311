//! Counters of renewals.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use tenure_bench::Outcome;

use crate::meter::Read;

/// Longer than a server is ever paused here.
const PATIENCE: Duration = Duration::from_secs(10);

/// A Redis server's own count, over a connection of its own that is opened again after each
/// failure.
pub(crate) fn at_redis(port: u16) -> Outcome<Read> {
    let client = redis::Client::open(("127.0.0.1", port))?;
    let mut connection = None;
    Ok(Box::new(move || {
        let mut open = match connection.take() {
            Some(open) => open,
            None => client.get_connection_with_timeout(PATIENCE).ok()?,
        };
        open.set_read_timeout(Some(PATIENCE)).ok()?;
        let counted = renewals(&mut open).ok();
        connection = counted.map(|_| open);
        counted
    }))
}

/// The number of leases that the server has written since it started: a renewal writes its record
/// by one HSET, however many renewals one call consists of.
pub(crate) fn renewals(connection: &mut redis::Connection) -> Outcome<u64> {
    let stats: String = redis::cmd("INFO").arg("commandstats").query(connection)?;
    let calls = stats.lines().find_map(|line| line.strip_prefix("cmdstat_hset:calls="));
    let number = calls.and_then(|calls| calls.split(',').next());
    Ok(number.map_or(Ok(0), str::parse)?)
}

/// The driver's count of the renewals that were answered.
pub(crate) fn of_driver() -> Outcome<Read> {
    let counted = Arc::new(AtomicU64::new(0));
    metrics::set_global_recorder(OfRenewals(Arc::clone(&counted)))?;
    Ok(Box::new(move || Some(counted.load(Ordering::Relaxed))))
}

/// Counts renewals and nothing else.
struct OfRenewals(Arc<AtomicU64>);

impl Recorder for OfRenewals {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        match key.name() {
            "tenure_renewals_total" => Counter::from_arc(Arc::clone(&self.0)),
            _ => Counter::noop(),
        }
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}
