//! Mutants of the driver and the handles.

use super::super::{Edit, Mutant, Shows};

const ELECTION: &str = "tenure/src/driver/election.rs";
const EVENTS: &str = "tenure/src/driver/election/events.rs";
const CALLS: &str = "tenure/src/driver/calls.rs";
const DRIVER: &str = "tenure/src/driver/mod.rs";
const PROGRESS: &str = "tenure/src/store/progress.rs";
const SHARED: &str = "tenure/src/shared/mod.rs";
const TENURE: &str = "tenure/src/tenure.rs";
const CANDIDATE: &str = "tenure/src/candidate/mod.rs";

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "leadership-without-clock",
        about: "whether a candidate leads is a flag that no clock ends",
        edits: &[Edit {
            file: CANDIDATE,
            from: "shared.leads_until.holds(|| shared.runtime.now())",
            to: "shared.leads_until.holds(|| crate::Instant::from_nanos(2))",
        }],
        shows: Shows::Turmoil("pause,partition"),
        caught_by: &["fail-closed", "single-leader"],
    },
    Mutant {
        name: "release-before-work-ends",
        about: "the driver hands the lease back before the work has ended",
        edits: &[Edit { file: EVENTS, from: "work.wait().await;", to: "drop(work);" }],
        shows: Shows::Turmoil("resign"),
        caught_by: &["no-release-under-work"],
    },
    Mutant {
        name: "replies-matched-by-number",
        about: "the driver passes a reply to any election with a request of the same number",
        edits: &[
            Edit {
                file: CALLS,
                from: "    pub(super) fn is_empty(&self) -> bool {",
                to: "    pub(super) fn awaits(&self, id: RequestId) -> bool {\n        \
                     self.0.iter().any(|call| call.id == id)\n    }\n\n    \
                     pub(super) fn is_empty(&self) -> bool {",
            },
            Edit {
                file: ELECTION,
                from: "    pub(super) fn request_timeout(&self)",
                to: "    pub(super) fn awaits(&self, id: tenure_core::RequestId) -> bool {\n        \
                     self.calls.awaits(id)\n    }\n\n    pub(super) fn request_timeout(&self)",
            },
            Edit {
                file: DRIVER,
                from: "let Some(election) = self.elections.get_mut(&one.election) else { continue };",
                to: "let matching = |(_, other): &(_, &mut Box<Election>)| other.awaits(one.id);\n            \
                     let Some((&of, election)) = self.elections.iter_mut().find(matching) else { continue };",
            },
            Edit {
                file: DRIVER,
                from: "self.step(one.election, Input::Reply",
                to: "self.step(of, Input::Reply",
            },
        ],
        shows: Shows::Turmoil("resign"),
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "released-under-callbacks",
        about: "the driver hands the lease back while callbacks about the end are running",
        edits: &[Edit {
            file: EVENTS,
            from: "let belongs = tenure.work().token();",
            to: "let belongs = ();",
        }],
        shows: Shows::Turmoil("resign"),
        caught_by: &["no-release-under-work"],
    },
    Mutant {
        name: "callbacks-not-counted-as-work",
        about: "callbacks that run when elected continue after the tenure, and the lease is handed back meanwhile",
        edits: &[Edit {
            file: EVENTS,
            from: "let _ = tenure.run(callback).await;",
            to: "drop(tenure);\n                callback.await;",
        }],
        shows: Shows::Turmoil("resign,partition"),
        caught_by: &["no-release-under-work", "drains-within-bounds"],
    },
    Mutant {
        name: "callbacks-without-bound",
        about: "a resignation waits for callbacks beyond the drain bound",
        edits: &[Edit {
            file: EVENTS,
            from: "() = late => logging::warn!",
            to: "() = async { late.await; std::future::pending().await } => logging::warn!",
        }],
        shows: Shows::Turmoil("resign"),
        caught_by: &["resigned-within"],
    },
    Mutant {
        name: "lead-ended-by-the-driver-alone",
        about: "a candidate that resigns keeps leading until its driver runs",
        edits: &[Edit { file: SHARED, from: "self.close();\n        let bound", to: "let bound" }],
        shows: Shows::Turmoil("starve,resign,leave"),
        caught_by: &["resigned-at-once"],
    },
    Mutant {
        name: "resignation-bounded-by-the-driver-alone",
        about: "the caller of a resignation waits until the driver runs",
        edits: &[Edit {
            file: SHARED,
            from: "() = self.runtime.sleep_until(bound) => {",
            to: "() = async { let _ = bound; std::future::pending().await } => {",
        }],
        shows: Shows::Turmoil("starve,resign"),
        caught_by: &["resigned-within"],
    },
    Mutant {
        name: "resignation-never-confirmed",
        about: "the caller of a resignation is not answered although the candidate has withdrawn",
        edits: &[Edit {
            file: EVENTS,
            from: "let _ = done.send(());",
            to: "std::mem::forget(done);",
        }],
        shows: Shows::Turmoil("resign"),
        caught_by: &["resigned-within"],
    },
    Mutant {
        name: "looks-bounded-by-the-driver-alone",
        about: "the caller of a look waits until the driver runs",
        edits: &[Edit {
            file: SHARED,
            from: "() = runtime.sleep_until(runtime.now() + within) => {",
            to: "() = std::future::pending() => {",
        }],
        shows: Shows::Turmoil("starve"),
        caught_by: &["looks-within"],
    },
    Mutant {
        name: "end-told-by-the-driver-alone",
        about: "work learns of its tenure's end from the driver only, and not from its own clock",
        edits: &[Edit {
            file: TENURE,
            from: "() = self.0.runtime.sleep_until(self.0.until.get()) => {}",
            to: "() = std::future::pending() => {}",
        }],
        shows: Shows::Turmoil("starve"),
        caught_by: &["told-of-the-end"],
    },
    Mutant {
        name: "end-not-told",
        about: "work does not learn that its tenure is over, and is dropped at its drain bound",
        edits: &[Edit {
            file: TENURE,
            from: "self.drain_moved(drain_until);\n        self.cancelled().cancel();",
            to: "self.drain_moved(drain_until);",
        }],
        shows: Shows::Turmoil("resign"),
        caught_by: &["told-of-the-end"],
    },
    Mutant {
        name: "work-polled-late",
        about: "work is polled once more after its time to drain",
        edits: &[Edit {
            file: TENURE,
            from: "if self.0.drain_until.holds(|| self.0.runtime.now()) {",
            to: "if self.0.drain_until.holds(|| self.0.runtime.now()) || true {",
        }],
        shows: Shows::Turmoil("pause,starve,partition"),
        caught_by: &["drains-within-bounds"],
    },
    Mutant {
        name: "due-before-what-has-happened",
        about: "after another election's stop, timers of an election fire before its own stop is handled",
        edits: &[Edit { file: DRIVER, from: "            self.catch_up(commands);\n", to: "" }],
        shows: Shows::Turmoil("starve,leave"),
        caught_by: &["stays-out"],
    },
    Mutant {
        name: "suspend-told-to-one-election",
        about: "only the election whose input comes next learns that the machine was suspended",
        edits: &[Edit {
            file: DRIVER,
            from: "let all: Vec<ElectionId> = self.elections.keys().copied().collect();",
            to: "let all: Vec<ElectionId> = self.elections.keys().copied().filter(|one| *one == id).collect();",
        }],
        shows: Shows::Turmoil("suspend,crash,partition"),
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "dropped-look-ends-the-connection",
        about: "a look calls the store in its caller's task, and dropping it costs all elections the connection",
        edits: &[
            Edit {
                file: SHARED,
                from: "ask(commands, &self.runtime, &self.key, chosen.request_timeout, request).await",
                to: "let _ = (commands, chosen);\n        \
                     crate::store::Store::call(&self.settings.store, &self.key, request).await",
            },
            Edit {
                file: PROGRESS,
                from: "(is_long && !self.asks_always)",
                to: "(is_long || !self.asks_always)",
            },
        ],
        shows: Shows::Turmoil("resign"),
        caught_by: &["answered-when-healthy"],
    },
    Mutant {
        name: "hints-dropped",
        about: "the driver does not pass hints to the state machine",
        edits: &[Edit { file: DRIVER, from: "self.step(id, Input::Hint);", to: "let _ = id;" }],
        shows: Shows::Turmoil("resign"),
        caught_by: &["handover-within"],
    },
    Mutant {
        name: "work-never-dropped",
        about: "work that does not end in its time to drain continues",
        edits: &[
            Edit {
                file: TENURE,
                from: "() = self.drain_over() => None,",
                to: "() = std::future::pending() => { self.drain_over().await; None }",
            },
            Edit {
                file: TENURE,
                from: "if self.0.drain_until.holds(|| self.0.runtime.now()) {",
                to: "if self.0.drain_until.holds(|| self.0.runtime.now()) || true {",
            },
        ],
        shows: Shows::Turmoil("resign,partition,pause"),
        caught_by: &["drains-within-bounds"],
    },
];
