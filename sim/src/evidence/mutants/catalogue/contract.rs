//! Mutants of the store contract, as the model engine and the memory store run it.

use super::super::{Edit, Mutant, Shows};

const CONTRACT: &str = "core/src/contract.rs";

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "identity-ignored",
        about: "a store that lost its leases is treated like the one that granted them",
        edits: &[Edit {
            file: CONTRACT,
            from: "known.identity == at.identity && !lost_a_grant",
            to: "!lost_a_grant",
        }],
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine", "single-leader"],
    },
    Mutant {
        name: "released-lease-renewed",
        about: "a lease that was handed back can be renewed",
        edits: &[Edit {
            file: CONTRACT,
            from: "self.is_live(now) && self.holder == holder",
            to: "now < self.lease_end && self.holder == holder",
        }],
        shows: Shows::Model,
        caught_by: &["linearizable", "own-lease-only"],
    },
    Mutant {
        name: "ended-lease-renewed",
        about: "a lease that has ended can be renewed",
        edits: &[Edit {
            file: CONTRACT,
            from: "self.is_live(now) && self.holder == holder",
            to: "(self.is_live(now) || !self.released) && self.holder == holder",
        }],
        shows: Shows::Model,
        caught_by: &["own-lease-only"],
    },
    Mutant {
        name: "seen-ignored",
        about: "a late duplicate of an old acquire is granted",
        edits: &[Edit {
            file: CONTRACT,
            from: "Some(lease) if seen < Some(lease.token) =>",
            to: "Some(lease) if seen < Some(lease.token) && seen < None =>",
        }],
        shows: Shows::Model,
        caught_by: &["own-lease-only", "linearizable"],
    },
    Mutant {
        name: "tokens-without-floor",
        about: "tokens do not rise with the store's clock, and start over after a loss",
        edits: &[Edit {
            file: CONTRACT,
            from: "floor.map_or(above, |floor| floor.max(above))",
            to: "floor.map_or(above, |_| above)",
        }],
        shows: Shows::Model,
        caught_by: &["token-monotonic"],
    },
    Mutant {
        name: "repeated-grant-skips-quarantine",
        about: "a repeated grant contains no wait",
        edits: &[Edit {
            file: CONTRACT,
            from: "lease.extend(at.now, ttl);
            lease.token
        }",
            to: "lease.extend(at.now, ttl);
            return Reply::Granted { token: lease.token, wait: Duration::ZERO };
        }",
        }],
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "half-the-ttl",
        about: "a store grants half of the requested TTL",
        edits: &[Edit {
            file: CONTRACT,
            from: "(at.now + ttl, Some(quarantine))",
            to: "(at.now + ttl / 2, Some(quarantine))",
        }],
        shows: Shows::Model,
        caught_by: &["margin-kept"],
    },
    Mutant {
        name: "renewals-add-up",
        about: "each renewal adds a TTL to the remaining time",
        edits: &[Edit {
            file: CONTRACT,
            from: "self.lease_end.max(now + ttl)",
            to: "self.lease_end + ttl",
        }],
        shows: Shows::Model,
        caught_by: &["leader-within"],
    },
    Mutant {
        name: "live-lease-granted-again",
        about: "a live lease is granted to any candidate that knows its token",
        edits: &[Edit {
            file: CONTRACT,
            from: "Some(lease) if lease.is_live(at.now) => {",
            to: "Some(lease) if lease.is_live(at.now) && seen != Some(lease.token) => {",
        }],
        shows: Shows::Model,
        caught_by: &["own-lease-only", "single-leader"],
    },
    Mutant {
        name: "quarantine-halved",
        about: "a grant asks for half of the quarantine",
        edits: &[Edit {
            file: CONTRACT,
            from: "(known.known_since + quarantine).since(at.now)",
            to: "(known.known_since + quarantine / 2).since(at.now)",
        }],
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "renewals-begin-no-history",
        about: "a renewal leaves the history to the next grant, which makes its holder wait, however late",
        edits: &[Edit {
            file: CONTRACT,
            from: "if at.compares_identity && history",
            to: "if !at.compares_identity && history",
        }],
        shows: Shows::Model,
        caught_by: &["no-late-quarantine"],
    },
    Mutant {
        name: "renewal-leaves-no-ttl",
        about: "a renewal begins the history without the longest TTL",
        edits: &[Edit {
            file: CONTRACT,
            from: "let known_since = at.now + longest_ttl;",
            to: "let known_since = at.now;",
        }],
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "renewals-begin-every-history",
        about: "a renewal restarts the history although the server has not changed",
        edits: &[Edit {
            file: CONTRACT,
            from: "history.is_none_or(|known| known.identity != at.identity)",
            to: "history.is_none_or(|known| known.identity <= at.identity)",
        }],
        shows: Shows::Model,
        caught_by: &["no-late-quarantine"],
    },
];
