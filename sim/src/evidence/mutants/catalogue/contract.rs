//! Mutants of the store contract, as the model engine and the memory store run it.

use super::super::{Edit, Mutant, Shows};

const CONTRACT: &str = "core/src/contract.rs";

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "identity-ignored",
        about: "a store that lost its leases is treated like the one that granted them",
        edits: &[Edit {
            file: CONTRACT,
            from: "Some(past) if past.identity == identity => {}",
            to: "Some(past) if past.identity <= identity => {}",
        }],
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine", "single-leader"],
    },
    Mutant {
        name: "released-lease-renewed",
        about: "a lease that was given back can be renewed",
        edits: &[Edit {
            file: CONTRACT,
            from: ".filter(|record| !record.released && record.token == token)",
            to: ".filter(|record| record.token == token)",
        }],
        shows: Shows::Model,
        caught_by: &["linearizable", "own-lease-only"],
    },
    Mutant {
        name: "older-renewal-counts",
        about: "a late duplicate of a renewal gives the lease its mark back",
        edits: &[Edit {
            file: CONTRACT,
            from: "if number > lease.number {\n            (lease.number, lease.asked",
            to: "if number != lease.number {\n            (lease.number, lease.asked",
        }],
        shows: Shows::Model,
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "seen-ignored",
        about: "a late duplicate of an old acquire is granted",
        edits: &[Edit {
            file: CONTRACT,
            from: "let knows = asks.seen >= Some(lease.token);",
            to: "let knows = asks.seen >= None;",
        }],
        shows: Shows::Model,
        caught_by: &["own-lease-only", "linearizable"],
    },
    Mutant {
        name: "tokens-without-floor",
        about: "tokens do not rise with the store's clock, and start over after a loss",
        edits: &[Edit {
            file: CONTRACT,
            from: "map_or(above, |clock| clock.max(above))",
            to: "map_or(above, |_| above)",
        }],
        shows: Shows::Model,
        caught_by: &["token-monotonic", "leads-in-order"],
    },
    Mutant {
        name: "leader-granted-unwatched",
        about: "the holder of a lease is granted it again although nobody has watched the past",
        edits: &[Edit {
            file: CONTRACT,
            from: "if lost_a_grant || !settled || !grantable {",
            to: "if !mine && (lost_a_grant || !settled) || !grantable {",
        }],
        shows: Shows::Model,
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "half-the-ttl",
        about: "a store tells others half of the TTL",
        edits: &[Edit { file: CONTRACT, from: "ttl: asks.ttl,", to: "ttl: asks.ttl / 2," }],
        shows: Shows::Model,
        caught_by: &["margin-kept"],
    },
    Mutant {
        name: "mark-not-compared",
        about: "a lease is granted to whoever has watched any mark",
        edits: &[Edit {
            file: CONTRACT,
            from: "asks.mark == Some(lease.mark())",
            to: "asks.mark.is_some() && !lease.released",
        }],
        shows: Shows::Model,
        caught_by: &["single-leader", "own-lease-only"],
    },
    Mutant {
        name: "number-of-the-mark-not-compared",
        about: "a lease is granted to whoever has watched it, renewed or not",
        edits: &[Edit {
            file: CONTRACT,
            from: "asks.mark == Some(lease.mark())",
            to: "asks.mark.is_some_and(|mark| mark.holder == lease.holder)",
        }],
        shows: Shows::Model,
        caught_by: &["single-leader", "own-lease-only"],
    },
    Mutant {
        name: "stamp-not-compared",
        about: "a watch of any past counts as one of the present past",
        edits: &[Edit {
            file: CONTRACT,
            from: "&& past.stamp == watch.stamp",
            to: "&& past.watched < watch.time",
        }],
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "watch-of-the-past-kept",
        about: "a new stamp leaves the time that an earlier one was watched",
        edits: &[Edit {
            file: CONTRACT,
            from: "(self.stamp, self.watched) = (stamp, Duration::ZERO);",
            to: "self.stamp = stamp;",
        }],
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine", "single-leader"],
    },
    Mutant {
        name: "second-loss-unnoticed",
        about: "a loss of data leaves the stamp as it is while nobody has watched it for long enough",
        edits: &[Edit {
            file: CONTRACT,
            from: "past.identity = identity;\n                past.stamped(stamp);",
            to: "past.identity = identity;\n                \
                 if !past.watched.is_zero() { past.stamped(stamp); }",
        }],
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "watches-of-two-add-up",
        about: "the times for which two candidates have watched the past are added up",
        edits: &[Edit {
            file: CONTRACT,
            from: "past.watched = past.watched.max(watch.time);",
            to: "past.watched = past.watched + watch.time;",
        }],
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "live-lease-granted-again",
        about: "a lease is granted to any candidate that knows its token",
        edits: &[Edit {
            file: CONTRACT,
            from: "lease.released && !kept && knows",
            to: "!kept && knows",
        }],
        shows: Shows::Model,
        caught_by: &["own-lease-only", "single-leader"],
    },
    Mutant {
        name: "quarantine-halved",
        about: "a past is watched for half of the quarantine",
        edits: &[
            Edit {
                file: CONTRACT,
                from: "quarantine.max(self.longest)",
                to: "quarantine.max(self.longest) / 2",
            },
            Edit {
                file: "core/src/candidate/watch.rs",
                from: "self.since + config.quarantine().max(self.longest.get())",
                to: "self.since + config.quarantine().max(self.longest.get()) / 2",
            },
        ],
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "leader-reports-no-watch",
        about: "what a leader has watched of the past counts for nothing",
        edits: &[Edit {
            file: CONTRACT,
            from: "(number, None, now);\n            self.note_watch(stamp);",
            to: "(number, None, now);\n            let _ = stamp;",
        }],
        shows: Shows::Model,
        caught_by: &["no-late-quarantine"],
    },
    Mutant {
        name: "acquire-reports-no-watch",
        about: "what a waiting candidate has watched of the past counts for nothing",
        edits: &[Edit {
            file: CONTRACT,
            from: "self.note_watch(asks.stamp);",
            to: "let _ = asks.stamp;",
        }],
        shows: Shows::Model,
        caught_by: &["leader-within"],
    },
    Mutant {
        name: "first-requests-begin-pasts",
        about: "the first request over any connection begins another past, although the server is the same",
        edits: &[Edit {
            file: CONTRACT,
            from: "Some(past) if past.identity == identity => {}",
            to: "Some(past) if past.identity > identity => {}",
        }],
        shows: Shows::Model,
        caught_by: &["leader-within"],
    },
    Mutant {
        name: "only-grants-examine",
        about: "the first request over a connection leaves it to the next grant to notice another server",
        edits: &[Edit {
            file: CONTRACT,
            from: "if at.first {\n        step.examine(false);",
            to: "if at.first && step.past.is_none() {\n        step.examine(false);",
        }],
        shows: Shows::Model,
        caught_by: &["no-late-quarantine"],
    },
];
