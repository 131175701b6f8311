//! The clock of the store's server decides nothing.

use super::effects::{ATTEMPTS, sets_clock};
use super::replayed;

const SECONDS: i64 = 30_000;
const HOUR: i64 = 3_600_000;
const YEARS: i64 = 3_652 * 24 * HOUR;

/// One leader is elected, and leads to the end. On a busy machine it may lose the lead for another reason.
fn steps_cost_no_lead_on(store: &str) {
    let steps = [SECONDS, -SECONDS, -HOUR, HOUR, YEARS, -YEARS];
    let faults: Vec<_> = (4_000..)
        .step_by(1_500)
        .zip(steps)
        .map(|(at_ms, by_ms)| sets_clock(at_ms, by_ms))
        .collect();
    let mut told = Vec::new();
    while told.len() < ATTEMPTS {
        let ran = replayed(store, &faults.clone().into());
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert_eq!(ran.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&ran.stderr));
        let count = |what: &str| text.matches(what).count();
        let effects =
            count("Effect { kind: StoreClockStep") + count("Effect { kind: StoreClockBack");
        let (elected, ended) = (count(" Elected {"), count(" SteppedDown {"));
        if (effects, elected, ended) == (steps.len(), 1, 0) {
            return;
        }
        told.push(format!("{effects} effects, {elected} elected, {ended} ended:\n{text}"));
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
