//! Mutants of the driver and the handles.

use super::super::{Mutant, Shows};

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "leadership-without-clock",
        about: "whether a candidate leads is a flag that no clock ends",
        shows: Shows::Turmoil("pause,partition"),
        caught_by: &["fail-closed", "single-leader"],
    },
    Mutant {
        name: "release-before-work-ends",
        about: "the driver hands the lease back before the work has ended",
        shows: Shows::Turmoil("resign"),
        caught_by: &["no-release-under-work"],
    },
    Mutant {
        name: "replies-matched-by-number",
        about: "the driver passes a reply to any election with a request of the same number",
        shows: Shows::Overload,
        caught_by: &["single-leader", "token-monotonic"],
    },
    Mutant {
        name: "released-under-callbacks",
        about: "the driver hands the lease back while callbacks about the end are running",
        shows: Shows::Turmoil("resign"),
        caught_by: &["no-release-under-work"],
    },
    Mutant {
        name: "callbacks-not-counted-as-work",
        about: "callbacks that run when elected continue after the tenure, and the lease is handed back meanwhile",
        shows: Shows::Turmoil("resign,partition"),
        caught_by: &["no-release-under-work", "drains-within-bounds"],
    },
    Mutant {
        name: "callbacks-without-bound",
        about: "a resignation waits for callbacks beyond the drain bound",
        shows: Shows::Turmoil("resign"),
        caught_by: &["resigned-within"],
    },
    Mutant {
        name: "lead-ended-by-the-driver-alone",
        about: "a candidate that resigns keeps leading until its driver runs",
        shows: Shows::Turmoil("starve,resign,leave"),
        caught_by: &["resigned-at-once"],
    },
    Mutant {
        name: "resignation-bounded-by-the-driver-alone",
        about: "the caller of a resignation waits until the driver runs",
        shows: Shows::Turmoil("starve,resign"),
        caught_by: &["resigned-within"],
    },
    Mutant {
        name: "resignation-never-confirmed",
        about: "the caller of a resignation is not answered although the candidate has withdrawn",
        shows: Shows::Turmoil("resign"),
        caught_by: &["resigned-within"],
    },
    Mutant {
        name: "looks-bounded-by-the-driver-alone",
        about: "the caller of a look waits until the driver runs",
        shows: Shows::Turmoil("starve"),
        caught_by: &["looks-within"],
    },
    Mutant {
        name: "end-told-by-the-driver-alone",
        about: "work learns of its tenure's end from the driver only, and not from its own clock",
        shows: Shows::Turmoil("starve"),
        caught_by: &["told-of-the-end"],
    },
    Mutant {
        name: "end-not-told",
        about: "work does not learn that its tenure is over, and is dropped at its drain bound",
        shows: Shows::Turmoil("resign"),
        caught_by: &["told-of-the-end"],
    },
    Mutant {
        name: "work-polled-late",
        about: "work is polled once more after its time to drain",
        shows: Shows::Turmoil("pause,starve,partition"),
        caught_by: &["drains-within-bounds"],
    },
    Mutant {
        name: "due-before-what-has-happened",
        about: "after another election's stop, timers of an election fire before its own stop is handled",
        shows: Shows::Turmoil("starve,leave"),
        caught_by: &["stays-out"],
    },
    Mutant {
        name: "suspend-told-to-one-election",
        about: "only one election of a driver learns that the machine was suspended",
        shows: Shows::Overload,
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "dropped-look-ends-the-connection",
        about: "a look calls the store in its caller's task, and dropping it costs all elections the connection",
        shows: Shows::Turmoil("resign"),
        caught_by: &["answered-when-healthy"],
    },
    Mutant {
        name: "ended-election-left-in-the-queue",
        about: "an election that ends before its place in the queue is admitted leaves that place behind",
        shows: Shows::Overload,
        caught_by: &["driver-runs-on"],
    },
    Mutant {
        name: "stop-not-reported",
        about: "the driver does not report that a candidate has left the election for good",
        shows: Shows::Overload,
        caught_by: &["stopped-within"],
    },
    Mutant {
        name: "log-line-not-guarded",
        about: "a log line whose subscriber panics ends the driver",
        shows: Shows::Turmoil("resign"),
        caught_by: &["driver-runs-on"],
    },
    Mutant {
        name: "hints-dropped",
        about: "the driver does not pass hints to the state machine",
        shows: Shows::Both("resign"),
        caught_by: &["handover-within"],
    },
    Mutant {
        name: "work-never-dropped",
        about: "work that does not end in its time to drain continues",
        shows: Shows::Turmoil("resign,partition,pause"),
        caught_by: &["drains-within-bounds"],
    },
];
