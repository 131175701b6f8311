//! One offset of each clock, with bounded drift, must explain all lines.

use tenure_sim::audit::Settings;

use super::support::{Log, fails, holds, ms, within};

const SINGLE: &str = "single-leader";

/// Two handovers between two machines: each looks early by so much, one in each direction.
fn opposite(overlap: u64, apart: u64, drift_ppm: u32) -> [Log; 2] {
    [
        Log::with_drift("a", "a", drift_ppm).leads(0, 1_000 + overlap, 7).leads(
            apart,
            apart + 500,
            9,
        ),
        Log::with_drift("b", "b", drift_ppm).leads(1_000, apart + overlap, 8),
    ]
}

#[test]
fn opposite_overlaps_have_no_common_offset() {
    let logs = opposite(10, 2_000, 0);
    // Each alone has one.
    let alone = [logs[0].clone(), Log::new("b").leads(1_000, 1_500, 8)];
    holds(within(ms(50)), &alone, SINGLE, (1, 1));
    for settings in [within(ms(50)), Settings::default()] {
        let what = fails(settings, &logs, SINGLE);
        assert!(what.contains("under token 7") && what.contains("; and the claim of"), "{what}");
        assert!(what.contains("off by 19.999992ms more"), "{what}");
    }
}

#[test]
fn drift_between_opposite_overlaps_explains_them() {
    // In 10 s, two clocks of 1000 ppm may drift apart by 20 ms.
    let settings = || within(ms(50));
    let logs = opposite(9, 11_000, 1_000);
    holds(settings(), &logs, SINGLE, (0, 2));
    let exact = Settings { drift_ppm: Some(0), ..settings() };
    fails(exact, &logs, SINGLE);
    fails(settings(), &opposite(11, 11_000, 1_000), SINGLE);
}

#[test]
fn drift_since_the_last_clock_line() {
    // The header is 100 s ago: 1000 ppm are 100 ms on each side.
    let logs = |overlap: u64| {
        [
            Log::with_drift("a", "a", 1_000).leads(99_000, 100_000 + overlap, 7),
            Log::with_drift("b", "b", 1_000).leads(100_000, 101_000, 8),
        ]
    };
    holds(within(ms(5)), &logs(208), SINGLE, (0, 1));
    fails(within(ms(5)), &logs(212), SINGLE);
    let [a, b] = logs(20);
    let lately = Log::with_drift("a", "a", 1_000).clock(99_990, 0).leads(99_995, 100_020, 7);
    holds(within(ms(5)), &[a, b.clone()], SINGLE, (0, 1));
    // With a recent clock line of one side only, the other still drifts.
    holds(within(ms(5)), &[lately.clone(), b], SINGLE, (0, 1));
    let b = Log::with_drift("b", "b", 1_000).clock(99_990, 0).leads(100_000, 101_000, 8);
    fails(within(ms(5)), &[lately, b], SINGLE);
}

/// The process was paused between the readings of its two clocks, so the wall clock was read up to
/// 30 ms later.
#[test]
fn a_slow_reading_of_the_wall_clock() {
    let overlapping = Log::new("b").leads(980, 2_000, 8);
    let slow = Log {
        text: overlapping.text.replace("\"within\":0", "\"within\":30000000"),
        ..overlapping.clone()
    };
    let first = Log::new("a").leads(0, 1_000, 7);
    fails(within(ms(5)), &[first.clone(), overlapping], SINGLE);
    // So that b's clock was not ahead: its readings are of an earlier time.
    fails(within(ms(5)), &[first.clone(), slow], SINGLE);
    let slow = Log { text: first.text.replace("\"within\":0", "\"within\":30000000"), ..first };
    holds(within(ms(5)), &[slow, Log::new("b").leads(980, 2_000, 8)], SINGLE, (0, 1));
}

#[test]
fn three_clocks_that_agree_only_in_pairs() {
    let logs = [
        Log::new("a").leads(0, 1_010, 1).leads(3_000, 4_000, 4),
        Log::new("b").leads(1_000, 2_010, 2),
        Log::new("c").leads(2_000, 3_010, 3),
    ];
    for left_out in 0..3 {
        let pair: Vec<Log> = logs
            .iter()
            .enumerate()
            .filter(|(place, _)| *place != left_out)
            .map(|(_, log)| log.clone())
            .collect();
        let violations = super::support::audited(Settings::default(), &pair).violations;
        assert!(violations.is_empty(), "{violations:?}");
    }
    let what = fails(Settings::default(), &logs, SINGLE);
    assert_eq!(what.matches("the claim of").count(), 3, "{what}");
}

#[test]
fn elections_share_their_clocks() {
    // Two candidates in each process: the overlaps of two elections are opposite.
    let logs = [
        Log::new("a").leads(0, 1_010, 7).of("other").leads(2_000, 3_000, 8),
        Log::new("b").leads(1_000, 1_500, 8).of("other").leads(1_600, 2_010, 7),
    ];
    fails(Settings::default(), &logs, SINGLE);
}

#[test]
fn processes_of_one_boot_share_its_offset() {
    let first = Log::on("m", "a").leads(0, 1_010, 7);
    let again = |boot: &str| Log::on(boot, "c").leads(2_000, 3_000, 9);
    let other = Log::on("n", "b").leads(1_000, 2_010, 8);
    fails(Settings::default(), &[first.clone(), other.clone(), again("m")], SINGLE);
    holds(Settings::default(), &[first, other, again("o")], SINGLE, (0, 2));
}
