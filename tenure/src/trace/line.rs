//! The lines, and how they are written.

use std::fmt::{self, Display, Write as _};
use std::sync::Arc;
use std::time::Duration;

use super::machine::ClockReading;
use crate::store::Key;
use crate::{Instant, StepDownReason, Token};

/// The version of the format.
pub(super) const FORMAT: u32 = 1;

/// A candidate of a file.
#[derive(Clone, Debug)]
pub(super) struct Who {
    pub(super) id: u64,
    pub(super) key: Key,
    pub(super) name: Arc<str>,
}

#[derive(Debug)]
pub(super) enum Line {
    Elected { who: Arc<Who>, at: Instant, token: Token, until: Instant },
    Renewed { who: Arc<Who>, at: Instant, token: Token, until: Instant },
    SteppedDown { who: Arc<Who>, at: Instant, token: Token, reason: Ended },
    Write { who: Arc<Who>, token: Token, span: [Instant; 2], resource: Box<str>, outcome: Outcome },
}

/// The end of a tenure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ended {
    For(StepDownReason),
    /// The driver was dropped.
    DriverGone,
}

/// The end of a write.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    Accepted,
    Refused,
    Unknown,
}

impl Line {
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::Elected { who, at, token, until } => {
                claim(out, "elected", who, *at, *token, *until);
            }
            Self::Renewed { who, at, token, until } => {
                claim(out, "renewed", who, *at, *token, *until);
            }
            Self::SteppedDown { who, at, token, reason } => {
                let (at, id, key) = (at.as_nanos(), who.id, Text(who.key.as_str()));
                let reason = reason.in_words();
                put(
                    out,
                    format_args!(
                        r#"{{"stepped-down":{{"at":{at},"id":{id},"key":{key},"token":{token},"reason":"{reason}"}}}}"#
                    ),
                );
            }
            Self::Write { who, token, span: [began, at], resource, outcome } => {
                let (began, at) = (began.as_nanos(), at.as_nanos());
                let (id, key, resource) = (who.id, Text(who.key.as_str()), Text(resource));
                let outcome = outcome.in_words();
                put(
                    out,
                    format_args!(
                        r#"{{"write":{{"began":{began},"at":{at},"id":{id},"key":{key},"token":{token},"resource":{resource},"outcome":"{outcome}"}}}}"#
                    ),
                );
            }
        }
    }
}

fn claim(out: &mut String, kind: &str, who: &Who, at: Instant, token: Token, until: Instant) {
    let (id, key, name) = (who.id, Text(who.key.as_str()), Text(&who.name));
    let (left, at) = (nanos(until.since(at)), at.as_nanos());
    put(
        out,
        format_args!(
            r#"{{"{kind}":{{"at":{at},"id":{id},"key":{key},"name":{name},"token":{token},"left":{left}}}}}"#
        ),
    );
}

pub(super) fn header(
    out: &mut String,
    boot: Option<&str>,
    host: &str,
    clock: ClockReading,
    drift_ppm: u32,
) {
    let pid = std::process::id();
    let (host, ClockReading { at, within, wall }) = (Text(host), clock);
    let (at, within) = (at.as_nanos(), nanos(within));
    let boot = boot.map_or_else(|| "null".to_owned(), |boot| Text(boot).to_string());
    put(
        out,
        format_args!(
            r#"{{"header":{{"format":{FORMAT},"boot":{boot},"host":{host},"pid":{pid},"drift_ppm":{drift_ppm},"at":{at},"within":{within},"wall":{wall}}}}}"#
        ),
    );
}

pub(super) fn clock(out: &mut String, clock: ClockReading, drift_ppm: u32) {
    let ClockReading { at, within, wall } = clock;
    let (at, within) = (at.as_nanos(), nanos(within));
    put(
        out,
        format_args!(
            r#"{{"clock":{{"at":{at},"within":{within},"wall":{wall},"drift_ppm":{drift_ppm}}}}}"#
        ),
    );
}

pub(super) fn gap(out: &mut String, at: Instant, lines: u64) {
    let at = at.as_nanos();
    put(out, format_args!(r#"{{"gap":{{"at":{at},"lines":{lines}}}}}"#));
}

fn put(out: &mut String, line: fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{line}");
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Ended {
    const fn in_words(self) -> &'static str {
        match self {
            Self::For(StepDownReason::Expired) => "expired",
            Self::For(StepDownReason::Superseded) => "superseded",
            Self::For(StepDownReason::Resigned) => "resigned",
            Self::For(StepDownReason::RenewFailed) => "renew-failed",
            Self::For(StepDownReason::WorkLost) => "work-lost",
            Self::For(StepDownReason::Unresponsive) => "unresponsive",
            Self::For(StepDownReason::WorkFailed) => "work-failed",
            Self::For(StepDownReason::HandedOver) => "handed-over",
            Self::For(_) => "other",
            Self::DriverGone => "driver-gone",
        }
    }
}

impl Outcome {
    const fn in_words(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        }
    }
}

/// A text as a JSON string.
struct Text<'a>(&'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        let mut rest = self.0;
        while let Some(place) = rest.find(|letter| letter < ' ' || letter == '"' || letter == '\\')
        {
            let (plain, from) = rest.split_at(place);
            f.write_str(plain)?;
            // All of them are ASCII: one byte long.
            let (letter, after) = from.split_at(1);
            match letter {
                "\"" | "\\" => write!(f, "\\{letter}")?,
                control => write!(f, "\\u{:04x}", control.as_bytes()[0])?,
            }
            rest = after;
        }
        f.write_str(rest)?;
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        assert_eq!(Text("plain/ü:7").to_string(), "\"plain/ü:7\"");
        let hostile = Text("a\"b\\c\nd\u{0}\u{1f}\u{7f}").to_string();
        assert_eq!(hostile, "\"a\\\"b\\\\c\\u000ad\\u0000\\u001f\u{7f}\"");
    }

    #[test]
    fn a_line_of_each_kind() {
        let who = Arc::new(Who { id: 3, key: Key::new("job").unwrap(), name: "a\"b".into() });
        let (at, until, token) = (Instant::from_nanos(10), Instant::from_nanos(17), Token::FIRST);
        let mut out = String::new();
        Line::Elected { who: who.clone(), at, token, until }.write(&mut out);
        let reason = Ended::For(StepDownReason::RenewFailed);
        Line::SteppedDown { who: who.clone(), at, token, reason }.write(&mut out);
        let (resource, outcome) = ("jobs".into(), Outcome::Accepted);
        Line::Write { who, token, span: [at, until], resource, outcome }.write(&mut out);
        gap(&mut out, at, 5);
        let expected = r#"{"elected":{"at":10,"id":3,"key":"job","name":"a\"b","token":1,"left":7}}
{"stepped-down":{"at":10,"id":3,"key":"job","token":1,"reason":"renew-failed"}}
{"write":{"began":10,"at":17,"id":3,"key":"job","token":1,"resource":"jobs","outcome":"accepted"}}
{"gap":{"at":10,"lines":5}}
"#;
        assert_eq!(out, expected);
    }
}
