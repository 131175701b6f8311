//! Logs by hand. Times are milliseconds after the header.

use std::fmt::Write as _;
use std::time::Duration;

use tenure_sim::audit::{Audit, Report, Settings};

/// The wall clock at every header, unless it is off.
pub(crate) const WALL: u64 = 1_764_000_000_000_000_000;
/// The boot clock at every header.
pub(crate) const BOOT: u64 = 1_000_000_000_000;
const MS: u64 = 1_000_000;

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The log of one process with one candidate, for the election "job" unless it is of another.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub(crate) name: &'static str,
    pub(crate) text: String,
    pub(crate) key: &'static str,
}

impl Log {
    /// A process on a machine of its own, whose drift bound is zero.
    pub(crate) fn new(name: &'static str) -> Self {
        Self::on(name, name)
    }

    /// A process on that machine.
    pub(crate) fn on(boot: &str, name: &'static str) -> Self {
        Self::with_drift(boot, name, 0)
    }

    pub(crate) fn with_drift(boot: &str, name: &'static str, drift_ppm: u32) -> Self {
        Self::empty(name).line(&format!(
            r#"{{"header":{{"format":1,"boot":"{boot}","host":"h","pid":7,"drift_ppm":{drift_ppm},"at":{BOOT},"within":0,"wall":{WALL}}}}}"#
        ))
    }

    pub(crate) fn empty(name: &'static str) -> Self {
        Self { name, text: String::new(), key: "job" }
    }

    pub(crate) fn of(self, key: &'static str) -> Self {
        Self { key, ..self }
    }

    pub(crate) fn line(mut self, line: &str) -> Self {
        writeln!(self.text, "{line}").unwrap();
        self
    }

    /// A clock line whose wall clock is as many milliseconds ahead.
    pub(crate) fn clock(self, at: u64, ahead: i64) -> Self {
        let wall = (WALL + at * MS).checked_add_signed(ahead * MS.cast_signed()).unwrap();
        let at = BOOT + at * MS;
        self.line(&format!(r#"{{"clock":{{"at":{at},"within":0,"wall":{wall},"drift_ppm":0}}}}"#))
    }

    pub(crate) fn elected(self, at: u64, token: u64, left: u64) -> Self {
        self.claim("elected", at, token, left)
    }

    pub(crate) fn renewed(self, at: u64, token: u64, left: u64) -> Self {
        self.claim("renewed", at, token, left)
    }

    fn claim(self, kind: &str, at: u64, token: u64, left: u64) -> Self {
        let (at, left, key, name) = (BOOT + at * MS, left * MS, self.key, self.name);
        self.line(&format!(
            r#"{{"{kind}":{{"at":{at},"id":0,"key":"{key}","name":"c-{name}","token":{token},"left":{left}}}}}"#
        ))
    }

    pub(crate) fn down(self, at: u64, token: u64) -> Self {
        let (at, key) = (BOOT + at * MS, self.key);
        self.line(&format!(
            r#"{{"stepped-down":{{"at":{at},"id":0,"key":"{key}","token":{token},"reason":"expired"}}}}"#
        ))
    }

    /// A lead that ends by a step-down, with a claim that would last much longer.
    pub(crate) fn leads(self, from: u64, to: u64, token: u64) -> Self {
        self.elected(from, token, 1_000_000).down(to, token)
    }

    pub(crate) fn wrote(self, began: u64, at: u64, token: u64, outcome: &str) -> Self {
        self.wrote_to("jobs", began, at, token, outcome)
    }

    pub(crate) fn wrote_to(
        self,
        resource: &str,
        began: u64,
        at: u64,
        token: u64,
        outcome: &str,
    ) -> Self {
        let (began, at, key) = (BOOT + began * MS, BOOT + at * MS, self.key);
        self.line(&format!(
            r#"{{"write":{{"began":{began},"at":{at},"id":0,"key":"{key}","token":{token},"resource":"{resource}","outcome":"{outcome}"}}}}"#
        ))
    }

    pub(crate) fn gap(self, at: u64, lines: u64) -> Self {
        let at = BOOT + at * MS;
        self.line(&format!(r#"{{"gap":{{"at":{at},"lines":{lines}}}}}"#))
    }
}

pub(crate) fn within(uncertainty: Duration) -> Settings {
    Settings { uncertainty: Some(uncertainty), ..Settings::default() }
}

pub(crate) fn audited(settings: Settings, logs: &[Log]) -> Report {
    let mut audit = Audit::new(settings);
    for log in logs {
        audit.read(log.name, log.text.as_bytes()).unwrap();
    }
    audit.judge().unwrap()
}

/// The audit accuses nothing, and had that many cases of the property to compare, decided and
/// undecided.
#[track_caller]
pub(crate) fn holds(settings: Settings, logs: &[Log], property: &str, counts: (u64, u64)) {
    let report = audited(settings, logs);
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
    let one = report.properties[property];
    assert_eq!((one.compared, one.undecided), counts, "{report:#?}");
}

/// The audit accuses that property once, and no other.
#[track_caller]
pub(crate) fn fails(settings: Settings, logs: &[Log], property: &str) -> String {
    let report = audited(settings, logs);
    let [violation] = report.violations.as_slice() else { panic!("{report:#?}") };
    assert_eq!(violation.property, property, "{report:#?}");
    assert!(report.properties[property].compared > 0, "{report:#?}");
    format!("{}; lines: {}", violation.finding, violation.lines.join(", "))
}
