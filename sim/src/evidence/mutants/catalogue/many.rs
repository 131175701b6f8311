//! Mutants of the driver: they show with several elections, of which requests share calls, queues and
//! windows, and with faults.

use super::super::{Mutant, Shows};

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "call-cancelled-with-wanted-requests",
        about: "a call is cancelled, and with it the connection, while one of its requests is still wanted",
        shows: Shows::Overload,
        caught_by: &["driver-runs-on"],
    },
    Mutant {
        name: "first-result-for-all",
        about: "requests without a result of their own get that of the first one in their call",
        shows: Shows::Overload,
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "hold-is-over-at-once",
        about: "the lease of a tenure that is held is given back",
        shows: Shows::Overload,
        caught_by: &["driver-runs-on"],
    },
    Mutant {
        name: "end-not-drained",
        about: "nobody is asked to report that the work of an ended tenure has ended",
        shows: Shows::Overload,
        caught_by: &["leader-within", "stopped-within"],
    },
    Mutant {
        name: "drained-twice",
        about: "the end of the work of an ended tenure is asked for twice",
        shows: Shows::Overload,
        caught_by: &["driver-runs-on"],
    },
    Mutant {
        name: "old-timer-kept",
        about: "an election whose deadline moves keeps its old timer",
        shows: Shows::Overload,
        caught_by: &["driver-runs-on"],
    },
    Mutant {
        name: "hints-wanted-for-ever",
        about: "the hints of an election are wanted after its last candidate has ended",
        shows: Shows::Overload,
        caught_by: &["driver-runs-on"],
    },
    Mutant {
        name: "rival-ends-the-hints",
        about: "a candidate that ends takes the hints from a rival of its process",
        shows: Shows::Overload,
        caught_by: &["driver-runs-on"],
    },
    Mutant {
        name: "questions-never-end",
        about: "questions that were answered are counted for ever, and keep the driver from its end",
        shows: Shows::Overload,
        caught_by: &["driver-runs-on"],
    },
    Mutant {
        name: "stopped-with-questions",
        about: "the driver ends before the last question is answered",
        shows: Shows::Overload,
        caught_by: &["driver-runs-on"],
    },
    Mutant {
        name: "sole-request-never-given-up",
        about: "a request is given up only if the election has another one under way, or wakes for something else",
        shows: Shows::Overload,
        caught_by: &["driver-runs-on"],
    },
    Mutant {
        name: "late-questions-not-cancelled",
        about: "the caller of a question whose time is over is not told",
        shows: Shows::Overload,
        caught_by: &["driver-runs-on"],
    },
    Mutant {
        name: "call-too-large",
        about: "a call has one request more than the store takes",
        shows: Shows::Overload,
        caught_by: &["driver-runs-on"],
    },
    Mutant {
        name: "all-late-elections-are-stuck",
        about: "every election whose request was given up waits with the stuck ones",
        shows: Shows::Overload,
        caught_by: &["no-lead-lost-to-overload"],
    },
    Mutant {
        name: "left-twice",
        about: "a candidate that is told to stop twice reports twice that it has left",
        shows: Shows::Overload,
        caught_by: &["driver-runs-on"],
    },
    Mutant {
        name: "two-places-in-the-queues",
        about: "an election that is no longer stuck keeps its place among the stuck ones",
        shows: Shows::Overload,
        caught_by: &["driver-runs-on"],
    },
    Mutant {
        name: "answers-stamped-with-their-sending",
        about: "an answer is handed to the candidate with the time of its sending",
        shows: Shows::Overload,
        caught_by: &["no-resurrection"],
    },
    Mutant {
        name: "call-of-several-kinds",
        about: "a request that was to be a look and is an acquire by now leaves in a call of looks",
        shows: Shows::Overload,
        caught_by: &["driver-runs-on"],
    },
    Mutant {
        name: "resumed-elections-hold-what-they-watched",
        about: "no election of a driver learns that the machine was suspended",
        shows: Shows::Overload,
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "answer-for-another-call",
        about: "the answers of a call are taken for the oldest one under way",
        shows: Shows::Overload,
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "stop-is-undone-by-work",
        about: "a candidate that stops campaigns again when its work is offered",
        shows: Shows::Overload,
        caught_by: &["stopped-within"],
    },
];
