//! Claims of one election must not overlap.

use tenure_sim::audit::{Settings, Verdict};

use super::support::{Log, audited, fails, holds, ms, within};

const SINGLE: &str = "single-leader";
const TOKENS: &str = "token-monotonic";

#[test]
fn one_after_the_other() {
    let logs = [Log::new("a").leads(0, 1_000, 7), Log::new("b").leads(1_100, 2_000, 8)];
    holds(within(ms(5)), &logs, SINGLE, (1, 0));
    let unfenced = Settings { unfenced: true, ..within(ms(5)) };
    assert_eq!(audited(unfenced, &logs).verdict(), Verdict::Held);
}

#[test]
fn an_overlap_beyond_the_uncertainty() {
    let logs = [Log::new("a").leads(0, 1_000, 7), Log::new("b").leads(980, 2_000, 8)];
    let what = fails(within(ms(5)), &logs, SINGLE);
    assert!(what.contains("off by 9.999996ms more"), "{what}");
    assert!(what.ends_with("lines: a:3, b:2"), "{what}");
    holds(within(ms(10)), &logs, SINGLE, (0, 1));
    assert_eq!(audited(within(ms(10)), &logs).verdict(), Verdict::Inconclusive);
    assert_eq!(audited(within(ms(10)), &logs).widest_undecided_ns, 40_000_000);
}

#[test]
fn the_uncertainty_of_one_file() {
    let logs = [Log::new("a").leads(0, 1_000, 7), Log::new("b").leads(980, 2_000, 8)];
    let of = |file: &str, uncertainty| {
        let mut settings = within(ms(5));
        settings.of_files.insert(file.to_owned(), uncertainty);
        settings
    };
    holds(of("b", ms(15)), &logs, SINGLE, (0, 1));
    fails(of("b", ms(14)), &logs, SINGLE);
    fails(of("c", ms(15)), &logs, SINGLE);
}

#[test]
fn one_boot_has_one_clock() {
    let touching = [Log::on("m", "a").leads(0, 1_000, 7), Log::on("m", "b").leads(1_000, 2_000, 8)];
    holds(Settings::default(), &touching, SINGLE, (1, 0));
    let overlapping =
        [Log::on("m", "a").leads(0, 1_001, 7), Log::on("m", "b").leads(1_000, 2_000, 8)];
    // Whatever the uncertainty of the wall clock.
    let what = fails(within(ms(60_000)), &overlapping, SINGLE);
    assert!(what.contains("until 1ms later; both count by one clock"), "{what}");
}

#[test]
fn a_claim_ends_by_time_before_a_late_step_down() {
    let paused = Log::on("m", "a").elected(0, 7, 900).renewed(500, 7, 900).down(5_000, 7);
    let next = |at| Log::on("m", "b").leads(at, 9_000, 8);
    holds(Settings::default(), &[paused.clone(), next(1_400)], SINGLE, (1, 0));
    fails(Settings::default(), &[paused, next(1_399)], SINGLE);
}

#[test]
fn a_killed_process_led_up_to_its_last_line() {
    let killed = Log::on("m", "a").elected(0, 7, 900).renewed(500, 7, 900);
    let next = |at| Log::on("m", "b").leads(at, 9_000, 8);
    fails(Settings::default(), &[killed.clone(), next(499)], SINGLE);
    // It may have been killed, or have resigned, before its claim's end.
    holds(Settings::default(), &[killed.clone(), next(500)], SINGLE, (0, 1));
    holds(Settings::default(), &[killed.clone(), next(1_399)], SINGLE, (0, 1));
    holds(Settings::default(), &[killed.clone(), next(1_400)], SINGLE, (1, 0));
    assert_eq!(audited(Settings::default(), &[killed, next(1_400)]).without_end, 1);
}

#[test]
fn tenures_of_one_candidate_are_not_compared() {
    let logs = [Log::new("a").leads(0, 1_000, 7).leads(2_000, 3_000, 8)];
    holds(within(ms(5)), &logs, SINGLE, (0, 0));
    assert_eq!(audited(within(ms(5)), &logs).verdict(), Verdict::Inconclusive);
}

#[test]
fn elections_are_independent() {
    let logs =
        [Log::on("m", "a").leads(0, 1_000, 7), Log::on("m", "b").of("other").leads(500, 2_000, 8)];
    holds(Settings::default(), &logs, SINGLE, (0, 0));
}

#[test]
fn tokens_against_the_order_of_time() {
    for boots in [["m", "m"], ["m", "n"]] {
        let logs = [
            Log::on(boots[0], "a").leads(0, 1_000, 8),
            Log::on(boots[1], "b").leads(1_100, 2_000, 7),
        ];
        fails(within(ms(5)), &logs, TOKENS);
    }
}

#[test]
fn one_token_of_two_processes() {
    let logs = [Log::new("a").leads(0, 1_000, 7), Log::new("b").leads(5_000, 6_000, 7)];
    let what = fails(Settings::default(), &logs, TOKENS);
    assert!(
        what.contains("c-a (a) and c-b (b) are both elected under token 7 of \"job\""),
        "{what}"
    );
}

#[test]
fn a_token_of_one_candidate_goes_back() {
    for token in [6, 7] {
        let logs = [Log::new("a").leads(0, 1_000, 7).leads(2_000, 3_000, token)];
        fails(Settings::default(), &logs, TOKENS);
    }
}

#[test]
fn a_file_without_a_header_is_undecided() {
    let logs = [Log::empty("a").leads(0, 1_000, 7), Log::new("b").leads(500, 2_000, 8)];
    holds(within(ms(5)), &logs, SINGLE, (0, 1));
    assert_eq!(audited(within(ms(5)), &logs).without_header, 1);
}
