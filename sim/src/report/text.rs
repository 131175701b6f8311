//! Runs and failures as text: for the command and for tests that fail.

use std::io::{self, Write};
use std::time::Duration;

use crate::plan::SimTime;
use crate::plan::json::plain;
use crate::search::campaign::{Elsewhere, Failure};
use crate::trace::{Entry, Event, Kept, Mark, StoreStep};

/// The number of events that are shown before a violation.
pub const BEFORE: usize = 40;

/// A time in milliseconds.
pub fn milliseconds(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1_000.0)
}

/// An event in one line.
pub fn event(event: &Event) -> String {
    match event {
        Event::Store(step) => store_step(step),
        other => format!("{other:?}"),
    }
}

fn store_step(step: &StoreStep) -> String {
    let StoreStep { server, holder, request, answer, before, after } = step;
    let holder = short(*holder);
    let kept = if before == after {
        kept(after.as_ref())
    } else {
        format!("{} -> {}", kept(before.as_ref()), kept(after.as_ref()))
    };
    format!("Store {server}: {holder} asks {request:?}, {answer:?}; {kept}")
}

fn kept(record: Option<&Kept>) -> String {
    let Some(Kept { token, mark: Mark { holder, .. }, lease_ends, released }) = record else {
        return "no record".to_owned();
    };
    let (holder, ends) = (short(*holder), milliseconds(lease_ends.since(SimTime::START)));
    let released = if *released { ", released" } else { "" };
    format!("{token} of {holder} to {ends}{released}")
}

/// A prefix that distinguishes the holders of one run.
fn short(holder: u128) -> String {
    format!("{:08x}", holder >> 96)
}

/// Writes a failure, and the events before it.
///
/// # Errors
/// If it can't be written.
pub fn failure(out: &mut impl Write, failure: &Failure, most: usize) -> io::Result<()> {
    match failure {
        Failure::Violated { property, at_ns, what, entries, .. } => {
            events(out, entries, most)?;
            let at = milliseconds(at_ns.since(SimTime::START));
            writeln!(out, "\n{property} violated at {at}: {}", plain(what))
        }
        Failure::Refused { what } => {
            writeln!(out, "The plan can't be carried out: {}", plain(what))
        }
        Failure::Broke { what } => writeln!(out, "The run broke down: {}", plain(what)),
        Failure::Nondeterministic { first, again } => {
            writeln!(out, "The first trace has the hash {first}, the second one {again}")
        }
    }
}

/// Writes whether another engine could have seen a violation.
///
/// # Errors
/// If it can't be written.
pub fn elsewhere(out: &mut impl Write, elsewhere: &Elsewhere) -> io::Result<()> {
    let Elsewhere { engine, tries, violated, lacks } = elsewhere;
    write!(out, "    {engine}: ")?;
    match lacks {
        Some(why) => writeln!(out, "can't carry it out: {}", plain(why)),
        None if violated.is_empty() => {
            writeln!(
                out,
                "nothing is violated in {tries} tries: what went wrong is not simulated there"
            )
        }
        None => {
            let all =
                violated.iter().map(|(name, times)| format!("{name} in {times} of {tries} tries"));
            writeln!(out, "{}", all.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Writes the last events, and the number of earlier ones.
///
/// # Errors
/// If they can't be written.
pub fn events(out: &mut impl Write, entries: &[Entry], most: usize) -> io::Result<()> {
    let skipped = entries.len().saturating_sub(most);
    if skipped > 0 {
        writeln!(out, "{:>16}  {skipped} more events", "...")?;
    }
    for Entry { at, event } in &entries[skipped..] {
        let at = milliseconds(at.since(SimTime::START));
        writeln!(out, "{at:>16}  {}", self::event(event))?;
    }
    Ok(())
}
