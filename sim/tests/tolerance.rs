//! The tolerance certificate agrees with the formulas at all kinds of settings, and can fail to;
//! the margin search comes close to its bound, and depends on nothing but its seed.

use std::time::Duration;

use tenure_core::Explanation;
use tenure_sim::engines::Engine;
use tenure_sim::judge::margin::Ending;
use tenure_sim::judge::{Judging, Which};
use tenure_sim::plan::{Plan, Settings};
use tenure_sim::search::tolerance::search::{Found, Search, search};
use tenure_sim::search::tolerance::{ALL, Bounds, Certificate, Magnitude, ToleranceError, certify};

fn of_ttl(ms: u64) -> Settings {
    Settings::of_ttl(Duration::from_millis(ms)).expect("valid")
}

fn certificate(settings: Settings) -> Certificate {
    certify(settings, &ALL, |_| {}).unwrap_or_else(|error| panic!("{settings:?}: {error}"))
}

fn agrees(settings: Settings) {
    for row in certificate(settings).rows {
        assert!(row.agrees, "{settings:?}: {row:#?}");
    }
}

/// The defaults of 15 s.
fn usual() -> Settings {
    of_ttl(15_000)
}

#[test]
fn agrees_at_the_defaults_of_many_ttls() {
    for ttl_ms in [1_000, 5_000, 15_000, 60_000] {
        agrees(of_ttl(ttl_ms));
    }
}

#[test]
fn agrees_without_a_stop_margin() {
    agrees(Settings { stop_margin_ms: 0, ..usual() });
    agrees(Settings { stop_margin_ms: 0, drift_ppm: 1_000, ..of_ttl(1_000) });
}

#[test]
fn agrees_at_small_and_large_drift_bounds() {
    for drift_ppm in [1, 1_000, 100_000] {
        let (renew_interval_ms, request_timeout_ms) = (3_000, 1_000);
        agrees(Settings { drift_ppm, renew_interval_ms, request_timeout_ms, ..usual() });
    }
}

#[test]
fn agrees_at_the_longest_request_timeout() {
    let longest = (1..).map(|ms| Settings { request_timeout_ms: ms, ..usual() });
    let longest = longest.take_while(|settings| settings.config().is_ok()).last();
    agrees(longest.expect("some timeout is valid"));
    // Longer than the renew interval: a renewal waits for the reply before it.
    agrees(Settings { request_timeout_ms: 2_400, renew_interval_ms: 1_500, ..usual() });
}

#[test]
fn agrees_with_a_store_that_declares_a_coarse_clock() {
    agrees(Settings { granularity_ns: 1_000_000, ..usual() });
}

#[test]
fn a_ttl_too_short_to_be_measured_is_refused() {
    let refused = certify(of_ttl(900), &ALL, |_| {}).expect_err("too short");
    assert!(matches!(refused, ToleranceError::Ttl { ttl_ms: 900 }), "{refused}");
}

/// The same magnitude by another formula.
fn with(name: &str, frontier: fn(&Bounds) -> Option<u64>) -> Magnitude {
    let magnitude: Magnitude = name.parse().expect("a magnitude");
    Magnitude { frontier, ..magnitude }
}

/// A formula counts durations in nanoseconds.
fn parts(duration: Duration) -> Option<u64> {
    u64::try_from(duration.as_nanos()).ok()
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A claim's validity less one renew interval.
fn without_a_retry(bounds: &Bounds) -> Duration {
    bounds.validity().saturating_sub(ms(bounds.settings.renew_interval_ms))
}

/// Formulas that are nearly right.
fn nearly_right() -> Vec<Magnitude> {
    vec![
        // Up to the bound, and no further: forgets what the stop margin buys.
        with("drift", |bounds| Some(u64::from(bounds.settings.drift_ppm) * 1_000)),
        // On a clock that is right, or on the fastest one, instead of the slowest.
        with("vm-stop", |bounds| parts(ms(bounds.settings.stop_margin_ms))),
        with("pause-at-guard", |bounds| parts(bounds.promised_gap())),
        with("slow-effect", |bounds| parts(bounds.promised_gap())),
        with("watcher-step", |bounds| parts(bounds.gap())),
        with("clock-back", |bounds| parts(bounds.gap())),
        // The whole TTL, though no claim lasts so long.
        with("quarantine", |bounds| parts(bounds.ttl())),
        // Without a second slow try.
        with("pause", |bounds| parts(without_a_retry(bounds))),
        with("cut", |bounds| parts(without_a_retry(bounds))),
        with("latency", |bounds| parts(ms(bounds.settings.request_timeout_ms))),
        with("latency", |_| None),
        // A frontier where there is none.
        with("long-pause", |bounds| parts(bounds.ttl())),
        with("late-messages", |bounds| parts(bounds.ttl())),
        with("replica-lag", |bounds| parts(bounds.ttl())),
    ]
}

#[test]
fn a_formula_that_is_nearly_right_is_told_apart() {
    for wrong in nearly_right() {
        let certificate = certify(usual(), &[wrong], |_| {}).expect("can be carried out");
        assert!(!certificate.agrees, "{:#?}", certificate.rows);
    }
}

#[test]
fn a_promise_of_more_than_what_holds_is_told_apart() {
    let too_much: fn(&Bounds, &Explanation) -> Option<u64> =
        |bounds, _| parts(bounds.gap() + ms(1));
    let magnitude: Magnitude = "vm-stop".parse().expect("a magnitude");
    let promised = Magnitude { explained: too_much, ..magnitude };
    assert!(!certify(usual(), &[promised], |_| {}).expect("can be carried out").agrees);
}

#[test]
fn the_plans_on_both_sides_can_be_read_again_and_break_or_hold() {
    for row in certificate(usual()).rows.iter().filter(|row| row.promise == "single-leader") {
        for (plan, breaks) in [(&row.plans.0, false), (&row.plans.1, true)] {
            let Some(plan) = plan else { continue };
            let read = Plan::parse(&plan.to_text()).expect("a plan");
            let outcome = Engine::Model.run(&read, Judging::KeepJudging(Which::All)).expect("runs");
            let broke =
                outcome.judge.violations().iter().any(|one| one.property.as_str() == row.promise);
            assert_eq!(broke, breaks, "{}", row.magnitude);
        }
    }
}

fn found(jobs: usize) -> Found {
    let search = |settings| search(&Search { settings, runs: 800, restarts: 4, seed: 1, jobs });
    search(of_ttl(3_000)).expect("can be carried out")
}

#[test]
fn the_search_comes_close_to_its_bound_and_never_below() {
    let found = found(2);
    assert_eq!((found.violation.as_deref(), found.exit_code()), (None, 0));
    let lapsed = &found.least[0];
    let margin = lapsed.margin.expect("some tenure lapsed");
    assert_eq!(lapsed.after, Ending::Lapsed);
    assert!(lapsed.bound > found.promised, "{lapsed:?}");
    assert!(margin >= lapsed.bound, "{lapsed:?}");
    // Of 3 s, random plans stay hundreds of milliseconds away.
    assert!(margin < lapsed.bound + Duration::from_millis(30), "{lapsed:?}");
    let plan = found.plan().expect("the plan with it");
    assert!(plan.broken().is_empty());
}

#[test]
fn the_search_depends_on_its_seed_alone() {
    let plans = |jobs| {
        let found = found(jobs);
        found.least.into_iter().map(|least| (least.margin, least.plan)).collect::<Vec<_>>()
    };
    assert_eq!(plans(1), plans(2));
}
