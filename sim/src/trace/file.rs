//! Traces as files: one JSON object a line. The first line is a [`Header`], the last one an
//! [`End`], and every line between them an [`Entry`].
//!
//! A file contains everything that is needed to judge it, so a build without the engine that
//! wrote it can judge it. It may come from anywhere: lines, entries, nodes and times have limits.

use std::io::{self, BufRead, Read, Write};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Digest, Entry, Trace};
use crate::plan::json::{self, SyntaxError};
use crate::plan::{Plan, PlanError, SimTime, nanos};

mod limits;

/// The version of the format.
pub const SCHEMA: u32 = 4;
/// The longest line, in bytes. The longest is the first, which holds the plan.
pub const LINE_MOST: usize = 8 << 20;
/// The most entries.
pub const ENTRIES_MOST: usize = 10_000_000;
/// The latest time, in nanoseconds, true or of a clock: sums of a few such times don't overflow. An
/// end may also be "never", which is the largest number.
pub const INSTANT_MOST: u64 = 1 << 62;
/// The longest tick of an engine, in nanoseconds.
pub const TICK_MOST: u64 = 1_000_000_000;

/// The run that a trace belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the format: [`SCHEMA`].
    pub trace: u32,
    /// The version of the simulator that wrote it.
    pub version: String,
    /// The name of the engine that carried out the plan.
    pub engine: String,
    /// The engine's tick, in nanoseconds.
    pub tick_ns: u64,
    /// The plan.
    pub plan: Plan,
}

/// The end of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The end of the run.
    pub end: SimTime,
    /// The hash of all entries; `None` if the file was written by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Digest>,
}

/// A trace that was read back.
#[derive(Debug)]
pub struct Recorded {
    /// The header.
    pub header: Header,
    /// The events.
    pub entries: Vec<Entry>,
    /// The end.
    pub end: End,
}

/// An error in a trace. Lines are counted from one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// It can't be read.
    #[error("line {line} can't be read")]
    Io {
        /// The line.
        line: usize,
        /// The reason.
        #[source]
        why: io::Error,
    },
    /// It is empty.
    #[error("line 1 must be the trace's header, but the file is empty")]
    Empty,
    /// A line is not JSON, or has other fields than it should.
    #[error(transparent)]
    Syntax(SyntaxError),
    /// It has a format of another version.
    #[error("line 1, field \"trace\" is {found}, and must be {SCHEMA}")]
    Schema {
        /// The version.
        found: u32,
    },
    /// Its plan can't be carried out.
    #[error("line 1, field \"plan\"")]
    Plan(#[from] PlanError),
    /// Time goes back.
    #[error(
        "line {line}, field \"at\" is {}, and must be at least {}, as in the line before",
        .at.as_nanos(),
        .least.as_nanos()
    )]
    Order {
        /// The line.
        line: usize,
        /// The time.
        at: SimTime,
        /// The time of the line before.
        least: SimTime,
    },
    /// A line is too long.
    #[error("line {line} is longer than {LINE_MOST} bytes")]
    Long {
        /// The line.
        line: usize,
    },
    /// There are too many lines.
    #[error("line {line}: the trace has more than {ENTRIES_MOST} entries")]
    Many {
        /// The line.
        line: usize,
    },
    /// A number is too large.
    #[error("line {line}, field {field:?} is {value}, and must be at most {most}")]
    TooLarge {
        /// The line.
        line: usize,
        /// The field.
        field: &'static str,
        /// The number.
        value: u64,
        /// The largest permitted number.
        most: u64,
    },
    /// A name contains other characters than names may.
    #[error(
        "line 1, field {field:?} is \"{}\", and must have 1 to 64 letters, digits, or any of - _ . +",
        json::plain(.value)
    )]
    Name {
        /// The field.
        field: &'static str,
        /// The name.
        value: String,
    },
    /// The last line is not the end of a run.
    #[error("line {line} is the last one, and must hold the field \"end\": the trace is cut off")]
    CutOff {
        /// The line.
        line: usize,
    },
}

/// Writes a run of an engine with that tick; the run ended at `end`.
///
/// # Errors
/// Those of the writer.
pub fn write(
    out: &mut impl Write,
    (engine, tick): (&str, Duration),
    plan: &Plan,
    trace: &Trace,
    end: Duration,
) -> io::Result<()> {
    let header = Header {
        trace: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        engine: engine.to_owned(),
        tick_ns: nanos(tick),
        plan: plan.clone(),
    };
    line(out, &header)?;
    trace.entries().iter().try_for_each(|entry| line(out, entry))?;
    line(out, &End { end: SimTime::START + end, hash: Some(trace.hash_of_entries()) })
}

fn line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}

/// Reads a trace back.
///
/// # Errors
/// If it is not a trace: the line, the field, and the reason.
pub fn read(from: impl BufRead) -> Result<Recorded, TraceError> {
    let mut lines = Lines { from, number: 0 }.peekable();
    let (_, first) = lines.next().ok_or(TraceError::Empty)?;
    let header: Header = parse(1, &first?)?;
    if header.trace != SCHEMA {
        return Err(TraceError::Schema { found: header.trace });
    }
    limits::check_header(&header)?;
    header.plan.check()?;
    let nodes = header.plan.nodes.len();
    let mut entries = Vec::new();
    let mut at = SimTime::START;
    let mut last = 1;
    while let Some((number, line)) = lines.next() {
        last = number;
        let line = line?;
        let is_last = lines.peek().is_none();
        if is_last && serde_json::from_str::<Entry>(&line).is_err() {
            let end: End = parse(number, &line)?;
            in_order(number, at, end.end)?;
            limits::check_time(number, "end", end.end)?;
            return Ok(Recorded { header, entries, end });
        }
        let entry: Entry = parse(number, &line)?;
        in_order(number, at, entry.at)?;
        limits::check_entry(number, &entry, nodes)?;
        at = entry.at;
        if entries.len() == ENTRIES_MOST {
            return Err(TraceError::Many { line: number });
        }
        entries.push(entry);
    }
    Err(TraceError::CutOff { line: last })
}

/// The lines of a file, counted from one, none of them too long.
struct Lines<R> {
    from: R,
    number: usize,
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = (usize, Result<String, TraceError>);

    fn next(&mut self) -> Option<Self::Item> {
        let mut bytes = Vec::new();
        // A line, its end, and one more byte, which a line within the limit does not have.
        let read = self.from.by_ref().take(LINE_MOST as u64 + 2).read_until(b'\n', &mut bytes);
        self.number += 1;
        let line = self.number;
        if let Err(why) = read {
            return Some((line, Err(TraceError::Io { line, why })));
        }
        if bytes.is_empty() {
            return None;
        }
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.len() > LINE_MOST {
            return Some((line, Err(TraceError::Long { line })));
        }
        let text = std::str::from_utf8(text).map(str::to_owned);
        let not_text =
            |why| TraceError::Io { line, why: io::Error::new(io::ErrorKind::InvalidData, why) };
        Some((line, text.map_err(not_text)))
    }
}

fn parse<T: DeserializeOwned>(line: usize, text: &str) -> Result<T, TraceError> {
    json::parse(text).map_err(|error| TraceError::Syntax(SyntaxError { line, ..error }))
}

fn in_order(line: usize, least: SimTime, at: SimTime) -> Result<(), TraceError> {
    if at < least { Err(TraceError::Order { line, at, least }) } else { Ok(()) }
}
