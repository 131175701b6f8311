//! Mutants of the store contract, as the model engine and the memory store run it.

use super::super::{Mutant, Shows};

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "identity-ignored",
        about: "a store that lost its leases is treated like the one that granted them",
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine", "single-leader"],
    },
    Mutant {
        name: "released-lease-renewed",
        about: "a lease that was given back can be renewed",
        shows: Shows::Model,
        caught_by: &["linearizable", "own-lease-only"],
    },
    Mutant {
        name: "older-renewal-counts",
        about: "a late duplicate of a renewal gives the lease its mark back",
        shows: Shows::Model,
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "seen-ignored",
        about: "a late duplicate of an old acquire is granted",
        shows: Shows::Model,
        caught_by: &["own-lease-only", "linearizable"],
    },
    Mutant {
        name: "tokens-without-floor",
        about: "tokens do not rise with the store's clock, and start over after a loss",
        shows: Shows::Model,
        caught_by: &["token-monotonic", "leads-in-order"],
    },
    Mutant {
        name: "leader-granted-unwatched",
        about: "the holder of a lease is granted it again although nobody has watched the past",
        shows: Shows::Model,
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "half-the-ttl",
        about: "a store tells others half of the TTL",
        shows: Shows::Model,
        caught_by: &["margin-kept"],
    },
    Mutant {
        name: "mark-not-compared",
        about: "a lease is granted to whoever has watched any mark",
        shows: Shows::Model,
        caught_by: &["single-leader", "own-lease-only"],
    },
    Mutant {
        name: "number-of-the-mark-not-compared",
        about: "a lease is granted to whoever has watched it, renewed or not",
        shows: Shows::Model,
        caught_by: &["single-leader", "own-lease-only"],
    },
    Mutant {
        name: "stamp-not-compared",
        about: "a watch of any past counts as one of the present past",
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "watch-of-the-past-kept",
        about: "a new stamp leaves the time that an earlier one was watched",
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine", "single-leader"],
    },
    Mutant {
        name: "second-loss-unnoticed",
        about: "a loss of data leaves the stamp as it is while nobody has watched it for long enough",
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "watches-of-two-add-up",
        about: "the times for which two candidates have watched the past are added up",
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "live-lease-granted-again",
        about: "a lease is granted to any candidate that knows its token",
        shows: Shows::Model,
        caught_by: &["own-lease-only", "single-leader"],
    },
    Mutant {
        name: "quarantine-halved",
        about: "a past is watched for half of the quarantine",
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "leader-reports-no-watch",
        about: "what a leader has watched of the past counts for nothing",
        shows: Shows::Model,
        caught_by: &["no-late-quarantine"],
    },
    Mutant {
        name: "acquire-reports-no-watch",
        about: "what a waiting candidate has watched of the past counts for nothing",
        shows: Shows::Model,
        caught_by: &["leader-within"],
    },
    Mutant {
        name: "first-requests-begin-pasts",
        about: "the first request over any connection begins another past, although the server is the same",
        shows: Shows::Model,
        caught_by: &["leader-within"],
    },
    Mutant {
        name: "only-grants-examine",
        about: "the first request over a connection leaves it to the next grant to notice another server",
        shows: Shows::Model,
        caught_by: &["no-late-quarantine"],
    },
];
