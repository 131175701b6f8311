//! The names of all metrics, with kinds, units and meanings. A test compares this table with
//! `docs/operations.md`.

use std::time::Duration;

use metrics::{Key, Level, Metadata, Recorder, Unit, with_recorder};

use crate::logging::{count_panics, guarded};

pub(super) const CANDIDATES: &str = "tenure_candidates";
pub(super) const LEADING: &str = "tenure_leading";
pub(super) const STORE_UP: &str = "tenure_store_up";
pub(super) const WATCHING: &str = "tenure_watching_seconds";
pub(super) const ELECTED: &str = "tenure_elected_total";
pub(super) const STEPPED_DOWN: &str = "tenure_stepped_down_total";
pub(super) const RENEWALS: &str = "tenure_renewals_total";
pub(super) const LATE_RENEWALS: &str = "tenure_late_renewals_total";
pub(super) const RENEWAL_FAILURES: &str = "tenure_renewal_failures_total";
pub(super) const VALIDITY_LEFT: &str = "tenure_validity_left_ratio";
pub(super) const REQUEST: &str = "tenure_request_seconds";
pub(super) const CONTRADICTIONS: &str = "tenure_contradictions_total";
pub(super) const WORK_LOST: &str = "tenure_work_lost_total";
const CALLBACK_PANICS: &str = "tenure_callback_panics_total";
const DRIVER_LATE: &str = "tenure_driver_late_seconds";

/// The names that other libraries have used, and the names of which they are aliases.
pub(super) const LEADER_NAMES: [(&str, &str); 4] = [
    ("leader_acquired_total", ELECTED),
    ("leader_lost_total", STEPPED_DOWN),
    ("leader_renewals_total", RENEWALS),
    ("leader_renewal_failures_total", RENEWAL_FAILURES),
];

/// From then on a late driver is counted. Timers of the operating system are late by less on a
/// machine that is not overloaded.
const LATE: Duration = Duration::from_millis(100);

pub(super) static METADATA: Metadata<'static> = Metadata::new("tenure", Level::INFO, None);

enum Kind {
    Counter,
    Gauge,
    Histogram,
}

use Kind::{Counter, Gauge, Histogram};

type Row = (&'static str, Kind, Unit, &'static str);

const TABLE: [Row; 15] = [
    (CANDIDATES, Gauge, Unit::Count, "candidates of this process that take part in an election"),
    (LEADING, Gauge, Unit::Count, "candidates of this process that lead"),
    (STORE_UP, Gauge, Unit::Count, "1 if the last request of every candidate was answered, else 0"),
    (
        WATCHING,
        Gauge,
        Unit::Seconds,
        "how long a candidate must still watch a store that may have lost data; the longest of the class, as of its last \
         answer",
    ),
    (ELECTED, Counter, Unit::Count, "tenures that began"),
    (STEPPED_DOWN, Counter, Unit::Count, "tenures that ended"),
    (RENEWALS, Counter, Unit::Count, "renewals that extended a tenure"),
    (
        LATE_RENEWALS,
        Counter,
        Unit::Count,
        "renewals among them that came when less than a third of the validity was left",
    ),
    (RENEWAL_FAILURES, Counter, Unit::Count, "renewals with an unknown outcome"),
    (
        VALIDITY_LEFT,
        Histogram,
        Unit::Count,
        "the part of the validity that was left when a renewal was answered, from 0 to 1",
    ),
    (
        REQUEST,
        Histogram,
        Unit::Seconds,
        "the time from a request to its reply, or until it was given up",
    ),
    (
        CONTRADICTIONS,
        Counter,
        Unit::Count,
        "times that a candidate's settings were found to contradict another candidate's",
    ),
    (
        WORK_LOST,
        Counter,
        Unit::Count,
        "times that leader-only work was lost, or failed, under a current tenure",
    ),
    (
        CALLBACK_PANICS,
        Counter,
        Unit::Count,
        "callbacks that panicked, and calls of the log's subscriber or the recorder that did",
    ),
    (
        DRIVER_LATE,
        Histogram,
        Unit::Seconds,
        "by how much the driver was late for a deadline, if by 0.1 s or more: the process was paused, the machine \
         suspended, or the async runtime blocked",
    ),
];

/// Describes all metrics to the recorder. The start of a driver does so too: only a recorder that
/// is installed later needs this call.
pub fn describe() {
    for (name, kind, unit, meaning) in TABLE {
        let (name, unit, meaning) = (name.into(), Some(unit), meaning.into());
        report(|recorder| match kind {
            Counter => recorder.describe_counter(name, unit, meaning),
            Gauge => recorder.describe_gauge(name, unit, meaning),
            Histogram => recorder.describe_histogram(name, unit, meaning),
        });
    }
    for (alias, name) in LEADER_NAMES {
        let meaning = format!("the same as {name}").into();
        report(|recorder| recorder.describe_counter(alias.into(), Some(Unit::Count), meaning));
    }
}

/// Calls the recorder. One that panics costs the value, and is counted once one is taken.
pub(super) fn report(call: impl FnOnce(&dyn Recorder)) {
    guarded(|| with_recorder(call));
    count_panics(|panics| with_recorder(|recorder| add_panics(recorder, panics)));
}

fn add_panics(recorder: &dyn Recorder, panics: u64) {
    static KEY: Key = Key::from_static_name(CALLBACK_PANICS);
    recorder.register_counter(&KEY, &METADATA).increment(panics);
}

/// A panic in a callback of the application.
pub(crate) fn callback_panicked() {
    report(|recorder| add_panics(recorder, 1));
}

/// The driver met a deadline that late.
pub(crate) fn driver_was_late(by: Duration) {
    static KEY: Key = Key::from_static_name(DRIVER_LATE);
    if by >= LATE {
        report(|recorder| recorder.register_histogram(&KEY, &METADATA).record(by));
    }
}
