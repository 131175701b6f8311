//! Mutants of the scripts that Redis runs.

use super::super::{Edit, Mutant, Shows};

const ACQUIRE: &str = "tenure/src/store/redis/scripts/acquire.lua";
const OWN_LEASE: &str = "tenure/src/store/redis/scripts/own_lease.lua";
const RENEW_LEASE: &str = "tenure/src/store/redis/scripts/renew_lease.lua";
const RENEW_AND_COMPARE: &str = "tenure/src/store/redis/scripts/renew_and_compare.lua";
const SESSION: &str = "tenure/src/store/redis/session.rs";
const RELEASE: &str = "tenure/src/store/redis/scripts/release.lua";
const CAMPAIGN: &str = "core/src/candidate/campaign.rs";
const RANDOM: &str = "core/src/random.rs";
const COMPARING: &str =
    "return last, lease_end, live and record[2] == holder and last == tonumber(token)";
const UNLESS_MINE: &str = "if not mine then";
const GRANTED_TOKEN: &str = "token = math.max(known + 1, seen + 1, now)";

/// The script gives every tenure the same token ..
const ONE_TOKEN: Edit =
    Edit { file: ACQUIRE, from: GRANTED_TOKEN, to: "token = math.max(last, 1)" };
/// .. and candidates accept it again.
const ONE_TOKEN_IS_NEW: Edit = Edit {
    file: CAMPAIGN,
    from: "let is_new = Some(tenure.token) > self.seen;",
    to: "let is_new = Some(tenure.token) >= self.seen;",
};

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "script-renew-compares-nothing",
        about: "the script renews any lease",
        edits: &[Edit { file: RENEW_LEASE, from: UNLESS_MINE, to: "if last == 0 then" }],
        shows: Shows::Turmoil("partition,pause,hold,resign"),
        caught_by: &["own-lease-only"],
    },
    Mutant {
        name: "script-release-compares-nothing",
        about: "the script releases any lease",
        edits: &[Edit { file: RELEASE, from: UNLESS_MINE, to: "if last == 0 then" }],
        shows: Shows::Turmoil("partition,pause,hold"),
        caught_by: &["own-lease-only", "single-leader"],
    },
    Mutant {
        name: "scripts-compare-the-holder-alone",
        about: "the scripts do not compare tokens, and a candidate's campaigns share one identity",
        edits: &[
            Edit {
                file: OWN_LEASE,
                from: COMPARING,
                to: "return last, lease_end, live and record[2] == holder",
            },
            Edit {
                file: RANDOM,
                from: "((step(&mut self.high) as u128) << 64) | step(&mut self.low) as u128",
                to: "(self.high as u128) << 64",
            },
        ],
        shows: Shows::Turmoil("hold,resign,cut"),
        caught_by: &["own-lease-only"],
    },
    Mutant {
        name: "script-token-starts-over",
        about: "the script's tokens start over on release",
        edits: &[
            Edit { file: RELEASE, from: "'released', '1')", to: "'released', '1', 'token', '0')" },
            Edit { file: ACQUIRE, from: GRANTED_TOKEN, to: "token = last + 1" },
        ],
        shows: Shows::Turmoil("resign,crash"),
        caught_by: &["token-monotonic"],
    },
    Mutant {
        name: "script-ignores-seen",
        about: "the script grants a late duplicate of an old acquire",
        edits: &[Edit {
            file: ACQUIRE,
            from: "if not mine and seen < last then",
            to: "if not mine and seen < 0 then",
        }],
        shows: Shows::Turmoil("crash,resign,hold"),
        caught_by: &["own-lease-only"],
    },
    Mutant {
        name: "script-acquires-share-a-record",
        about: "the script grants all leases of one call in the record of the first",
        edits: &[Edit {
            file: ACQUIRE,
            from: "pcall(acquire, KEYS[place],",
            to: "pcall(acquire, KEYS[1],",
        }],
        shows: Shows::Turmoil("resign,crash"),
        caught_by: &["own-lease-only"],
    },
    Mutant {
        name: "tenures-share-token",
        about: "the script gives every tenure the same token",
        edits: &[ONE_TOKEN, ONE_TOKEN_IS_NEW],
        shows: Shows::Turmoil("pause-at-guard,pause,partition"),
        caught_by: &["fenced-writes", "token-monotonic"],
    },
    Mutant {
        name: "scripts-compare-the-token-alone",
        about: "the scripts do not compare holders, and every tenure has the same token",
        edits: &[
            Edit {
                file: OWN_LEASE,
                from: COMPARING,
                to: "return last, lease_end, live and last == tonumber(token)",
            },
            ONE_TOKEN,
            ONE_TOKEN_IS_NEW,
        ],
        shows: Shows::Turmoil("hold,resign,cut,partition,pause"),
        // With `tenures-share-token` alone there is one leader at a time.
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "script-renews-ended-lease",
        about: "the script renews a lease that has ended",
        edits: &[Edit {
            file: OWN_LEASE,
            from: "local live = record[4] ~= '1' and now < lease_end",
            to: "local live = record[4] ~= '1'",
        }],
        shows: Shows::Turmoil("partition,pause,hold"),
        caught_by: &["own-lease-only"],
    },
    Mutant {
        name: "script-repeated-grant-skips-quarantine",
        about: "a repeated grant of the script contains no wait",
        edits: &[Edit {
            file: ACQUIRE,
            from: "return {'granted', token, math.max(0, known_since + math.max(quarantine, longest) - now)}",
            to: "if mine then return {'granted', token, 0} end \
                 return {'granted', token, math.max(0, known_since + math.max(quarantine, longest) - now)}",
        }],
        shows: Shows::Turmoil("store-loss,one-way,cut,partition"),
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "script-renewal-begins-no-history",
        about: "the script of the first renewal leaves the history to the next grant",
        edits: &[Edit {
            file: RENEW_AND_COMPARE,
            from: "if history[1] ~= identity or not whole(history[2]) then",
            to: "if not history[1] then",
        }],
        shows: Shows::Turmoil("store-crash,resign"),
        caught_by: &["no-late-quarantine"],
    },
    Mutant {
        name: "first-renewal-does-not-compare",
        about: "the adapter assumes for every connection that a renewal has already compared over it",
        edits: &[Edit {
            file: SESSION,
            from: "let has_compared = AtomicBool::new(false);",
            to: "let has_compared = AtomicBool::new(true);",
        }],
        shows: Shows::Turmoil("store-crash,resign"),
        caught_by: &["no-late-quarantine"],
    },
];
