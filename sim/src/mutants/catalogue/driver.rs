//! The driver and the handles.

use super::super::{Edit, Mutant, Shows};

const ELECTION: &str = "tenure/src/driver/election.rs";
const DRIVER: &str = "tenure/src/driver/mod.rs";
const TENURE: &str = "tenure/src/tenure.rs";
const DEADLINE: &str = "tenure/src/deadline.rs";

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "leadership-without-clock",
        about: "whether a candidate leads is a flag that no clock ends",
        edits: &[Edit {
            file: DEADLINE,
            from: "now() < until",
            to: "{ let _ = now(); until.as_nanos() > CLOSED }",
        }],
        shows: Shows::Turmoil("pause,partition"),
        caught_by: &["fail-closed", "single-leader"],
    },
    Mutant {
        name: "release-before-work-ends",
        about: "the driver hands the lease back before the work has ended",
        edits: &[Edit { file: ELECTION, from: "work.wait().await;", to: "drop(work);" }],
        shows: Shows::Turmoil("resign"),
        caught_by: &["no-release-under-work"],
    },
    Mutant {
        name: "hints-dropped",
        about: "the driver does not hand hints to the state machine",
        edits: &[Edit { file: DRIVER, from: "self.step(id, Input::Hint);", to: "let _ = id;" }],
        shows: Shows::Turmoil("resign"),
        caught_by: &["handover-within"],
    },
    Mutant {
        name: "work-never-dropped",
        about: "work that does not end in its time to drain goes on",
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
