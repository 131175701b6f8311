//! Mutants of the scripts that Redis runs.

use super::super::{Mutant, Shows};

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "script-renew-compares-nothing",
        about: "the script renews any lease",
        shows: Shows::Turmoil("partition,pause,hold,resign"),
        caught_by: &["own-lease-only"],
    },
    Mutant {
        name: "script-release-compares-nothing",
        about: "the script releases any lease",
        shows: Shows::Turmoil("partition,pause,hold"),
        caught_by: &["own-lease-only", "single-leader"],
    },
    Mutant {
        name: "scripts-compare-the-holder-alone",
        about: "the scripts do not compare tokens, and a candidate's campaigns share one identity",
        shows: Shows::Turmoil("hold,resign,cut"),
        caught_by: &["own-lease-only"],
    },
    Mutant {
        name: "script-token-starts-over",
        about: "the script's tokens start over on release",
        shows: Shows::Turmoil("resign,crash"),
        caught_by: &["token-monotonic"],
    },
    Mutant {
        name: "script-ignores-seen",
        about: "the script grants a late duplicate of an old acquire",
        shows: Shows::Turmoil("crash,resign,hold"),
        caught_by: &["own-lease-only"],
    },
    Mutant {
        name: "script-mark-not-compared",
        about: "the script grants a lease to whoever has watched any mark",
        shows: Shows::Turmoil("partition,pause,crash"),
        caught_by: &["own-lease-only"],
    },
    Mutant {
        name: "script-number-not-compared",
        about: "the script grants a lease to whoever has watched it, renewed or not",
        shows: Shows::Turmoil("partition,pause,hold,latency"),
        caught_by: &["single-leader", "own-lease-only"],
    },
    Mutant {
        name: "script-acquires-share-a-record",
        about: "the script grants all leases of one call in the record of the first",
        shows: Shows::Turmoil("resign,crash"),
        caught_by: &["handover-within"],
    },
    Mutant {
        name: "tenures-share-token",
        about: "the script gives every tenure the same token",
        shows: Shows::Turmoil("pause-at-guard,pause,partition"),
        caught_by: &["fenced-writes", "token-monotonic"],
    },
    Mutant {
        name: "scripts-compare-the-token-alone",
        about: "the scripts do not compare holders, and every tenure has the same token",
        shows: Shows::Turmoil("hold,resign,cut,partition,pause"),
        // With `tenures-share-token` alone there is one leader at a time.
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "script-older-renewal-counts",
        about: "the script gives a lease the mark of a late renewal",
        shows: Shows::Turmoil("hold,partition,pause"),
        caught_by: &["own-lease-only"],
    },
    Mutant {
        name: "script-past-not-watched",
        about: "the script grants leases although nobody has watched the past",
        shows: Shows::Turmoil("store-loss,one-way,cut,partition"),
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "script-stamp-not-compared",
        about: "the script counts a watch of any past as one of the present past",
        shows: Shows::Turmoil("store-loss,store-crash,partition"),
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "script-first-requests-examine-nothing",
        about: "the scripts leave it to the next grant to notice another server",
        shows: Shows::Turmoil("store-crash,resign"),
        caught_by: &["no-late-quarantine"],
    },
    Mutant {
        name: "first-request-does-not-compare",
        about: "the adapter assumes for every connection that a request has already compared over it",
        shows: Shows::Turmoil("store-crash,resign"),
        caught_by: &["no-late-quarantine"],
    },
];
