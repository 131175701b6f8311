//! Whatever the clocks show within their bounds, an innocent history stays innocent.

use std::fmt::Write as _;

use proptest::prelude::*;
use tenure_sim::audit::{Audit, Report, Settings};

use super::support::WALL;

const MS: u64 = 1_000_000;
const UNCERTAINTY: u64 = 5 * MS;
const DRIFT: u32 = 2_000;
const MACHINES: usize = 3;

/// A lead in true time: after a pause, for so long, with a write in it; its claim may end by time.
#[derive(Clone, Debug)]
struct Lead {
    machine: usize,
    pause: u64,
    lasts: u64,
    expires: bool,
}

/// A machine's clock errors.
#[derive(Clone, Copy, Debug)]
struct Off {
    boot: u64,
    rate_ppm: i64,
    wall: i64,
}

fn leads() -> impl Strategy<Value = Vec<Lead>> {
    let lead = (0..MACHINES, 0..20 * MS, 4..20_000 * MS, prop::bool::weighted(0.1));
    let lead =
        lead.prop_map(|(machine, pause, lasts, expires)| Lead { machine, pause, lasts, expires });
    prop::collection::vec(lead, 2..30)
}

fn off() -> impl Strategy<Value = Off> {
    let (rate, wall) = (i64::from(DRIFT), UNCERTAINTY.cast_signed());
    (0..1_000_000 * MS, -rate..=rate, -wall..=wall).prop_map(|(boot, rate_ppm, wall)| Off {
        boot,
        rate_ppm,
        wall,
    })
}

impl Off {
    /// The clock's reading, rounded down.
    fn read(self, at: u64) -> u64 {
        let counted = i128::from(at) * (1_000_000 + i128::from(self.rate_ppm)) / 1_000_000;
        self.boot + u64::try_from(counted).unwrap()
    }

    fn clock(self, kind: &str, at: u64, out: &mut String) {
        let (reading, wall) = (self.read(at), (WALL + at).checked_add_signed(self.wall).unwrap());
        writeln!(out, r#"{{"{kind}at":{reading},"within":0,"wall":{wall},"drift_ppm":{DRIFT}}}}}"#)
            .unwrap();
    }
}

/// The machines' logs.
fn logs(leads: &[Lead], off: &[Off]) -> Vec<String> {
    let mut logs: Vec<String> = vec![String::new(); off.len()];
    for (machine, (log, off)) in logs.iter_mut().zip(off).enumerate() {
        let header = format!(r#"header":{{"format":1,"boot":"{machine}","host":"h","pid":1,""#);
        off.clock(&header, 0, log);
    }
    let (mut now, mut clock_due) = (MS, vec![0; off.len()]);
    for (lead, token) in leads.iter().zip(1..) {
        let (off, log) = (off[lead.machine], &mut logs[lead.machine]);
        now += lead.pause;
        if now >= clock_due[lead.machine] {
            off.clock(r#"clock":{""#, now, log);
            clock_due[lead.machine] = now + 10_000 * MS;
        }
        let middle = now + lead.lasts / 2;
        let at = off.read(now);
        let of = r#""id":0,"key":"job","#;
        let left = off.read(now + lead.lasts) - at + if lead.expires { 0 } else { 1_000_000 };
        writeln!(
            log,
            r#"{{"elected":{{"at":{at},{of}"name":"n","token":{token},"left":{left}}}}}"#
        )
        .unwrap();
        let renewed = off.read(middle);
        let left = at + left - renewed;
        writeln!(
            log,
            r#"{{"renewed":{{"at":{renewed},{of}"name":"n","token":{token},"left":{left}}}}}"#
        )
        .unwrap();
        let (began, at) = (off.read(middle - 1), off.read(middle + 1));
        writeln!(
            log,
            r#"{{"write":{{"began":{began},"at":{at},{of}"token":{token},"resource":"r","outcome":"accepted"}}}}"#
        )
        .unwrap();
        now += lead.lasts;
        let at = off.read(now);
        writeln!(log, r#"{{"stepped-down":{{"at":{at},{of}"token":{token},"reason":"expired"}}}}"#)
            .unwrap();
    }
    logs
}

/// Each log in two files: the second part has no header.
fn split(logs: &[String], cuts: &[usize]) -> Vec<String> {
    let parts = logs.iter().zip(cuts).flat_map(|(log, cut)| {
        let lines: Vec<&str> = log.split_inclusive('\n').collect();
        let (first, second) = lines.split_at(1 + cut % lines.len());
        [first.concat(), second.concat()]
    });
    parts.collect()
}

fn judged(logs: &[String]) -> Report {
    let uncertainty = Some(std::time::Duration::from_nanos(UNCERTAINTY));
    let mut audit = Audit::new(Settings { uncertainty, ..Settings::default() });
    for (machine, log) in logs.iter().enumerate() {
        audit.read(&machine.to_string(), log.as_bytes()).unwrap();
    }
    audit.judge().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn clocks_within_their_bounds_explain_innocent_logs(
        leads in leads(),
        off in prop::collection::vec(off(), MACHINES),
    ) {
        let report = judged(&logs(&leads, &off));
        prop_assert!(report.violations.is_empty(), "{:#?}", report.violations);
        prop_assert_eq!(report.tenures, leads.len() as u64);
    }

    #[test]
    fn parts_of_innocent_logs_are_innocent(
        leads in leads(),
        off in prop::collection::vec(off(), MACHINES),
        cuts in prop::collection::vec(0..100_usize, MACHINES),
    ) {
        let report = judged(&split(&logs(&leads, &off), &cuts));
        prop_assert!(report.violations.is_empty(), "{:#?}", report.violations);
        prop_assert!(report.tenures >= leads.len() as u64, "{report:#?}");
    }

    /// The same logs, with the wall clock of one machine elsewhere within its uncertainty.
    #[test]
    fn a_shift_of_a_whole_file_accuses_nobody(
        leads in leads(),
        mut off in prop::collection::vec(off(), MACHINES),
        shifted in (0..MACHINES, off()),
    ) {
        off[shifted.0].wall = shifted.1.wall;
        let report = judged(&logs(&leads, &off));
        prop_assert!(report.violations.is_empty(), "{:#?}", report.violations);
    }

    /// Claims that overlap by more than all bounds allow are always found.
    #[test]
    fn a_long_overlap_is_found(
        leads in leads(),
        off in prop::collection::vec(off(), MACHINES),
        at in 0..30_usize,
    ) {
        let mut leads = leads;
        // One lead of another machine lasts into the next by 200 ms, which no bound explains.
        let at = at % (leads.len() - 1);
        leads[at + 1].machine = (leads[at].machine + 1) % MACHINES;
        leads[at + 1].pause = 0;
        let overlap = 200 * MS;
        leads[at + 1].lasts = leads[at + 1].lasts.max(2 * overlap);
        let mut logs = logs(&leads, &off);
        let log = &mut logs[leads[at].machine];
        let end = format!(r#""token":{},"reason""#, at + 1);
        let line = log.lines().find(|line| line.contains(&end)).unwrap().to_owned();
        let mut later: serde_json::Value = serde_json::from_str(&line).unwrap();
        let reading = later["stepped-down"]["at"].as_u64().unwrap() + overlap;
        later["stepped-down"]["at"] = reading.into();
        // Its claim lasts as long.
        let claim = log.lines().find(|line| line.contains("elected") && line.contains(&format!(r#""token":{},"#, at + 1)));
        let claim = claim.unwrap().to_owned();
        let mut longer: serde_json::Value = serde_json::from_str(&claim).unwrap();
        longer["elected"]["left"] = (u64::from(u32::MAX) * MS).into();
        *log = log.replace(&line, &later.to_string()).replace(&claim, &longer.to_string());
        let report = judged(&logs);
        prop_assert!(report.violations.iter().any(|one| one.property == "single-leader"), "{report:#?}");
    }
}
