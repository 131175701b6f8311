//! The driver and the handles.

use super::super::{Edit, Mutant, Shows};

const ELECTION: &str = "tenure/src/driver/election.rs";
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
];
