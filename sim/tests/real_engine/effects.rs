//! Each fault of real servers has an effect, which the engine sees.

use serde_json::Value;
use tenure_servers::undisturbed;

use super::replayed;

/// On a busy machine a fault may come while the server is still occupied with the one before it,
/// and do nothing.
pub(super) const ATTEMPTS: usize = 5;

/// Safety holds under these faults in each run, and each of their kinds has an effect on a store in
/// one of the runs: a failover as often as it is ordered.
fn have_effects_on(store: &str, faults: &Value) {
    let kinds: Vec<_> = faults.as_array().unwrap().iter().map(kind_of).collect();
    let (mut missing, mut told) = (kinds.clone(), Vec::new());
    while !missing.is_empty() {
        assert!(told.len() < ATTEMPTS, "{}", told.join("\n"));
        let ran = replayed(store, faults);
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert_eq!(ran.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&ran.stderr));
        missing.retain(|kind| {
            let effects = text.matches(&format!("Effect {{ kind: {kind}")).count();
            let ordered = kinds.iter().filter(|other| *other == kind).count();
            effects < if kind == "Failover" { ordered } else { 1 }
        });
        told.push(format!("effects of {missing:?} are missing:\n{text}"));
    }
}

fn kind_of(fault: &Value) -> String {
    let what = &fault["what"];
    if what["store-clock-step"]["by_ms"].as_i64().is_some_and(|by_ms| by_ms < 0) {
        return "StoreClockBack".to_owned();
    }
    let name = what["operator"].as_str().or_else(|| what.as_str());
    pascal(name.or_else(|| what.as_object()?.keys().next().map(|key| &**key)).unwrap())
}

/// `lock-row` as `LockRow`.
fn pascal(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('-').map(capital).collect()
}

/// The trace between the order of such a fault and its end, with the milliseconds since the order.
fn during<'a>(text: &'a str, kind: &str) -> Vec<(f64, &'a str)> {
    let mut lines = text.lines().filter_map(|line| {
        let (at, what) = line.trim_start().split_once(" ms ")?;
        Some((at.parse::<f64>().ok()?, what))
    });
    let ordered = lines.find(|(_, what)| what.contains(&format!("Fault {{ kind: {kind}")));
    let (since, _) = ordered.unwrap_or_else(|| panic!("no {kind} in {text}"));
    let ends = format!("Healed {{ kind: {kind}");
    let told = lines.take_while(|(_, what)| !what.contains(&ends));
    told.map(|(at, what)| (at - since, what)).collect()
}

/// The end of a loss of the server's data, in a trace.
const LOST: &str = "Healed { kind: StoreLoss";

/// The engine that orders faults also counts their effects. These are seen in what the struck
/// process and the server tell.
#[test]
fn faults_strike_whom_they_are_meant_for() {
    // What is told after an order is told in time, but for a pause of the machine.
    undisturbed(faults_strike_the_chosen);
}

fn faults_strike_the_chosen() {
    let node = || serde_json::json!({ "node": 0 });
    let faults = serde_json::json!([
        { "when": { "at_ms": 6_000 }, "for_ms": 1_500, "what": { "partition": node() } },
        { "when": { "at_ms": 8_500 }, "for_ms": 1_000, "what": { "pause": node() } },
        { "when": { "at_ms": 10_500 }, "for_ms": 800, "what": { "crash": { "node": 0, "power": false } } },
        loses_its_data(12_500)
    ]);
    let run = |_| {
        let ran = replayed("redis", &faults);
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert_eq!(ran.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&ran.stderr));
        text
    };
    // The run may end before the last fault does.
    let mut runs = (0..ATTEMPTS).map(run);
    let text = runs.find(|text| text.contains(LOST)).expect("a run in which the data is lost");
    let tells = |what: &str| what.contains("who: n0,");
    // What had arrived before may be answered.
    let told: Vec<_> = during(&text, "Partition")
        .into_iter()
        .filter(|(after, what)| *after > 100.0 && tells(what))
        .collect();
    assert!(told.iter().any(|(_, what)| what.contains("Sent")), "{told:?}");
    assert!(!told.iter().any(|(_, what)| what.contains("answer: Some")), "{told:?}");
    // A little is told before the order is carried out, and before its end is.
    for kind in ["Pause", "Crash"] {
        let mut told = during(&text, kind).into_iter().filter(|(_, what)| tells(what));
        let told = told.find(|(after, _)| (50.0..700.0).contains(after));
        assert!(told.is_none(), "{kind}: {told:?}");
    }
    let (_, after) = text.split_once(LOST).expect("it was looked for");
    let first = after.lines().find(|line| line.contains(" Store ")).unwrap();
    assert!(first.contains("Store 1: ") && first.contains("no record"), "{first}");
    assert!(text.contains("Effect { kind: StoreLoss"), "{text}");
}

#[test]
fn acts_at_redis_have_effects() {
    // The first leader waits out a quarantine. Without memory none is elected, and the next one
    // waits after a loss.
    have_effects_on(
        "redis",
        &serde_json::json!([
            { "when": { "at_ms": 4_000 }, "what": { "operator": "disconnect" } },
            { "when": { "at_ms": 4_500 }, "what": { "operator": "flush-scripts" } },
            { "when": { "at_ms": 5_000 }, "for_ms": 2_000, "what": { "operator": "fill-memory" } },
            { "when": { "at_ms": 5_200 }, "what": { "resign": { "node": null } } },
            { "when": { "at_ms": 10_000 }, "what": { "operator": "flush-data" } },
            { "when": { "at_ms": 12_500 }, "for_ms": 1_000, "what": { "operator": "rotate-password" } }
        ]),
    );
}

#[test]
fn acts_at_postgres_have_effects() {
    have_effects_on(
        "postgres",
        &serde_json::json!([
            { "when": { "at_ms": 3_500 }, "what": { "operator": "disconnect-leader" } },
            { "when": { "at_ms": 4_300 }, "what": { "operator": "disconnect" } },
            { "when": { "at_ms": 5_000 }, "for_ms": 1_500, "what": { "operator": "lock-row" } },
            { "when": { "at_ms": 8_000 }, "for_ms": 1_500, "what": { "operator": "lock-table" } },
            { "when": { "at_ms": 10_000 }, "for_ms": 3_700, "what": { "operator": "pooler" } },
            { "when": { "at_ms": 13_800 }, "for_ms": 1_000, "what": { "operator": "rotate-password" } }
        ]),
    );
}

#[test]
fn acts_at_mariadb_have_effects() {
    have_effects_on(
        "mariadb",
        &serde_json::json!([
            { "when": { "at_ms": 3_500 }, "what": { "operator": "disconnect-leader" } },
            { "when": { "at_ms": 4_300 }, "what": { "operator": "disconnect" } },
            { "when": { "at_ms": 5_000 }, "for_ms": 1_500, "what": { "operator": "lock-row" } },
            { "when": { "at_ms": 8_000 }, "for_ms": 1_500, "what": { "operator": "lock-table" } },
            { "when": { "at_ms": 10_000 }, "for_ms": 1_000, "what": { "operator": "rotate-password" } },
            loses_its_data(12_000)
        ]),
    );
}

/// Once for longer than a lease, and until after the server has crashed: the next server shows a
/// valid one.
fn a_certificate_expires_on(store: &str) {
    have_effects_on(
        store,
        &serde_json::json!([
            { "when": { "at_ms": 4_000 }, "for_ms": 3_000, "what": { "operator": "expire-certificate" } },
            { "when": { "at_ms": 10_000 }, "for_ms": 1_000, "what": { "operator": "expire-certificate" } },
            { "when": { "at_ms": 10_500 }, "for_ms": 1_000, "what": "store-crash" }
        ]),
    );
}

#[test]
fn a_certificate_of_redis_expires() {
    a_certificate_expires_on("redis");
}

#[test]
fn a_certificate_of_mariadb_expires() {
    a_certificate_expires_on("mariadb");
}

#[test]
fn a_certificate_of_etcd_expires() {
    a_certificate_expires_on("etcd");
}

/// All of these acts concern who may connect, and to what. The pooler stays long enough to start on
/// a busy machine, and to be met after a pause between attempts to connect.
#[test]
fn a_certificate_of_postgres_expires_among_other_acts() {
    have_effects_on(
        "postgres",
        &serde_json::json!([
            { "when": { "at_ms": 3_500 }, "for_ms": 1_000, "what": { "operator": "expire-certificate" } },
            { "when": { "at_ms": 5_200 }, "for_ms": 3_700, "what": { "operator": "pooler" } },
            { "when": { "at_ms": 9_000 }, "for_ms": 1_900, "what": { "operator": "rotate-password" } },
            { "when": { "at_ms": 10_900 }, "for_ms": 1_400, "what": { "operator": "expire-certificate" } },
            { "when": { "at_ms": 11_300 }, "for_ms": 500, "what": { "failover": { "lag_ms": 0, "clock_ahead_ms": 0 } } },
            loses_its_data(14_500)
        ]),
    );
}

/// One candidate connects anew, to the new primary, and is granted a lease there. The other one may
/// stay with the old primary, which renews its lease, or grants it one.
#[test]
fn an_old_primary_elects_no_second_leader() {
    have_effects_on(
        "redis-sentinel",
        &serde_json::json!([
            { "when": { "at_ms": 4_000 }, "for_ms": 10_000, "what": { "operator": "split-brain" } },
            { "when": { "at_ms": 9_000 }, "what": { "reset": { "node": 0 } } },
            loses_its_data(16_500)
        ]),
    );
}

/// The old primary follows the new one, and is promoted again. The first promotion loses what the
/// leader has renewed last.
fn a_replica_is_promoted_on(store: &str, between: &[Value]) {
    let fails_over = |at_ms: u64, lag_ms: u64| {
        let what = serde_json::json!({ "failover": { "lag_ms": lag_ms, "clock_ahead_ms": 0 } });
        serde_json::json!({ "when": { "at_ms": at_ms }, "for_ms": 500, "what": what })
    };
    let faults = [&[fails_over(4_000, 500)], between, &[fails_over(14_000, 0)]].concat();
    have_effects_on(store, &faults.into());
}

#[test]
fn a_replica_of_postgres_is_promoted() {
    a_replica_is_promoted_on("postgres", &[no_descriptors(8_500)]);
}

#[test]
fn a_replica_of_mariadb_is_promoted() {
    a_replica_is_promoted_on("mariadb", &[no_descriptors(8_500)]);
}

#[test]
fn a_replica_is_promoted_and_a_clock_is_set() {
    let what = serde_json::json!({ "operator": "disconnect-leader" });
    let disconnects = serde_json::json!({ "when": { "at_ms": 12_000 }, "what": what });
    let between = [sets_clock(8_000, 2_000), sets_clock(10_000, -1_500), disconnects];
    a_replica_is_promoted_on("postgres", &between);
}

#[test]
fn the_clock_of_redis_is_set() {
    let faults = [sets_clock(4_000, 5_000), sets_clock(7_000, -4_000), no_descriptors(10_000)];
    have_effects_on("fred", &faults.to_vec().into());
}

/// A process that can't connect again for two seconds.
fn no_descriptors(at_ms: u64) -> Value {
    let what = serde_json::json!({ "no-descriptors": { "node": 0 } });
    serde_json::json!({ "when": { "at_ms": at_ms }, "for_ms": 2_000, "what": what })
}

/// Each of both candidates is to lead: one of them does already. A wish for another one takes its
/// place, so there is time for each, in which no other fault may keep the candidates apart.
fn hand_overs(at_ms: u64) -> [Value; 2] {
    [0, 1].map(|to| {
        let what = serde_json::json!({ "hand-over": { "node": null, "to": to } });
        serde_json::json!({ "when": { "at_ms": at_ms + 1_500 * to }, "what": what })
    })
}

/// Another server takes the place of the store's, without its data.
fn loses_its_data(at_ms: u64) -> Value {
    serde_json::json!({ "when": { "at_ms": at_ms }, "for_ms": 300, "what": "store-loss" })
}

/// The clock of the store's server is put forward, or back if negative.
pub(super) fn sets_clock(at_ms: u64, by_ms: i64) -> Value {
    let what = serde_json::json!({ "store-clock-step": { "by_ms": by_ms } });
    serde_json::json!({ "when": { "at_ms": at_ms }, "what": what })
}

#[test]
fn acts_at_etcd_members_have_effects() {
    let [to_one, to_other] = hand_overs(7_800);
    have_effects_on(
        "etcd-cluster",
        &serde_json::json!([
            { "when": { "at_ms": 6_000 }, "for_ms": 1_500, "what": { "operator": "kill-member" } },
            to_one,
            to_other,
            { "when": { "at_ms": 11_000 }, "for_ms": 900, "what": { "operator": "pause-raft-leader" } },
            { "when": { "at_ms": 13_000 }, "what": { "operator": "move-raft-leader" } },
            no_descriptors(14_000),
            loses_its_data(17_000)
        ]),
    );
}

/// Leases are deleted, and the etcd is restored under its server, whichever is first.
#[test]
fn acts_at_kubernetes_have_effects() {
    let [to_one, to_other] = hand_overs(6_000);
    have_effects_on(
        "kubernetes",
        &serde_json::json!([
            { "when": { "at_ms": 4_000 }, "for_ms": 1_500, "what": { "operator": "revoke-rights" } },
            to_one,
            to_other,
            { "when": { "at_ms": 9_000 }, "for_ms": 800, "what": "store-stall" },
            { "when": { "at_ms": 10_500 }, "for_ms": 800, "what": "store-stall" },
            { "when": { "at_ms": 12_000 }, "what": { "operator": "flush-data" } },
            { "when": { "at_ms": 16_500 }, "what": { "operator": "flush-data" } },
            loses_its_data(21_500)
        ]),
    );
}

#[test]
fn acts_at_a_redis_cluster_have_effects() {
    // The slot moves twice, and each of the primaries that keep it is replaced by its replica.
    have_effects_on(
        "redis-cluster",
        &serde_json::json!([
            { "when": { "at_ms": 3_500 }, "for_ms": 1_500, "what": { "operator": "move-slot" } },
            {
                "when": { "at_ms": 6_000 }, "for_ms": 1_000,
                "what": { "failover": { "lag_ms": 0, "clock_ahead_ms": 0 } }
            },
            { "when": { "at_ms": 10_500 }, "for_ms": 2_000, "what": { "operator": "move-slot" } },
            {
                "when": { "at_ms": 13_500 }, "for_ms": 1_000,
                "what": { "failover": { "lag_ms": 0, "clock_ahead_ms": 0 } }
            },
            loses_its_data(17_500)
        ]),
    );
}

#[test]
fn acts_at_a_file_have_effects() {
    let [to_one, to_other] = hand_overs(8_000);
    have_effects_on(
        "sqlite",
        &serde_json::json!([
            { "when": { "at_ms": 5_000 }, "what": { "operator": "delete-log" } },
            to_one,
            to_other
        ]),
    );
}

/// Once for longer than a lease, and while the log is deleted and the file is replaced.
#[test]
fn a_full_disk_has_effects() {
    have_effects_on(
        "sqlite",
        &serde_json::json!([
            { "when": { "at_ms": 4_000 }, "for_ms": 3_000, "what": { "operator": "fill-disk" } },
            { "when": { "at_ms": 8_500 }, "what": { "operator": "delete-log" } },
            { "when": { "at_ms": 8_600 }, "for_ms": 2_000, "what": { "operator": "fill-disk" } },
            { "when": { "at_ms": 9_000 }, "what": { "operator": "delete-log" } },
            { "when": { "at_ms": 11_500 }, "for_ms": 1_500, "what": { "operator": "fill-disk" } },
            loses_its_data(12_300)
        ]),
    );
}

#[test]
fn broken_and_slow_connections_have_effects() {
    let [to_one, to_other] = hand_overs(7_500);
    have_effects_on(
        "redis",
        &serde_json::json!([
            { "when": { "at_ms": 4_000 }, "what": { "reset": { "node": 0 } } },
            { "when": { "at_ms": 6_000 }, "what": { "half-open": { "node": 0 } } },
            to_one,
            to_other,
            {
                "when": { "at_ms": 10_300 }, "for_ms": 2_000,
                "what": { "throttle": { "node": 0, "bytes_per_second": 500 } }
            },
            no_descriptors(13_000)
        ]),
    );
}
