//! A log in several files: only the first part has the header.

use tenure_sim::audit::{Audit, Settings, Verdict};

use super::support::{Log, audited, fails, holds, ms, within};

const SINGLE: &str = "single-leader";
const TOKENS: &str = "token-monotonic";
const ONE: &str = "one-step-down-per-election";

/// The lead of token 5, split in its middle: the second part begins with a renewal.
fn split() -> [Log; 2] {
    [
        Log::new("a.1").elected(0, 5, 900).renewed(500, 5, 900),
        Log::empty("a.2").renewed(1_000, 5, 900).clock(1_100, 0).down(1_500, 5),
    ]
}

#[test]
fn a_tenure_in_two_files_is_innocent() {
    let [first, second] = split();
    for logs in [[first.clone(), second.clone()], [second, first]] {
        holds(Settings::default(), &logs, TOKENS, (0, 1));
        holds(within(ms(5)), &logs, TOKENS, (0, 1));
    }
}

#[test]
fn a_copied_header_makes_no_second_election() {
    for boot in [r#""m""#, "null"] {
        let logs = [
            Log::on("m", "a.1").elected(0, 5, 900).renewed(500, 5, 900),
            Log::on("m", "a.2").renewed(1_000, 5, 900).down(1_500, 5),
        ];
        let logs = logs.map(|log| Log { text: log.text.replace(r#""m""#, boot), ..log });
        holds(within(ms(5)), &logs, TOKENS, (0, 1));
    }
}

#[test]
fn a_part_that_begins_with_a_step_down() {
    let logs = [Log::new("a.1").elected(0, 5, 900), Log::empty("a.2").down(500, 5)];
    holds(within(ms(5)), &logs, ONE, (1, 1));
}

#[test]
fn lines_that_two_files_have() {
    let whole = Log::new("a").leads(0, 1_000, 5).leads(2_000, 3_000, 6);
    let next = Log::new("b").leads(3_100, 4_000, 7);
    let end = Log { name: "a.2", ..Log::empty("a").leads(2_000, 3_000, 6) };
    for (copy, counts) in [(whole.clone(), (6, 2)), (end, (4, 1))] {
        holds(within(ms(5)), &[whole.clone(), next.clone(), copy], TOKENS, counts);
    }
}

#[test]
fn two_elections_and_a_part_under_one_token() {
    let [first, second] = split();
    let other = Log::new("b").leads(9_000, 9_500, 5);
    let report = audited(Settings::default(), &[first, second, other]);
    let found = report.violations.iter().map(|one| one.finding.to_string()).collect::<Vec<_>>();
    let says = "c-a.1 (a.1) and c-b (b) are both elected under token 5 of \"job\"";
    assert_eq!(found, [says], "{report:#?}");
}

#[test]
fn every_part_of_a_tenure_is_compared() {
    let [first, second] = split();
    for parts in [[first.clone(), second.clone()], [second, first]] {
        let logs = |other: Log| [parts[0].clone(), parts[1].clone(), other];
        let before = |to| logs(Log::new("b").leads(0, to, 4));
        let after = |from| logs(Log::new("c").leads(from, 9_000, 6));
        fails(within(ms(5)), &before(100), SINGLE);
        fails(within(ms(5)), &after(1_400), SINGLE);
        holds(within(ms(5)), &after(1_600), SINGLE, (2, 0));
    }
}

#[test]
fn a_part_is_placed_by_its_clock_lines() {
    let part = |log: Log| log.leads(0, 1_000, 7);
    let next = |from| Log::new("b").leads(from, 2_000, 8);
    let clock = || part(Log::empty("a").clock(0, 0));
    fails(within(ms(5)), &[clock(), next(980)], SINGLE);
    holds(within(ms(5)), &[clock(), next(1_020)], SINGLE, (1, 0));
    holds(within(ms(5)), &[part(Log::empty("a")), next(980)], SINGLE, (0, 1));
}

#[test]
fn an_overlap_across_a_tenure_without_a_header() {
    let between = Log::empty("u").leads(0, 100, 20);
    for boots in [["m", "m"], ["m", "n"]] {
        let logs = |from| {
            let [one, other] = boots;
            let a = Log::on(one, "a").leads(0, 1_000, 10);
            [a, between.clone(), Log::on(other, "b").leads(from, 2_000, 30)]
        };
        let what = fails(within(ms(5)), &logs(500), SINGLE);
        assert!(what.contains("under token 10") && what.contains("under token 30"), "{what}");
        holds(within(ms(5)), &logs(1_100), SINGLE, (0, 2));
    }
}

#[test]
fn an_overlap_in_a_file_without_a_header() {
    let two = |from| {
        let second = Log::empty("u").leads(from, 2_000, 30).text.replace("\"id\":0", "\"id\":1");
        Log::empty("u").leads(0, 1_000, 10).line(second.trim_end())
    };
    let between = || Log::new("a").leads(0, 100, 20);
    fails(Settings::default(), &[two(500), between()], SINGLE);
    holds(Settings::default(), &[two(1_100), between()], SINGLE, (0, 2));
    fails(Settings::default(), &[two(500)], SINGLE);
    holds(Settings::default(), &[two(1_100)], SINGLE, (1, 0));
}

#[test]
fn nothing_is_known_of_the_rate_without_clock_lines() {
    let part = Log::empty("u").leads(0, 1_010, 7).leads(2_000, 2_500, 9);
    let logs = [part, Log::new("b").leads(1_000, 2_010, 8)];
    holds(Settings::default(), &logs, SINGLE, (0, 2));
    fails(Settings { drift_ppm: Some(0), ..Settings::default() }, &logs, SINGLE);
}

#[test]
fn writes_of_a_file_without_a_header() {
    let writes = "fenced-writes";
    let older = |began| Log::empty("u").wrote(began, began + 10, 7, "accepted");
    let newer = Log::new("b").wrote(10, 20, 8, "accepted");
    holds(within(ms(5)), &[older(50), newer.clone()], writes, (0, 1));
    let stale = older(50).clock(60, 0);
    fails(within(ms(5)), &[stale, newer], writes);
    fails(Settings::default(), &[older(50).wrote(10, 20, 8, "accepted")], writes);
}

#[test]
fn a_split_where_the_wall_clock_was_set() {
    let judged = |logs: &[Log]| {
        let mut audit = Audit::new(Settings { unfenced: true, ..within(ms(5)) });
        for log in logs {
            audit.read(log.name, log.text.as_bytes()).unwrap();
        }
        audit.judge()
    };
    let first = || Log::new("a").elected(0, 7, 100_000);
    let rest = |log: Log| log.clock(20_000, 30).renewed(20_001, 7, 100_000).down(30_000, 7);
    let next = |from| Log::new("b").leads(from, 50_000, 8);
    let error = judged(&[rest(first()), next(31_000)]).unwrap_err().to_string();
    assert!(error.contains("a file of their own without a header"), "{error}");
    let split = |from| [first(), rest(Log::empty("a.2")), next(from)];
    let report = judged(&split(31_000)).unwrap();
    assert_eq!((report.verdict(), report.clocks), (Verdict::Held, 3), "{report:#?}");
    // By the clock as it was set, the first tenure ended at 30.03 s.
    let report = judged(&split(30_000)).unwrap();
    assert_eq!(report.violations.len(), 1, "{report:#?}");
}
