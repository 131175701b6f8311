//! The clock of the store's server decides nothing.

use super::effects::{ATTEMPTS, sets_clock};
use super::{plan_of, replayed_plan};

const SECONDS: i64 = 30_000;
const HOUR: i64 = 3_600_000;
const YEARS: i64 = 3_652 * 24 * HOUR;

/// The lead is lost only if no request is answered for seconds, which a busy machine does not
/// explain.
const SETTINGS: [(&str, u64); 5] = [
    ("ttl_ms", 8_000),
    ("renew_interval_ms", 1_000),
    ("request_timeout_ms", 1_500),
    ("stop_margin_ms", 500),
    ("quarantine_ms", 8_000),
];
/// A leader was elected, after the first quarantine.
const FIRST_STEP_MS: u64 = 10_000;
const CALM_FROM_MS: u64 = 20_000;

/// One leader is elected, and leads to the end. On a busy machine the server may show a step too
/// late, which is then no effect; or its processes get no processor for seconds, so that requests
/// are given up: then the lead may be lost to that. If a step were the reason, no attempt would be
/// without it.
fn steps_cost_no_lead_on(store: &str) {
    let steps = [SECONDS, -SECONDS, -HOUR, HOUR, YEARS, -YEARS];
    let at = (FIRST_STEP_MS..).step_by(1_500);
    let faults: Vec<_> = at.zip(steps).map(|(at_ms, by_ms)| sets_clock(at_ms, by_ms)).collect();
    let mut plan = plan_of(&faults.into());
    plan["calm_from_ms"] = CALM_FROM_MS.into();
    for (name, value) in SETTINGS {
        plan["settings"][name] = value.into();
    }
    let mut told = Vec::new();
    while told.len() < ATTEMPTS {
        let ran = replayed_plan(store, &plan);
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert_eq!(ran.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&ran.stderr));
        let count = |what: &str| text.matches(what).count();
        let (elected, ended) = (count(" Elected {"), count(" SteppedDown {"));
        let given_up = count(" answer: None }");
        assert!(
            (elected, ended) == (1, 0) || given_up > 0,
            "{elected} elected, {ended} ended: {text}"
        );
        let effects =
            count("Effect { kind: StoreClockStep") + count("Effect { kind: StoreClockBack");
        if effects == steps.len() && given_up == 0 {
            return;
        }
        told.push(format!("{effects} effects, {given_up} requests given up:\n{text}"));
    }
    panic!("{}", told.join("\n"));
}

#[test]
fn steps_of_the_clock_of_redis_cost_no_lead() {
    steps_cost_no_lead_on("redis");
}

#[test]
fn steps_of_the_clock_of_postgres_cost_no_lead() {
    steps_cost_no_lead_on("postgres");
}

#[test]
fn steps_of_the_clock_of_a_file_cost_no_lead() {
    steps_cost_no_lead_on("sqlite");
}
