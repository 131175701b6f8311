//! Limits for the numbers in a trace, because properties and pages add and subtract them.

use super::{Entry, Header, INSTANT_MOST, TICK_MOST, TraceError};
use crate::plan::SimTime;
use crate::plan::json::is_name;
use crate::trace::{Event, StoreStep, Who};

pub(super) fn check_header(header: &Header) -> Result<(), TraceError> {
    for (field, value) in [("version", &header.version), ("engine", &header.engine)] {
        if !is_name(value) {
            return Err(TraceError::Name { field, value: value.clone() });
        }
    }
    at_most(1, "tick_ns", header.tick_ns, TICK_MOST)
}

pub(super) fn check_entry(line: usize, entry: &Entry, nodes: usize) -> Result<(), TraceError> {
    check_time(line, "at", entry.at)?;
    let is_node = |node: usize| at_most(line, "node", node as u64, nodes as u64 - 1);
    let is_who = |who: Who| is_node(who.node);
    let ends = |field, end| check_end(line, field, end);
    match &entry.event {
        Event::Fault { node, .. }
        | Event::Effect { node, .. }
        | Event::Healed { node, .. }
        | Event::Stalled { node } => node.map_or(Ok(()), is_node),
        Event::Calm | Event::StoreCrashed { .. } | Event::Elsewhere { .. } => Ok(()),
        Event::Store(step) => check_step(line, step),
        Event::Started { who }
        | Event::Crashed { who }
        | Event::Sent { who, .. }
        | Event::Answered { who, .. }
        | Event::Hinted { who }
        | Event::Message { who, .. }
        | Event::CampaignAsked { who }
        | Event::Withdrawn { who, .. }
        | Event::Watches { who }
        | Event::Leads { who, .. }
        | Event::LeadsNoMore { who }
        | Event::WorkBegan { who, .. }
        | Event::WaitsToBeTold { who, .. }
        | Event::LookBegan { who }
        | Event::LookEnded { who }
        | Event::DriverPanicked { who, .. }
        | Event::CallbackBegan { who, .. }
        | Event::CallbackEnded { who, .. } => is_who(*who),
        Event::Called { who, began } => {
            is_who(*who)?;
            check_time(line, "began", *began)
        }
        Event::WorkEnded { who, polled, .. } => {
            is_who(*who)?;
            polled.map_or(Ok(()), |polled| ends("polled", polled))
        }
        Event::ResignAsked { who, hold_off } => {
            is_who(*who)?;
            hold_off.map_or(Ok(()), |hold_off| at_most(line, "hold_off", hold_off, INSTANT_MOST))
        }
        Event::Elected { who, claim_ends, .. } | Event::Renewed { who, claim_ends, .. } => {
            is_who(*who)?;
            ends("claim_ends", *claim_ends)
        }
        Event::SteppedDown { who, drain_ends, .. } | Event::DrainMoved { who, drain_ends, .. } => {
            is_who(*who)?;
            ends("drain_ends", *drain_ends)
        }
        Event::Wrote { who, checked, .. } => {
            is_who(*who)?;
            check_time(line, "checked", *checked)
        }
    }
}

fn check_step(line: usize, step: &StoreStep) -> Result<(), TraceError> {
    let mut kept = step.before.iter().chain(&step.after);
    kept.try_for_each(|kept| check_end(line, "lease_ends", kept.lease_ends))
}

pub(super) fn check_time(
    line: usize,
    field: &'static str,
    time: SimTime,
) -> Result<(), TraceError> {
    at_most(line, field, time.as_nanos(), INSTANT_MOST)
}

/// An end may never come.
fn check_end(line: usize, field: &'static str, end: SimTime) -> Result<(), TraceError> {
    if end == SimTime::NEVER { Ok(()) } else { check_time(line, field, end) }
}

fn at_most(line: usize, field: &'static str, value: u64, most: u64) -> Result<(), TraceError> {
    if value <= most { Ok(()) } else { Err(TraceError::TooLarge { line, field, value, most }) }
}
