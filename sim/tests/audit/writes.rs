//! A resource never accepts a write of an older tenure after one of a newer.

use tenure_sim::audit::{Settings, Verdict};
use tenure_sim::judge::properties::PropertyName;

use super::support::{Log, audited, fails, holds, ms, within};

const WRITES: &str = "fenced-writes";

fn two(older: impl FnOnce(Log) -> Log, newer: impl FnOnce(Log) -> Log) -> [Log; 2] {
    [older(Log::new("a").leads(0, 1_000, 7)), newer(Log::new("b").leads(2_000, 3_000, 8))]
}

#[test]
fn writes_in_the_order_of_the_tokens() {
    let logs =
        two(|log| log.wrote(10, 20, 7, "accepted"), |log| log.wrote(2_010, 2_020, 8, "accepted"));
    holds(within(ms(5)), &logs, WRITES, (1, 0));
}

/// Nothing is said to hold that was not compared.
#[test]
fn an_answer_needs_writes_of_two_tenures() {
    let verdict = |older: fn(Log) -> Log, newer: fn(Log) -> Log| {
        audited(within(ms(5)), &two(older, newer)).verdict()
    };
    let none = |log: Log| log;
    let older = |log: Log| log.wrote(10, 20, 7, "accepted");
    let newer = |log: Log| log.wrote(2_010, 2_020, 8, "accepted");
    assert_eq!(verdict(none, none), Verdict::Inconclusive);
    assert_eq!(verdict(older, none), Verdict::Inconclusive);
    assert_eq!(verdict(older, |log| log.wrote(2_010, 2_020, 8, "refused")), Verdict::Inconclusive);
    assert_eq!(verdict(older, |log| log.wrote(2_010, 2_020, 8, "unknown")), Verdict::Inconclusive);
    assert_eq!(verdict(older, newer), Verdict::Held);
    let unfenced = Settings { unfenced: true, ..within(ms(5)) };
    let report = audited(unfenced.clone(), &two(none, none));
    assert_eq!((report.verdict(), report.unfenced), (Verdict::Held, true));
    assert_eq!(audited(unfenced, &two(none, none)[..1]).verdict(), Verdict::Inconclusive);
}

#[test]
fn writes_are_counted_by_their_outcome() {
    let older = |log: Log| {
        log.wrote(10, 20, 7, "accepted").wrote(30, 40, 7, "accepted").wrote(50, 60, 7, "unknown")
    };
    let newer = |log: Log| log.wrote(2_010, 2_020, 8, "refused");
    let report = audited(within(ms(5)), &two(older, newer));
    assert_eq!((report.writes, report.refused_writes, report.unknown_writes), (2, 1, 1));
    assert_eq!((report.tenures, report.without_writes), (2, 1));
    let missing: Vec<_> = report.not_compared().collect();
    assert_eq!(missing, [PropertyName::FENCED_WRITES]);
}

#[test]
fn a_stale_write_that_was_accepted() {
    let logs = |outcome: &str| {
        two(|log| log.wrote(2_050, 2_060, 7, outcome), |log| log.wrote(2_010, 2_020, 8, "accepted"))
    };
    let what = fails(within(ms(5)), &logs("accepted"), WRITES);
    assert!(what.contains("under token 7 to \"jobs\", begun at a:4"), "{what}");
    assert!(what.contains("the write under token 8 that ended at b:4"), "{what}");
    assert!(what.contains("off by 19.999996ms more; lines: a:4, b:4"), "{what}");
    for outcome in ["refused", "unknown"] {
        holds(within(ms(5)), &logs(outcome), WRITES, (0, 0));
    }
    holds(within(ms(15)), &logs("accepted"), WRITES, (0, 1));
}

#[test]
fn writes_that_overlap_in_time_have_an_order() {
    let logs = two(
        |log| log.wrote(1_990, 2_030, 7, "accepted"),
        |log| log.wrote(2_010, 2_020, 8, "accepted"),
    );
    holds(Settings { drift_ppm: Some(0), ..within(ms(0)) }, &logs, WRITES, (1, 0));
}

#[test]
fn other_resources_are_not_compared() {
    let logs = two(
        |log| log.wrote_to("mail", 2_050, 2_060, 7, "accepted"),
        |log| log.wrote(2_010, 2_020, 8, "accepted"),
    );
    holds(within(ms(5)), &logs, WRITES, (0, 0));
}

#[test]
fn the_worst_of_many_writes_counts() {
    let older = |log: Log| {
        log.wrote(10, 20, 7, "accepted")
            .wrote_to("mail", 15, 25, 7, "accepted")
            .wrote(2_050, 2_060, 7, "accepted")
            .wrote(30, 40, 7, "accepted")
    };
    let newer = |log: Log| {
        log.wrote(2_500, 2_520, 8, "accepted")
            .wrote(2_010, 2_020, 8, "accepted")
            .wrote(2_600, 2_620, 8, "accepted")
    };
    let what = fails(within(ms(5)), &two(older, newer), WRITES);
    assert!(what.ends_with("lines: a:6, b:5"), "{what}");
}

#[test]
fn the_last_of_the_older_writes_counts() {
    let older = |log: Log| {
        log.wrote(10, 20, 7, "accepted")
            .wrote(2_050, 2_060, 7, "accepted")
            .wrote(2_040, 2_080, 7, "accepted")
    };
    let newer = |log: Log| log.wrote(2_010, 2_020, 8, "accepted");
    let what = fails(within(ms(5)), &two(older, newer), WRITES);
    assert!(what.ends_with("lines: a:5, b:4"), "{what}");
}

#[test]
fn tenures_that_did_not_write_between_them() {
    let logs = [
        Log::new("a").leads(0, 1_000, 7).wrote(4_000, 4_010, 7, "accepted"),
        Log::new("b").leads(1_500, 2_000, 8),
        Log::new("c").leads(2_500, 3_000, 9).wrote(2_600, 2_610, 9, "accepted"),
    ];
    fails(within(ms(5)), &logs, WRITES);
}

#[test]
fn three_tenures_of_which_the_first_writes_last() {
    let logs = [
        Log::new("a").leads(0, 1_000, 7).wrote(4_000, 4_010, 7, "accepted"),
        Log::new("b").leads(1_500, 2_000, 8).wrote(1_000, 9_000, 8, "accepted"),
        Log::new("c").leads(2_500, 3_000, 9).wrote(2_600, 2_610, 9, "accepted"),
    ];
    fails(within(ms(5)), &logs, WRITES);
}

#[test]
fn leads_and_writes_share_the_offset() {
    // The handover places b's clock 10 ms later at least, the writes place it 2 ms earlier.
    let logs = |begins| {
        let a = Log::new("a").leads(0, 1_010, 7).leads(2_500, 3_000, 9);
        let b = Log::new("b").leads(begins, 2_000, 8).wrote(2_600, 2_610, 8, "accepted");
        [a.wrote(2_590, 2_598, 9, "accepted"), b]
    };
    let what = fails(within(ms(50)), &logs(1_000), WRITES);
    assert!(what.contains("the claim of c-a (a) under token 7"), "{what}");
    assert!(what.contains("off by 11.999992ms more"), "{what}");
    holds(within(ms(50)), &logs(1_020), WRITES, (0, 1));
}
