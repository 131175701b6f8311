//! Mutants of the values that follow from the settings.

use super::super::{Edit, Mutant, Shows};

const CONFIG: &str = "core/src/config/mod.rs";

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "drift-not-allowed-for",
        about: "the drift of the candidate's clock does not shorten a claim",
        edits: &[Edit {
            file: CONFIG,
            from: "(lasts * (million - rho) / (million + rho))",
            to: "(lasts * (million - rho) / (million - rho))",
        }],
        shows: Shows::Both("drift,partition,pause"),
        caught_by: &["margin-kept", "fail-closed", "single-leader"],
    },
    Mutant {
        name: "stop-margin-ignored",
        about: "a claim lasts as long as the lease, without a stop margin",
        edits: &[Edit {
            file: CONFIG,
            from: "saturating_sub(nanos(self.stop_margin()))",
            to: "saturating_sub(0)",
        }],
        shows: Shows::Model,
        caught_by: &["unfenced-in-order", "margin-kept"],
    },
    Mutant {
        name: "takeover-spread-wide",
        about: "waiting candidates spread their requests over a TTL",
        edits: &[Edit {
            file: CONFIG,
            from: "(self.ttl() / 1_000).min(Duration::from_millis(5))",
            to: "self.ttl().max(Duration::from_millis(5))",
        }],
        shows: Shows::Model,
        caught_by: &["takeover-within"],
    },
];
