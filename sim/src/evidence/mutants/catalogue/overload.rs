//! Mutants of the admission of requests: they show only with many elections at a slow store.

use super::super::{Mutant, Shows};

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "admission-by-arrival",
        about: "requests leave in the order in which they came, whatever they are worth",
        shows: Shows::Overload,
        caught_by: &["no-lead-lost-to-overload", "renewals-before-acquires"],
    },
    Mutant {
        name: "acquires-first",
        about: "leases that are not held yet are asked for before held ones are renewed",
        shows: Shows::Overload,
        caught_by: &["no-lead-lost-to-overload", "renewals-before-acquires"],
    },
    Mutant {
        name: "latest-claim-first",
        about: "the renewal that can wait the longest leaves first",
        shows: Shows::Overload,
        caught_by: &["no-lead-lost-to-overload", "fair-within-a-class"],
    },
    Mutant {
        name: "youngest-acquire-first",
        about: "the election that joined last asks first",
        shows: Shows::Overload,
        caught_by: &["fair-within-a-class"],
    },
    Mutant {
        name: "timeout-from-the-queue",
        about: "a request's timeout counts its wait for admission",
        shows: Shows::Overload,
        caught_by: &["no-lead-lost-to-overload"],
    },
    Mutant {
        name: "window-without-bound",
        about: "all requests that wait leave at once",
        shows: Shows::Overload,
        caught_by: &["bounded-window", "no-lead-lost-to-overload"],
    },
    Mutant {
        name: "window-kept-after-failures",
        about: "after failures many calls follow, behind those that were given up",
        shows: Shows::Overload,
        caught_by: &["no-lead-lost-to-overload"],
    },
    // Each edit alone costs no lead: the others make up for it.
    Mutant {
        name: "stuck-calls-hold-the-window",
        about: "calls that a store does not answer, though it answers others, hold their places and come first again",
        shows: Shows::Overload,
        caught_by: &["no-lead-lost-to-overload"],
    },
    Mutant {
        name: "renewals-not-spread",
        about: "elections that were granted together renew together for ever",
        shows: Shows::Overload,
        caught_by: &["spread-over-the-interval"],
    },
    Mutant {
        name: "overdue-renewals-at-once",
        about: "after an outage all overdue renewals leave at once",
        shows: Shows::Overload,
        caught_by: &["spread-over-the-interval"],
    },
];
