//! The scripts that Redis runs.

use super::super::{Edit, Mutant, Shows};

const ACQUIRE: &str = "tenure/src/store/redis/scripts/acquire.lua";
const RENEW: &str = "tenure/src/store/redis/scripts/renew.lua";
const RELEASE: &str = "tenure/src/store/redis/scripts/release.lua";
const CAMPAIGN: &str = "core/src/candidate/campaign.rs";
const COMPARING: &str = "if live and record[2] == ARGV[1] and last == tonumber(ARGV[2]) then";

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "script-renew-compares-nothing",
        about: "the script renews whatever lease is there",
        edits: &[Edit { file: RENEW, from: COMPARING, to: "if record[1] then" }],
        shows: Shows::Turmoil("partition,pause,hold,resign"),
        caught_by: &["own-lease-only"],
    },
    Mutant {
        name: "script-release-compares-nothing",
        about: "the script releases whatever lease is there",
        edits: &[Edit { file: RELEASE, from: COMPARING, to: "if record[1] then" }],
        shows: Shows::Turmoil("partition,pause,hold"),
        caught_by: &["own-lease-only", "single-leader"],
    },
    Mutant {
        name: "script-token-starts-over",
        about: "the script's tokens start over on release",
        edits: &[
            Edit { file: RELEASE, from: "'released', '1')", to: "'released', '1', 'token', '0')" },
            Edit {
                file: ACQUIRE,
                from: "token = math.max(last + 1, seen + 1, now)",
                to: "token = last + 1",
            },
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
        name: "tenures-share-token",
        about: "the script gives every tenure the same token",
        edits: &[
            Edit {
                file: ACQUIRE,
                from: "token = math.max(last + 1, seen + 1, now)",
                to: "token = math.max(last, 1)",
            },
            Edit {
                file: CAMPAIGN,
                from: "let is_news = Some(tenure.token) > self.seen;",
                to: "let is_news = Some(tenure.token) >= self.seen;",
            },
        ],
        shows: Shows::Turmoil("pause-at-guard,pause,partition"),
        caught_by: &["fenced-writes", "token-monotonic"],
    },
    Mutant {
        name: "script-renews-ended-lease",
        about: "the script renews a lease that has ended",
        edits: &[Edit {
            file: RENEW,
            from: "local live = record[4] ~= '1' and now < lease_end",
            to: "local live = record[4] ~= '1'",
        }],
        shows: Shows::Turmoil("partition,pause,hold"),
        caught_by: &["own-lease-only"],
    },
    Mutant {
        name: "script-repeated-grant-skips-quarantine",
        about: "the script's same grant told again says that there is nothing to wait for",
        edits: &[Edit {
            file: ACQUIRE,
            from: "return {'granted', token, math.max(0, known_since + quarantine - now)}",
            to: "if mine then return {'granted', token, 0} end \
                 return {'granted', token, math.max(0, known_since + quarantine - now)}",
        }],
        shows: Shows::Turmoil("store-loss,one-way,cut,partition"),
        caught_by: &["store-loss-quarantine"],
    },
];
