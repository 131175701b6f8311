//! Mutants of the admission of requests: they show only with many elections at a slow store.

use super::super::{Edit, Mutant, Shows};

const ELECTION: &str = "tenure/src/driver/election.rs";
const QUEUE: &str = "tenure/src/driver/admission/queue.rs";
const PACE: &str = "tenure/src/driver/admission/pace.rs";
const WINDOW: &str = "tenure/src/driver/admission/window.rs";
const SPREAD: &str = "tenure/src/driver/spread.rs";

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "admission-by-arrival",
        about: "requests leave in the order in which they came, whatever they are worth",
        edits: &[Edit {
            file: QUEUE,
            from: "self.renewals.insert((renewal, id));\n                Place::Renew(renewal)",
            to: "let _ = renewal;\n                self.acquires.insert((joined, id));\n                \
                     Place::Acquire { joined }",
        }],
        shows: Shows::Overload,
        caught_by: &["no-lead-lost-to-overload", "renewals-before-acquires"],
    },
    Mutant {
        name: "acquires-first",
        about: "leases that are not held yet are asked for before held ones are renewed",
        edits: &[Edit {
            file: QUEUE,
            from: "let is_urgent = self.renewals.first()",
            to: "if let Some((_, id)) = self.acquires.first() {\n            \
                 return Some(Next::Request(Kind::Acquire, *id));\n        }\n        \
                 let is_urgent = self.renewals.first()",
        }],
        shows: Shows::Overload,
        caught_by: &["no-lead-lost-to-overload", "renewals-before-acquires"],
    },
    Mutant {
        name: "latest-claim-first",
        about: "the renewal that can wait the longest leaves first",
        edits: &[Edit {
            file: QUEUE,
            from: "let (renewal, id) = self.renewals.first()?;",
            to: "let (renewal, id) = self.renewals.last()?;",
        }],
        shows: Shows::Overload,
        caught_by: &["no-lead-lost-to-overload", "fair-within-a-class"],
    },
    Mutant {
        name: "youngest-acquire-first",
        about: "the election that joined last asks first",
        edits: &[Edit {
            file: QUEUE,
            from: "self.acquires.first().map(|(_, id)| *id)",
            to: "self.acquires.last().map(|(_, id)| *id)",
        }],
        shows: Shows::Overload,
        caught_by: &["fair-within-a-class"],
    },
    Mutant {
        name: "timeout-from-the-queue",
        about: "a request's timeout counts its wait for admission",
        edits: &[
            Edit {
                file: ELECTION,
                from: "place: Option<Place>,",
                to: "place: Option<Place>,\n    since: Option<Instant>,",
            },
            Edit {
                file: ELECTION,
                from: "place: None,",
                to: "place: None,\n            since: None,",
            },
            Edit {
                file: ELECTION,
                from: "let waiting = self.waiting();",
                to: "let waiting = self.waiting();\n        let now = world.runtime.now();\n        \
                     self.since = self.since.or(Some(now)).filter(|_| waiting.is_some());",
            },
            Edit {
                file: ELECTION,
                from: "let request = Request::of_machine",
                to: "let took = self.since.map_or(Duration::ZERO, |since| now.since(since));\n                    \
                     let give_up_at = give_up_at - took;\n                    \
                     let request = Request::of_machine",
            },
        ],
        shows: Shows::Overload,
        caught_by: &["no-lead-lost-to-overload"],
    },
    Mutant {
        name: "window-without-bound",
        about: "all requests that wait leave at once",
        edits: &[Edit {
            file: WINDOW,
            from: "self.calls() < self.limit\n",
            to: "self.calls() < self.limit * MOST\n",
        }],
        shows: Shows::Overload,
        caught_by: &["bounded-window", "no-lead-lost-to-overload"],
    },
    Mutant {
        name: "window-kept-after-failures",
        about: "after failures many calls follow, behind those that were given up",
        edits: &[Edit {
            file: WINDOW,
            from: "self.limit = (self.limit / 2.0).max(self.floor);",
            to: "self.limit = (self.limit / 2.0).max(LEAST);",
        }],
        shows: Shows::Overload,
        caught_by: &["no-lead-lost-to-overload"],
    },
    // Each edit alone costs no lead: the others make up for it.
    Mutant {
        name: "stuck-calls-hold-the-window",
        about: "calls that a store does not answer, though it answers others, hold their places and come first again",
        edits: &[
            Edit {
                file: WINDOW,
                from: "OVERTAKEN.max(Duration::from_secs_f64(self.usual) * USUAL_TIMES)",
                to: "OVERTAKEN * 1_000",
            },
            Edit { file: WINDOW, from: "if !answers.overtook(call) {", to: "if true {" },
            Edit {
                file: ELECTION,
                from: "if world.admission.overtook(left) { Lane::Stuck } else { Lane::Usual }",
                to: "{ let _ = left; Lane::Usual }",
            },
        ],
        shows: Shows::Overload,
        caught_by: &["no-lead-lost-to-overload"],
    },
    Mutant {
        name: "renewals-not-spread",
        about: "elections that were granted together renew together for ever",
        edits: &[Edit {
            file: SPREAD,
            from: "if due < own { Self::WhenDue }",
            to: "if due >= own { Self::WhenDue }",
        }],
        shows: Shows::Overload,
        caught_by: &["spread-over-the-interval"],
    },
    Mutant {
        name: "overdue-renewals-at-once",
        about: "after an outage all overdue renewals leave at once",
        edits: &[Edit {
            file: PACE,
            from: "let is_allowed = self.allowance >= ONE;",
            to: "let is_allowed = true;",
        }],
        shows: Shows::Overload,
        caught_by: &["spread-over-the-interval"],
    },
];
