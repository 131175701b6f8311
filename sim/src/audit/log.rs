//! The lines of a log, as `tenure::trace` writes them.

use std::borrow::Cow;
use std::io;

use serde::{Deserialize, Serialize};

use crate::plan::json::plain;

/// The version of the format.
pub(crate) const FORMAT: u32 = 1;
/// The longest line, in bytes: a key has at most 512, a name 128; a resource's name is the
/// application's.
pub(crate) const LINE_MOST: usize = 1 << 20;
/// The latest reading of any clock, in nanoseconds: 146 years.
pub(crate) const READING_MOST: u64 = 1 << 62;
/// The largest drift bound, in parts per million.
pub const DRIFT_MOST: u32 = 500_000;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Line<'a> {
    #[serde(borrow)]
    Header(Header<'a>),
    Clock(Clock),
    #[serde(borrow)]
    Elected(Claim<'a>),
    #[serde(borrow)]
    Renewed(Claim<'a>),
    #[serde(borrow)]
    SteppedDown(End<'a>),
    #[serde(borrow)]
    Write(Write<'a>),
    Gap(Gap),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header<'a> {
    pub(crate) format: u32,
    #[serde(borrow)]
    pub(crate) boot: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) host: Cow<'a, str>,
    pub(crate) pid: u32,
    pub(crate) drift_ppm: u32,
    pub(crate) at: u64,
    pub(crate) within: u64,
    pub(crate) wall: u64,
}

/// The wall clock showed `wall` between the readings `at` and `at + within`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Clock {
    pub(crate) at: u64,
    pub(crate) within: u64,
    pub(crate) wall: u64,
    pub(crate) drift_ppm: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim<'a> {
    pub(crate) at: u64,
    pub(crate) id: u64,
    #[serde(borrow)]
    pub(crate) key: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
    pub(crate) token: u64,
    pub(crate) left: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct End<'a> {
    pub(crate) at: u64,
    pub(crate) id: u64,
    #[serde(borrow)]
    pub(crate) key: Cow<'a, str>,
    pub(crate) token: u64,
    #[serde(borrow)]
    pub(crate) reason: Cow<'a, str>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Write<'a> {
    pub(crate) began: u64,
    pub(crate) at: u64,
    pub(crate) id: u64,
    #[serde(borrow)]
    pub(crate) key: Cow<'a, str>,
    pub(crate) token: u64,
    #[serde(borrow)]
    pub(crate) resource: Cow<'a, str>,
    pub(crate) outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    Accepted,
    Refused,
    Unknown,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gap {
    pub(crate) at: u64,
    pub(crate) lines: u64,
}

/// An error in a log. Lines are counted from one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// It can't be read.
    #[error("line {line} can't be read")]
    Io {
        /// The line.
        line: u64,
        /// The reason.
        #[source]
        why: io::Error,
    },
    /// A line is not one of a log.
    #[error("line {line} is no line of a log: {what}; the line is {value:?}")]
    Syntax {
        /// The line.
        line: u64,
        /// The description.
        what: String,
        /// The line's text.
        value: String,
    },
    /// The file has a format of another version.
    #[error("line {line}, field \"format\" is {found}; this version reads format {FORMAT}")]
    Format {
        /// The line.
        line: u64,
        /// The version.
        found: u64,
    },
    /// There is a header after the first line.
    #[error(
        "line {line} is a second header: each file has one, in its first line; split the file there"
    )]
    SecondHeader {
        /// The line.
        line: u64,
    },
    /// A line is too long.
    #[error("line {line} is longer than {LINE_MOST} bytes")]
    Long {
        /// The line.
        line: u64,
    },
    /// A number is out of bounds.
    #[error("line {line}, field {field:?} is {value}, and must be from {least} to {most}")]
    Bounds {
        /// The line.
        line: u64,
        /// The field.
        field: &'static str,
        /// The number.
        value: u64,
        /// The least permitted number.
        least: u64,
        /// The largest permitted number.
        most: u64,
    },
}

/// Only the version, of a format that has one.
#[derive(Deserialize)]
struct Versioned {
    header: Version,
}

#[derive(Deserialize)]
struct Version {
    format: u64,
}

impl<'a> Line<'a> {
    /// Reads a line without its end, and checks its numbers.
    pub(super) fn parse(line: u64, text: &'a [u8]) -> Result<Self, LogError> {
        let parsed = serde_json::from_slice(text).map_err(|why| wrong(line, text, &why))?;
        let within = |field, value, (least, most)| {
            if (least..=most).contains(&value) {
                Ok(())
            } else {
                Err(LogError::Bounds { line, field, value, least, most })
            }
        };
        let time = |field, value| within(field, value, (0, READING_MOST));
        let token = |value| within("token", value, (1, u64::MAX));
        let drift = |value: u32| within("drift_ppm", value.into(), (0, DRIFT_MOST.into()));
        match &parsed {
            Line::Header(Header { format, .. }) if *format != FORMAT => {
                return Err(LogError::Format { line, found: u64::from(*format) });
            }
            Line::Header(Header { at, within, wall, drift_ppm, .. })
            | Line::Clock(Clock { at, within, wall, drift_ppm }) => {
                time("at", *at)?;
                time("within", *within)?;
                time("wall", *wall)?;
                drift(*drift_ppm)?;
            }
            Line::Elected(claim) | Line::Renewed(claim) => {
                time("at", claim.at)?;
                time("left", claim.left)?;
                token(claim.token)?;
            }
            Line::SteppedDown(end) => {
                time("at", end.at)?;
                token(end.token)?;
            }
            Line::Write(write) => {
                time("at", write.at)?;
                within("began", write.began, (0, write.at))?;
                token(write.token)?;
            }
            Line::Gap(gap) => time("at", gap.at)?,
        }
        Ok(parsed)
    }
}

fn wrong(line: u64, text: &[u8], why: &serde_json::Error) -> LogError {
    if let Ok(Versioned { header: Version { format } }) = serde_json::from_slice(text)
        && format != u64::from(FORMAT)
    {
        return LogError::Format { line, found: format };
    }
    let value = plain(&String::from_utf8_lossy(text));
    LogError::Syntax { line, what: plain(&why.to_string()), value }
}
