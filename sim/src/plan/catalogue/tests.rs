//! The rows, and how plans spell faults.

use std::collections::BTreeSet;

use super::*;

/// Each kind of fault as plans have always spelled it.
const SPELLED: [&str; 32] = [
    r#"{"partition":{"node":3}}"#,
    r#"{"one-way":{"node":null,"to_store":true}}"#,
    r#"{"hold":{"node":3}}"#,
    r#"{"latency":{"node":3,"most_ms":7}}"#,
    r#"{"loss":{"node":null,"permille":300}}"#,
    r#"{"duplicate":{"node":3,"permille":50,"most_ms":7}}"#,
    r#"{"reorder":{"node":3,"permille":900,"most_ms":7}}"#,
    r#"{"cut":{"node":null}}"#,
    r#"{"reset":{"node":3}}"#,
    r#"{"half-open":{"node":3}}"#,
    r#"{"throttle":{"node":3,"bytes_per_second":500}}"#,
    r#"{"no-descriptors":{"node":3}}"#,
    r#"{"swizzle":{"step_ms":50,"shift":2}}"#,
    r#"{"pause":{"node":3}}"#,
    r#"{"starve":{"node":3}}"#,
    r#"{"suspend":{"node":3}}"#,
    r#"{"vm-stop":{"node":3}}"#,
    r#"{"vm-restore":{"node":3}}"#,
    r#"{"clock-step":{"node":null,"by_ms":7}}"#,
    r#"{"clock-step":{"node":3,"by_ms":-7}}"#,
    r#"{"crash":{"node":3,"power":true}}"#,
    r#"{"resign":{"node":3}}"#,
    r#"{"hand-over":{"node":null,"to":7}}"#,
    r#"{"leave":{"node":3}}"#,
    r#""store-crash""#,
    r#""store-loss""#,
    r#"{"store-rollback":{"back_ms":7}}"#,
    r#"{"failover":{"lag_ms":7,"clock_ahead_ms":-9}}"#,
    r#"{"old-primary":{"node":3}}"#,
    r#""store-stall""#,
    r#"{"store-clock-step":{"by_ms":7}}"#,
    r#"{"store-clock-step":{"by_ms":-7}}"#,
];

#[test]
fn faults_are_read_and_written_as_ever() {
    let acts = Act::ALL.map(|act| format!(r#"{{"operator":"{}"}}"#, act.kind()));
    let mut kinds = BTreeSet::new();
    for text in SPELLED.into_iter().chain(acts.iter().map(String::as_str)) {
        let what: What = serde_json::from_str(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(serde_json::to_string(&what).expect("text"), text);
        kinds.insert(what.kind());
    }
    // Triggers make the others, and drift is a rate of clocks.
    let others = FaultKind::ALL.into_iter().filter(|kind| !kinds.contains(kind));
    let expected = [
        FaultKind::PauseAtGuard,
        FaultKind::PauseAtSend,
        FaultKind::PauseAfterSend,
        FaultKind::PauseAtReply,
        FaultKind::Drift,
    ];
    assert_eq!(others.collect::<Vec<_>>(), expected);
}

#[test]
fn rows_agree_with_their_kinds() {
    for (place, kind) in FaultKind::ALL.into_iter().enumerate() {
        assert_eq!(kind as usize, place, "{kind}");
        assert_eq!(serde_json::to_string(&kind).expect("text"), format!("{:?}", kind.name()));
        assert_eq!(kind.name().parse(), Ok(kind));
        let drawn = (kind.row().drawn_for)(1_000);
        assert!(drawn.start() <= drawn.end(), "{kind}");
        let is_in_bounds =
            |what: What| what.bounded().iter().all(|(_, value, bounds)| bounds.contains(value));
        assert!(kind.example().is_none_or(is_in_bounds), "{kind}");
    }
}
