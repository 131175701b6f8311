//! Mutants of the scripts that Redis runs.

use super::super::{Edit, Mutant, Shows};

const ACQUIRE: &str = "tenure/src/store/redis/scripts/acquire.lua";
const RENEW: &str = "tenure/src/store/redis/scripts/renew.lua";
const FIRST: &str = "tenure/src/store/redis/scripts/first.lua";
const PAST: &str = "tenure/src/store/redis/scripts/past.lua";
const SESSION: &str = "tenure/src/store/redis/session.rs";
const RELEASE: &str = "tenure/src/store/redis/scripts/release.lua";
const CAMPAIGN: &str = "core/src/candidate/campaign.rs";
const RANDOM: &str = "core/src/random.rs";
const RENEWED: &str = "r[1] == ARGV[a + 2] and r[2] == ARGV[a + 1] and r[4] == '0' and last";
const NOT_RELEASED: &str =
    "record.released or record.holder ~= ARGV[1] or record[1] ~= ARGV[2] then";
const GRANTED_TOKEN: &str = "token = math.max(last + 1, seen + 1, now)";

/// The script gives every tenure the same token ..
const ONE_TOKEN: Edit =
    Edit { file: ACQUIRE, from: GRANTED_TOKEN, to: "token = math.max(last, 1)" };
/// .. and candidates accept it again.
const ONE_TOKEN_IS_NEW: Edit = Edit {
    file: CAMPAIGN,
    from: "let is_new = is_own || Some(tenure.token) > self.seen;",
    to: "let is_new = is_own || Some(tenure.token) >= self.seen;",
};

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "script-renew-compares-nothing",
        about: "the script renews any lease",
        edits: &[Edit { file: RENEW, from: RENEWED, to: "r[4] and last" }],
        shows: Shows::Turmoil("partition,pause,hold,resign"),
        caught_by: &["own-lease-only"],
    },
    Mutant {
        name: "script-release-compares-nothing",
        about: "the script releases any lease",
        edits: &[Edit { file: RELEASE, from: NOT_RELEASED, to: "record.released then" }],
        shows: Shows::Turmoil("partition,pause,hold"),
        caught_by: &["own-lease-only", "single-leader"],
    },
    Mutant {
        name: "scripts-compare-the-holder-alone",
        about: "the scripts do not compare tokens, and a candidate's campaigns share one identity",
        edits: &[
            Edit { file: RENEW, from: RENEWED, to: "r[2] == ARGV[a + 1] and r[4] == '0' and last" },
            Edit {
                file: RELEASE,
                from: NOT_RELEASED,
                to: "record.released or record.holder ~= ARGV[1] then",
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
            Edit { file: RELEASE, from: "'released', '1',", to: "'released', '1', 'token', '0'," },
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
            from: "and seen >= record.token and agrees",
            to: "and agrees",
        }],
        shows: Shows::Turmoil("crash,resign,hold"),
        caught_by: &["own-lease-only"],
    },
    Mutant {
        name: "script-mark-not-compared",
        about: "the script grants a lease to whoever has watched any mark",
        edits: &[Edit {
            file: ACQUIRE,
            from: "or mark == record.holder .. ':' .. record[3]",
            to: "or mark ~= ''",
        }],
        shows: Shows::Turmoil("partition,pause,crash"),
        caught_by: &["own-lease-only"],
    },
    Mutant {
        name: "script-number-not-compared",
        about: "the script grants a lease to whoever has watched it, renewed or not",
        edits: &[Edit {
            file: ACQUIRE,
            from: "or mark == record.holder .. ':' .. record[3]",
            to: "or string.sub(mark, 1, #record.holder) == record.holder",
        }],
        shows: Shows::Turmoil("partition,pause,hold,latency"),
        caught_by: &["single-leader", "own-lease-only"],
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
        caught_by: &["handover-within"],
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
            Edit { file: RENEW, from: RENEWED, to: "r[1] == ARGV[a + 2] and r[4] == '0' and last" },
            Edit {
                file: RELEASE,
                from: NOT_RELEASED,
                to: "record.released or record[1] ~= ARGV[2] then",
            },
            ONE_TOKEN,
            ONE_TOKEN_IS_NEW,
        ],
        shows: Shows::Turmoil("hold,resign,cut,partition,pause"),
        // With `tenures-share-token` alone there is one leader at a time.
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "script-older-renewal-counts",
        about: "the script gives a lease the mark of a late renewal",
        edits: &[Edit {
            file: RENEW,
            from: "if tonumber(id) > last then",
            to: "if tonumber(id) ~= last then",
        }],
        shows: Shows::Turmoil("hold,partition,pause"),
        caught_by: &["own-lease-only"],
    },
    Mutant {
        name: "script-past-not-watched",
        about: "the script grants leases although nobody has watched the past",
        edits: &[Edit {
            file: PAST,
            from: "return past.stamp and (past.watched < quarantine or past.watched < past.longest)",
            to: "return past.stamp and past.watched < 0 * quarantine",
        }],
        shows: Shows::Turmoil("store-loss,one-way,cut,partition"),
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "script-stamp-not-compared",
        about: "the script counts a watch of any past as one of the present past",
        edits: &[Edit {
            file: PAST,
            from: "if stamp == past.stamp and watched > past.watched then",
            to: "if stamp ~= '' and watched > past.watched then",
        }],
        shows: Shows::Turmoil("store-loss,store-crash,partition"),
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "script-first-requests-examine-nothing",
        about: "the scripts leave it to the next grant to notice another server",
        edits: &[Edit {
            file: FIRST,
            from: "if first ~= '' and first ~= '-' then",
            to: "if first == '+' then",
        }],
        shows: Shows::Turmoil("store-crash,resign"),
        caught_by: &["no-late-quarantine"],
    },
    Mutant {
        name: "first-request-does-not-compare",
        about: "the adapter assumes for every connection that a request has already compared over it",
        edits: &[Edit {
            file: SESSION,
            from: "let has_compared = AtomicBool::new(false);",
            to: "let has_compared = AtomicBool::new(true);",
        }],
        shows: Shows::Turmoil("store-crash,resign"),
        caught_by: &["no-late-quarantine"],
    },
];
