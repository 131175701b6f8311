//! Mutants of what no simulator has: the adapters' own rules, the fences, and files. And those of
//! the others that are also tried with real processes and real servers.

use super::super::{Chase, Edit, Mutant, OnServers, Shows};

const REDIS: &str = "tenure/src/store/redis/store.rs";
const FENCE: &str = "tenure/src/fence/redis.rs";
const SESSION: &str = "tenure/src/store/postgres/session.rs";
const POSTGRES_ERROR: &str = "tenure/src/store/postgres/error.rs";
const PLACE: &str = "tenure/src/store/sqlite/place.rs";
const SWAPS: &str = "tenure/src/store/cas/store.rs";

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "renewals-from-a-cache",
        about: "the adapter answers renewals itself, as the server answered the last one",
        edits: &[Edit {
            file: REDIS,
            from: "        self.call_together(&live, &requests).await\n",
            to: "        let past = live.past();\n        \
                 if past == super::script::PastUse::Reads\n            \
                 && matches!(requests[..], [(_, Request::Renew { .. })])\n        {\n            \
                 return vec![Ok(Reply::Renewed { asked: None, wanted: None, past: None })];\n        }\n        \
                 self.call_together(&live, &requests).await\n",
        }],
        shows: Shows::Servers(OnServers { store: "redis-sentinel", faults: "partition,pause" }),
        caught_by: &["single-leader", "margin-kept"],
    },
    Mutant {
        name: "old-primary-trusted",
        about: "the adapter takes a server's word, and asks no sentinel whether it is the primary",
        edits: &[Edit {
            file: REDIS,
            from: "else { return route.vouch_for(&live.at).await };\n",
            to: "else {\n            \
                 if answer.acknowledged.is_some() {\n                \
                 return route.vouch_for(&live.at).await;\n            }\n            \
                 return Ok(());\n        };\n",
        }],
        shows: Shows::Servers(OnServers {
            store: "redis-sentinel",
            faults: "split-brain,reset,crash",
        }),
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "fence-refuses-lower-tokens-alone",
        about: "the fence knows a tenure from its first write on, and refuses lower tokens than that",
        edits: &[
            Edit {
                file: FENCE,
                from: "redis.call('SET', KEYS[1], token)\nreturn token",
                to: "return token",
            },
            Edit {
                file: FENCE,
                from: "\"do local stored, token = redis.call('GET', table.remove(KEYS, 1)), \
                       table.remove(ARGV, 1) \",",
                to: "\"do local fence, token = table.remove(KEYS, 1), table.remove(ARGV, 1) \
                     local stored = redis.call('GET', fence) \",",
            },
            Edit {
                file: FENCE,
                from: "\"if stored ~= token then return redis.error_reply('FENCED ' .. (stored or 'none')) \
                       end end \"",
                to: "\"if stored and (#stored > #token or (#stored == #token and stored > token)) \
                     then return redis.error_reply('FENCED ' .. stored) end \
                     redis.call('SET', fence, token) end \"",
            },
        ],
        shows: Shows::Servers(OnServers { store: "redis", faults: "pause-at-guard,pause" }),
        caught_by: &["fenced-reads"],
    },
    Mutant {
        name: "moved-file-written-on",
        about: "a process uses the file that it has opened, wherever that is by now",
        edits: &[Edit {
            file: PLACE,
            from: "pub(super) fn is_kept(&self) -> Result<(), SqliteError> {",
            to: "pub(super) fn is_kept(&self) -> Result<(), SqliteError> {\n        \
                 if !self.files.is_empty() {\n            return Ok(());\n        }",
        }],
        shows: Shows::Servers(OnServers { store: "sqlite", faults: "store-loss,crash" }),
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "side-files-not-compared",
        about: "a process keeps a log and a shared memory that were deleted",
        edits: &[Edit {
            file: PLACE,
            from: "        for (path, inode) in &self.files {",
            to: "        for (path, inode) in &self.files[..2] {",
        }],
        shows: Shows::Servers(OnServers { store: "sqlite", faults: "delete-log,crash" }),
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "conflict-taken-for-done",
        about: "the adapter takes a swap that another one has preceded for one that was done",
        edits: &[Edit {
            file: SWAPS,
            from: "                Swapped::Conflict if is_known => {}\n                \
                   Swapped::Conflict => tried = Some(version.cloned()),\n",
            to: "                Swapped::Conflict if tried.is_some() => tried = Some(version.cloned()),\n                \
                 Swapped::Conflict => return Ok(reply),\n",
        }],
        shows: Shows::Servers(OnServers { store: "kubernetes", faults: "resign,crash" }),
        caught_by: &["single-leader", "margin-kept"],
    },
    Mutant {
        name: "pooler-not-noticed",
        about: "the adapter keeps to sessions that a pooler hands out",
        edits: &[
            Edit {
                file: SESSION,
                from: "        if pid != self.pid {",
                to: "        if pid != self.pid && pid == 0 {",
            },
            Edit {
                file: POSTGRES_ERROR,
                from: "(Kind::Pooler, Some(advice.into()))",
                to: "(Kind::Refused, Some(advice.into()))",
            },
        ],
        shows: Shows::Servers(OnServers { store: "postgres", faults: "pooler" }),
        caught_by: &["pooler-under-a-leader"],
    },
];

/// Mutants that show in a simulator too.
const OTHERS: &[(&str, OnServers, &[&str])] = &[
    (
        "leadership-without-clock",
        OnServers { store: "fred", faults: "pause,partition" },
        &["fail-closed", "single-leader"],
    ),
    (
        "quarantine-ignored",
        OnServers { store: "etcd", faults: "store-loss,partition,pause" },
        &["single-leader"],
    ),
    (
        "release-before-work-ends",
        OnServers { store: "postgres", faults: "resign" },
        &["no-release-under-work"],
    ),
    (
        "drain-bound-doubled",
        OnServers { store: "postgres", faults: "resign" },
        &["drains-within-bounds"],
    ),
    (
        "deadline-counted-from-reply",
        OnServers { store: "redis-cluster", faults: "latency" },
        &["margin-kept"],
    ),
];

/// What is needed to catch such a mutant on real servers, if it is tried there.
pub(in super::super) fn on_servers(mutant: &str) -> Option<Chase> {
    let (_, on, guards) = OTHERS.iter().find(|(name, ..)| *name == mutant)?;
    Some(Chase { store: Some(on.store), faults: on.faults, guards })
}

#[cfg(test)]
mod tests {
    use super::super::super::{Arena, all, guards};
    use super::*;

    #[test]
    fn the_names_are_those_of_mutants_and_guards() {
        for (name, _, caught_by) in OTHERS {
            assert!(all().any(|mutant| mutant.name == *name), "{name}");
            assert!(
                !caught_by.is_empty()
                    && caught_by.iter().all(|one| guards().any(|guard| guard == *one)),
                "{name}"
            );
        }
    }

    #[cfg(feature = "real")]
    #[test]
    fn each_store_has_a_mutant_whose_faults_it_can_have() {
        use crate::engines::Engine;
        use crate::engines::real::Target;
        use crate::plan::FaultKind;

        let chases: Vec<_> = all().filter_map(|mutant| mutant.chase_in(Arena::Real)).collect();
        let mut without = Target::ALL.to_vec();
        for chase in chases {
            let target: Target = chase.store.expect("a store").parse().expect("a known store");
            without.retain(|other| *other != target);
            let kinds = Engine::Real(target).scope().kinds().clone();
            for fault in chase.faults.split(',') {
                let kind: FaultKind = fault.parse().expect("a kind of fault");
                assert!(kinds.contains(&kind), "{target}: {kind}");
            }
        }
        // Its adapter is that of a single member.
        assert_eq!(without, [Target::EtcdCluster], "no mutant is caught there");
    }
}
