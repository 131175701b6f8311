//! The store contract, as the model engine and the memory store run it.

use super::super::{Edit, Mutant, Shows};

const CONTRACT: &str = "core/src/contract.rs";

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "identity-ignored",
        about: "a store that lost its leases is taken for the one that granted them",
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
];
