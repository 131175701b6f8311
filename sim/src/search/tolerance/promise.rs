//! The promises for which frontiers are measured.

use std::fmt;

use serde::Serialize;

use crate::judge::Outcome;
use crate::judge::properties::PropertyName;
use crate::trace::{Entry, Event};

/// A promise that holds up to the frontier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// The property of that name: no two candidates lead at once.
    SingleLeader,
    /// The property of that name: no write of an older tenure lands after a write of a newer one.
    UnfencedInOrder,
    /// No write of an older tenure lands once a newer tenure leads, whether or not the newer one
    /// has written.
    PromptEffect,
    /// A candidate is elected, and no leader loses the lead. Progress, not safety.
    LeadKept,
}

impl Promise {
    /// Its name, in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SingleLeader => PropertyName::SINGLE_LEADER.as_str(),
            Self::UnfencedInOrder => PropertyName::UNFENCED_IN_ORDER.as_str(),
            Self::PromptEffect => "prompt-effect",
            Self::LeadKept => "lead-kept",
        }
    }

    /// True if a run broke it.
    pub(super) fn is_broken_in(self, outcome: &Outcome) -> bool {
        let is_violated = |name| outcome.judge.violations().iter().any(|one| one.property == name);
        match self {
            Self::SingleLeader => is_violated(PropertyName::SINGLE_LEADER),
            Self::UnfencedInOrder => is_violated(PropertyName::UNFENCED_IN_ORDER),
            Self::PromptEffect => lands_late(outcome.trace.entries()),
            Self::LeadKept => {
                let events = || outcome.trace.entries().iter().map(|entry| &entry.event);
                !events().any(|event| matches!(event, Event::Elected { .. }))
                    || events().any(|event| matches!(event, Event::SteppedDown { .. }))
            }
        }
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// True if a write of an older tenure lands after a newer lead began. Tokens of these runs
/// increase: no store loses data in them.
fn lands_late(entries: &[Entry]) -> bool {
    let mut newest = None;
    entries.iter().any(|Entry { at, event }| match event {
        Event::Leads { token, .. } => {
            newest = newest.max(Some((*token, *at)));
            false
        }
        // At the same instant the write may land before the lead begins.
        Event::Wrote { token, .. } => {
            newest.is_some_and(|(last, since)| *token < last && *at > since)
        }
        _ => false,
    })
}
