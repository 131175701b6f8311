//! Valid and invalid logs.

use tenure_sim::audit::{Audit, LogError, Settings};

use super::support::{Log, audited, holds, ms, within};

fn read(text: &[u8]) -> Result<Audit, LogError> {
    let mut audit = Audit::new(Settings::default());
    audit.read("a", text).map(|()| audit)
}

#[track_caller]
fn refused(log: &Log, says: &[&str]) {
    let error = read(log.text.as_bytes()).unwrap_err().to_string();
    for said in says {
        assert!(error.contains(said), "no {said:?} in {error}");
    }
}

#[test]
fn a_line_that_is_no_line_of_a_log() {
    let log = Log::new("a").line("hello").leads(0, 1, 7);
    refused(&log, &["line 2 is no line of a log", "the line is \"hello\""]);
    refused(&Log::new("a").line("{\"other\":{}}").leads(0, 1, 7), &["line 2", "other"]);
    refused(
        &Log::new("a").line("{\"gap\":{\"at\":1,\"lines\":1,\"x\":1}}"),
        &["line 2", "\"x\\\""],
    );
    refused(&Log::new("a").line(""), &["line 2"]);
    assert!(read(b"\xff\xfe\n").unwrap_err().to_string().contains("line 1"));
}

#[test]
fn a_format_of_another_version() {
    let header = Log::new("a").text;
    for other in
        [header.replace("\"format\":1", "\"format\":2"), "{\"header\":{\"format\":2}}\n".to_owned()]
    {
        let error = read(other.as_bytes()).unwrap_err();
        assert!(matches!(error, LogError::Format { line: 1, found: 2 }), "{error}");
        let says = "line 1, field \"format\" is 2; this version reads format 1";
        assert_eq!(error.to_string(), says);
    }
}

#[test]
fn a_last_line_that_is_cut_off_is_counted() {
    let log = Log::new("a").leads(0, 1_000, 7).elected(2_000, 8, 900);
    let whole = log.text.len();
    let last = log.text.trim_end().rfind('\n').unwrap() + 1;
    for cut in last + 1..whole - 1 {
        let cut = Log { text: log.text[..cut].to_owned(), ..log.clone() };
        let report = audited(Settings::default(), &[cut]);
        assert_eq!((report.cut_off, report.tenures), (1, 1), "{report:#?}");
    }
    let without_its_end = Log { text: log.text[..whole - 1].to_owned(), ..log.clone() };
    let report = audited(Settings::default(), &[without_its_end]);
    assert_eq!((report.cut_off, report.tenures), (0, 2));
    // Only the last line may be cut off.
    let middle = log.text.replacen("\"reason\":\"expired\"}}", "", 1);
    assert!(read(middle.as_bytes()).is_err());
}

#[test]
fn a_cut_off_header_and_an_empty_file() {
    let report = audited(Settings::default(), &[Log::empty("a")]);
    assert_eq!((report.files, report.empty, report.lines), (1, 1, 0));
    let text = Log::new("a").text[..30].to_owned();
    let report = audited(Settings::default(), &[Log { text, ..Log::empty("a") }]);
    assert_eq!((report.cut_off, report.lines), (1, 0));
}

#[test]
fn two_files_in_one() {
    let text = Log::new("a").text.repeat(2);
    refused(&Log { text, ..Log::empty("a") }, &["line 2 is a second header"]);
}

#[test]
fn numbers_out_of_bounds() {
    let log = Log::new("a").line(r#"{"gap":{"at":4611686018427387905,"lines":1}}"#);
    refused(
        &log,
        &["line 2, field \"at\" is 4611686018427387905, and must be from 0 to 4611686018427387904"],
    );
    refused(&Log::new("a").leads(0, 1, 0), &["line 2, field \"token\" is 0"]);
    refused(&Log::new("a").wrote(7, 6, 7, "accepted"), &["line 2, field \"began\""]);
    refused(&Log::with_drift("a", "a", 500_001), &["line 1, field \"drift_ppm\" is 500001"]);
}

#[test]
fn a_line_that_is_too_long() {
    let log = Log::new("a").line(&"x".repeat((1 << 20) + 1));
    refused(&log, &["line 2 is longer than 1048576 bytes"]);
}

#[test]
fn lost_lines_are_counted() {
    let log = Log::new("a").gap(5, 3).gap(6, 4).leads(7, 8, 7);
    assert_eq!(audited(Settings::default(), &[log]).lost_lines, 7);
}

#[test]
fn a_wall_clock_that_was_set() {
    let log = Log::new("a").clock(10_000, 0).clock(20_000, 30).leads(0, 1, 7);
    let judged = |uncertainty| {
        let mut audit = Audit::new(within(uncertainty));
        audit.read("a", log.text.as_bytes()).unwrap();
        audit.judge()
    };
    let error = judged(ms(14)).unwrap_err();
    assert_eq!(error.short.as_millis(), 1);
    assert!(error.to_string().contains("the wall clock at a:"), "{error}");
    assert!(judged(ms(15)).is_ok());
    holds(Settings::default(), &[log], "single-leader", (0, 0));
}

#[test]
fn a_clock_that_goes_back_is_counted() {
    let log = Log::new("a").leads(5_000, 6_000, 7).leads(1_000, 7_000, 8);
    let report = audited(Settings::default(), &[log]);
    assert_eq!((report.clocks_back, report.violations.len()), (1, 0), "{report:#?}");
}
