//! The models of other algorithms against what was measured of the libraries, and tenure against
//! both.
//!
//! Measured on 2026-11-20 (`docs/comparison.md`) with a TTL of 3 s, renewed every second, retried
//! every half. How many runs a measured figure stands for is known of the lost data alone: ten or
//! twenty. The models run two hundred times, with two nodes: so the middle is compared, within a
//! stated tolerance, and what was measured at worst must be possible.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use tenure_sim::evidence::compare::{
    self, Cell, Contender, Measured, Scenario, Settings, Spread, Takeover,
};

const RUNS: u64 = 200;

/// Runs of two nodes.
fn runs(contender: Contender, scenario: Scenario, ttl_ms: u64) -> Vec<Measured> {
    let run = |seed| contender.run(&scenario.plan_of(seed, ttl_ms, 2).unwrap()).unwrap();
    (0..RUNS).map(run).collect()
}

fn overlap(contender: Contender, scenario: Scenario) -> (usize, Spread) {
    let runs = runs(contender, scenario, 3_000);
    let overlaps: Vec<Duration> =
        runs.iter().map(|run| run.overlap).filter(|overlap| !overlap.is_zero()).collect();
    (overlaps.len(), Spread::of(overlaps).unwrap_or(Spread { median_ms: 0.0, max_ms: 0.0 }))
}

fn took(contender: Contender, scenario: Scenario, ttl_ms: u64) -> Spread {
    let took = |run: Measured| match run.takeover.or(run.handover).unwrap() {
        Takeover::After(took) => took,
        Takeover::Never => panic!("{contender}: nobody took over"),
    };
    Spread::of(runs(contender, scenario, ttl_ms).into_iter().map(took).collect()).unwrap()
}

#[track_caller]
fn close(what: impl std::fmt::Display, model: f64, measured: f64, tolerance: f64) {
    eprintln!("{what}: measured {measured}, model {model:.1}");
    assert!(
        (model - measured).abs() <= tolerance,
        "{what}: the model says {model:.1}, measured was {measured}, tolerance {tolerance}"
    );
}

#[test]
fn cut_off_leaders_overlap_as_long_as_was_measured() {
    use Contender::{ExpiringRow, HeartbeatRow, KeyFlag, KeyFlagOneTimer, SessionLockEnded};
    for (contender, scenario, measured_ms, tolerance) in [
        (KeyFlag, Scenario::CutOff, 12_300.0, 300.0),
        (KeyFlagOneTimer, Scenario::CutOff, 12_100.0, 300.0),
        (HeartbeatRow, Scenario::CutOff, 12_300.0, 300.0),
        (SessionLockEnded, Scenario::CutOff, 14_900.0, 300.0),
        (ExpiringRow, Scenario::CutOffLong, 17_000.0, 1_500.0),
    ] {
        let (overlapped, overlap) = overlap(contender, scenario);
        assert_eq!(overlapped as u64, RUNS, "{contender}");
        close(format_args!("{contender} {scenario}"), overlap.median_ms, measured_ms, tolerance);
    }
    let (overlapped, _) = overlap(Contender::SessionLock, Scenario::CutOff);
    assert_eq!(overlapped, 0, "a server that does not notice keeps the lock");
}

#[test]
fn crashed_leaders_are_taken_over_as_late_as_was_measured() {
    use Contender::{ExpiringRow, HeartbeatRow, KeyFlag, KeyFlagOneTimer, SessionLock};
    for (contender, median_ms, max_ms, tolerance) in [
        (KeyFlag, 300.0, 500.0, 100.0),
        (KeyFlagOneTimer, 422.0, 830.0, 150.0),
        // The farthest off; why is not known.
        (HeartbeatRow, 645.0, 871.0, 200.0),
        (SessionLock, 210.0, 417.0, 100.0),
        (ExpiringRow, 7_475.0, 8_042.0, 1_500.0),
    ] {
        let took = took(contender, Scenario::Crash, 3_000);
        close(format_args!("{contender} crash"), took.median_ms, median_ms, tolerance);
        assert!(took.max_ms >= max_ms - 20.0, "{contender}: at most {} ms", took.max_ms);
    }
}

#[test]
fn handovers_take_as_long_as_was_measured_at_the_defaults() {
    use Contender::{ExpiringRow, HeartbeatRow, KeyFlag, KeyFlagOneTimer, SessionLock};
    // The TTL at which the model's waits are the library's defaults.
    for (contender, ttl_ms, measured_max_ms) in [
        (KeyFlag, 30_000, 5_000.0),
        (KeyFlagOneTimer, 30_000, 10_000.0),
        (HeartbeatRow, 30_000, 9_100.0),
        (ExpiringRow, 30_000, 9_000.0),
        (SessionLock, 60_000, 9_900.0),
    ] {
        let took = took(contender, Scenario::Handover, ttl_ms);
        close(format_args!("{contender} handover"), took.max_ms, measured_max_ms, 2_000.0);
    }
}

#[test]
fn lost_data_late_grants_and_clock_steps_do_what_was_measured() {
    use Contender::{ExpiringRow, HeartbeatRow, KeyFlag, KeyFlagOneTimer, SessionLock};
    // In how many of a hundred runs, and for how long at worst.
    for (contender, percent, worst_ms) in [
        (KeyFlag, 70, 761.0),
        (KeyFlagOneTimer, 50, 831.0),
        (ExpiringRow, 70, 869.0),
        (HeartbeatRow, 60, 886.0),
    ] {
        let (overlapped, overlap) = overlap(contender, Scenario::StoreLoss);
        let share = overlapped * 100 / usize::try_from(RUNS).unwrap();
        println!("{contender} store-loss: measured {percent} %, model {share} %");
        assert!(share.abs_diff(percent) <= 25, "{contender}: {share} %, measured {percent} %");
        close(format_args!("{contender} store-loss"), overlap.max_ms, worst_ms, 300.0);
    }
    for (contender, measured_ms, tolerance) in
        [(KeyFlag, 1_005.0, 20.0), (KeyFlagOneTimer, 5.5, 6.0), (HeartbeatRow, 905.0, 100.0)]
    {
        let (_, overlap) = overlap(contender, Scenario::LateGrant);
        close(format_args!("{contender} late-grant"), overlap.max_ms, measured_ms, tolerance);
    }
    for contender in [KeyFlag, KeyFlagOneTimer, HeartbeatRow] {
        let (overlapped, overlap) = overlap(contender, Scenario::StoreClockStep);
        // At most an interval; 774, 429 and 450 ms were seen.
        assert!(overlapped > 0 && overlap.max_ms <= 1_002.0, "{contender}: {overlap:?}");
    }
    assert_eq!(overlap(SessionLock, Scenario::StoreClockStep).0, 0);
}

/// Measured by `tests/stores/kubernetes/client_go_alone.rs`.
#[test]
fn a_renew_deadline_ends_a_lead_in_an_outage_alone() {
    use Contender::RenewDeadline;
    assert_eq!(overlap(RenewDeadline, Scenario::CutOff).0, 0);
    let (overlapped, overlap) = overlap(RenewDeadline, Scenario::StoreLoss);
    assert!(overlapped > 0 && (1_500.0..=2_600.0).contains(&overlap.max_ms), "{overlap:?}");
}

#[test]
fn the_first_answer_after_a_pause_is_that_one_leads() {
    use Contender::{HeartbeatRow, KeyFlag, KeyFlagOneTimer, RenewDeadline};
    for contender in [KeyFlag, KeyFlagOneTimer, HeartbeatRow] {
        let runs = runs(contender, Scenario::Pause, 3_000);
        assert!(runs.iter().all(|run| !run.overlap.is_zero() && run.stale > 0), "{contender}");
    }
    let stale: u64 = runs(RenewDeadline, Scenario::Pause, 3_000).iter().map(|run| run.stale).sum();
    assert!(stale > 0, "a timer is too late for a write that was about to be sent");
}

#[test]
fn tenure_never_overlaps_and_its_fence_holds() {
    let comparison = compare::run(&Settings { runs: 100, seed: 7, jobs: 2 }).unwrap();
    let tenures = |cell: &&Cell| cell.contender == Contender::Tenure;
    for cell in comparison.cells.iter().filter(tenures) {
        assert_eq!(cell.stale_accepted, 0, "{}", cell.scenario);
        assert_eq!(cell.never, 0, "{}", cell.scenario);
        assert_eq!(cell.overlapped, 0, "{}", cell.scenario);
    }
    let refused: u64 =
        comparison.cells.iter().filter(tenures).filter_map(|cell| cell.stale_refused).sum();
    assert!(refused > 0, "no stale write ever met the fence");
}

#[test]
fn the_same_comparison_comes_out_on_any_number_of_threads() {
    let settings = Settings { runs: 10, seed: 1, jobs: 1 };
    let one = compare::run(&settings).unwrap();
    let three = compare::run(&Settings { jobs: 3, ..settings }).unwrap();
    assert_eq!(one.cells, three.cells);
    let text = serde_json::to_string(&one).unwrap();
    let read: compare::Comparison = serde_json::from_str(&text).unwrap();
    assert_eq!(read.cells.len(), Scenario::ALL.len() * Contender::ALL.len());
}

#[test]
fn each_scenario_has_a_table_of_all_contenders() {
    let comparison = compare::run(&Settings { runs: 2, seed: 1, jobs: 1 }).unwrap();
    for table in comparison.tables() {
        assert_eq!(table.rows.len(), Contender::ALL.len(), "{}", table.title);
        assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{}", table.title);
    }
}
