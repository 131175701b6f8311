//! Mutants of what no simulator has: the adapters' own rules, the fences, and files. And those of
//! the others that are also tried with real processes and real servers.

use super::super::{Chase, Mutant, OnServers, Shows};

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "renewals-from-a-cache",
        about: "the adapter answers renewals itself, as the server answered the last one",
        shows: Shows::Servers(OnServers { store: "redis-sentinel", faults: "partition,pause" }),
        caught_by: &["single-leader", "margin-kept"],
    },
    Mutant {
        name: "old-primary-trusted",
        about: "the adapter takes a server's word, and asks no sentinel whether it is the primary",
        shows: Shows::Servers(OnServers {
            store: "redis-sentinel",
            faults: "split-brain,reset,crash",
        }),
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "fence-refuses-lower-tokens-alone",
        about: "the fence knows a tenure from its first write on, and refuses lower tokens than that",
        shows: Shows::Servers(OnServers { store: "redis", faults: "pause-at-guard,pause" }),
        caught_by: &["fenced-reads"],
    },
    Mutant {
        name: "moved-file-written-on",
        about: "a process uses the file that it has opened, wherever that is by now",
        shows: Shows::Servers(OnServers { store: "sqlite", faults: "store-loss,crash" }),
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "side-files-not-compared",
        about: "a process keeps a log and a shared memory that were deleted",
        shows: Shows::Servers(OnServers { store: "sqlite", faults: "delete-log,crash" }),
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "conflict-taken-for-done",
        about: "the adapter takes a swap that another one has preceded for one that was done",
        shows: Shows::Servers(OnServers { store: "kubernetes", faults: "resign,crash" }),
        caught_by: &["single-leader", "margin-kept"],
    },
    Mutant {
        name: "row-not-compared",
        about: "the statement that replaces an election's row compares the past and the server alone",
        shows: Shows::Servers(OnServers { store: "mariadb", faults: "resign,crash" }),
        caught_by: &["single-leader", "own-lease-only"],
    },
    Mutant {
        name: "pooler-not-noticed",
        about: "the adapter keeps to sessions that a pooler hands out",
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

/// The means to catch such a mutant on real servers, if it is tried there.
pub(in super::super) fn on_servers(mutant: &str) -> Option<Chase> {
    let (_, on, guards) = OTHERS.iter().find(|(name, ..)| *name == mutant)?;
    Some(Chase { store: Some(on.store), faults: on.faults, guards })
}

#[cfg(test)]
mod tests {
    use super::super::super::{all, guards};
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
        use crate::evidence::mutants::Arena;
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
