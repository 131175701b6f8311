//! The metrics while candidates lead, wait and lose their store.

use std::time::Duration;

use metrics::set_default_local_recorder;
use tenure::Candidate;
use tenure::metrics::Metrics;

use super::recorder::Kept;
use super::support::{Remote, brief, config, soon, start, steady, until};

#[tokio::test]
async fn gauges_and_counters_exist_from_the_start() {
    let kept = Kept::default();
    let _guard = set_default_local_recorder(&kept);
    let store = Remote::default();
    store.cut();
    let candidate = start(&store, "start", config(2_000));
    let gauge = |name: &str| kept.value(name, "start");
    assert_eq!(gauge("tenure_candidates"), Some(1.0));
    assert_eq!(gauge("tenure_leading"), Some(0.0));
    assert_eq!(gauge("tenure_store_up"), Some(1.0));
    assert_eq!(gauge("tenure_watching_seconds"), Some(0.0));
    for counter in [
        "tenure_elected_total",
        "tenure_stepped_down_total",
        "tenure_renewals_total",
        "tenure_late_renewals_total",
        "tenure_renewal_failures_total",
        "tenure_contradictions_total",
        "tenure_work_lost_total",
    ] {
        assert_eq!(gauge(counter), Some(0.0), "{counter}");
    }

    until(|| gauge("tenure_store_up") == Some(0.0)).await;
    store.heal();
    soon(candidate.elected()).await.unwrap();
    assert_eq!(gauge("tenure_store_up"), Some(1.0));
    assert_eq!(gauge("tenure_leading"), Some(1.0));
    soon(candidate.stop()).await.unwrap();
    assert_eq!(gauge("tenure_leading"), Some(0.0));
    until(|| gauge("tenure_candidates") == Some(0.0)).await;
}

#[tokio::test]
async fn failed_work_is_counted() {
    let kept = Kept::default();
    let _guard = set_default_local_recorder(&kept);
    let candidate = start(&Remote::default(), "fails", steady());
    let worker = candidate.clone();
    let work = async |_| Err::<(), _>("on purpose");
    let work = tokio::spawn(async move { worker.try_run_while_leader(work).await });
    until(|| kept.value("tenure_work_lost_total", "fails") == Some(1.0)).await;
    until(|| kept.value("tenure_stepped_down_total", "fails") == Some(1.0)).await;
    soon(candidate.stop()).await.unwrap();
    assert!(soon(work).await.unwrap().is_err());
}

#[tokio::test]
async fn a_candidate_that_is_dropped_leaves_no_gauge_behind() {
    let kept = Kept::default();
    let _guard = set_default_local_recorder(&kept);
    let store = Remote::default();
    let (leader, driver) =
        Candidate::builder(store.clone(), "gone").config(config(2_000)).build().unwrap();
    let driver = tokio::spawn(driver.run());
    soon(leader.elected()).await.unwrap();
    store.cut();
    let gauge = |name: &str| kept.value(name, "gone");
    until(|| gauge("tenure_store_up") == Some(0.0)).await;
    driver.abort();
    until(|| gauge("tenure_candidates") == Some(0.0)).await;
    assert_eq!(gauge("tenure_leading"), Some(0.0));
    assert_eq!(gauge("tenure_store_up"), Some(1.0));
}

#[tokio::test]
async fn a_watch_is_shown_until_its_end() {
    let kept = Kept::default();
    let _guard = set_default_local_recorder(&kept);
    let store = Remote::default();
    store.quarantine(Duration::from_secs(10));
    let config = brief().to_builder().poll_bound(Duration::from_millis(300)).build().unwrap();
    let candidate = start(&store, "new", config);
    let left = || kept.value("tenure_watching_seconds", "new").unwrap();
    until(|| left() > 5.0).await;
    // Each look shows less.
    until(|| left() < 9.5).await;
    assert!(left() > 0.0);
    assert!(!candidate.is_leader());
    soon(candidate.elected()).await.unwrap();
    assert!(left().abs() < f64::EPSILON);

    // A candidate that leaves the election no longer waits.
    let other = start(&store, "new:other", config);
    until(|| left() > 5.0).await;
    soon(other.stop()).await.unwrap();
    assert!(left().abs() < f64::EPSILON);
    soon(candidate.stop()).await.unwrap();
}

#[tokio::test]
async fn renewals_in_good_time_are_not_late() {
    let kept = Kept::default();
    let _guard = set_default_local_recorder(&kept);
    let candidate = start(&Remote::default(), "good", steady());
    let value = |name: &str| kept.value(name, "good");
    until(|| value("tenure_renewals_total") >= Some(3.0)).await;
    assert_eq!(value("tenure_late_renewals_total"), Some(0.0));
    assert_eq!(value("tenure_renewal_failures_total"), Some(0.0));
    let (left, renewals) =
        (value("tenure_validity_left_ratio").unwrap(), value("tenure_renewals_total").unwrap());
    assert!((left / renewals - 0.75).abs() < 0.25, "{left} in {renewals}");
    soon(candidate.stop()).await.unwrap();
}

#[tokio::test]
async fn aliases_count_the_same() {
    let kept = Kept::default();
    let _guard = set_default_local_recorder(&kept);
    let store = Remote::default();
    let builder = Candidate::builder(store.clone(), "alias").config(brief());
    let leader = builder.metrics(Metrics::new().leader_names(true)).start().unwrap();
    let plain = start(&store, "plain", brief());
    soon(leader.elected()).await.unwrap();
    soon(plain.elected()).await.unwrap();
    let value = |name: &str| kept.value(name, "alias");
    until(|| value("tenure_renewals_total") > Some(0.0)).await;
    store.cut();
    // Both tenures expire.
    until(|| value("tenure_stepped_down_total") > Some(0.0)).await;
    store.heal();
    for (alias, name) in [
        ("leader_acquired_total", "tenure_elected_total"),
        ("leader_lost_total", "tenure_stepped_down_total"),
        ("leader_renewals_total", "tenure_renewals_total"),
        ("leader_renewal_failures_total", "tenure_renewal_failures_total"),
    ] {
        assert!(value(name) > Some(0.0), "{name}");
        assert_eq!(value(alias), value(name), "{name}");
        assert_eq!(kept.value(alias, "plain"), None, "only on request");
    }
    soon(leader.stop()).await.unwrap();
    soon(plain.stop()).await.unwrap();
}
