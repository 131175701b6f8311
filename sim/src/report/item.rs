//! The items that are drawn of a run: each is a span or a mark in a lane.

use serde::Serialize;

use crate::plan::SimTime;

/// The kind of an item; the page filters by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Violation,
    Fault,
    Calm,
    StoreCrash,
    Lease,
    Claim,
    Leads,
    Quarantine,
    Started,
    Crashed,
    ResignAsked,
    SteppedDown,
    Renewal,
    Work,
    Effect,
    Hint,
    Message,
}

impl Kind {
    /// All kinds, in the order in which the page lists them.
    pub(super) const ALL: [Self; 17] = [
        Self::Violation,
        Self::Fault,
        Self::Lease,
        Self::Claim,
        Self::Renewal,
        Self::Quarantine,
        Self::Leads,
        Self::Work,
        Self::Effect,
        Self::Message,
        Self::Hint,
        Self::ResignAsked,
        Self::SteppedDown,
        Self::Started,
        Self::Crashed,
        Self::StoreCrash,
        Self::Calm,
    ];

    /// True if the item is necessary to understand a run: such an item is never left out.
    pub(super) const fn is_essential(self) -> bool {
        match self {
            Self::Violation
            | Self::Fault
            | Self::Calm
            | Self::StoreCrash
            | Self::Lease
            | Self::Claim
            | Self::Leads
            | Self::Quarantine
            | Self::Started
            | Self::Crashed
            | Self::ResignAsked
            | Self::SteppedDown => true,
            Self::Renewal | Self::Work | Self::Effect | Self::Hint | Self::Message => false,
        }
    }

    /// Its name and a short description.
    pub(super) const fn described(self) -> (&'static str, &'static str) {
        match self {
            Self::Violation => ("violations", "a property did not hold; found at that moment"),
            Self::Fault => ("faults", "the faults of the plan"),
            Self::Lease => (
                "leases",
                "the record at the store, until others may take it, in its holder's colour",
            ),
            Self::Claim => ("claims", "a candidate's claim, until its end if it is not renewed"),
            Self::Renewal => ("renewals", "a claim that was extended"),
            Self::Quarantine => {
                ("quarantines", "watching the store's past before it may be granted anything")
            }
            Self::Leads => ("is_leader()", "the answer that the application gets"),
            Self::Work => ("work", "leader-only work"),
            Self::Effect => {
                ("effects", "a write to both sinks, accepted or refused, or a call of a service")
            }
            Self::Message => ("messages", "from the node to the store and back"),
            Self::Hint => ("hints", "a hint that the lease may be vacant"),
            Self::ResignAsked => {
                ("resignations", "a request to hand over or to leave, and its end")
            }
            Self::SteppedDown => ("step-downs", "a candidate reports that it no longer leads"),
            Self::Started => ("starts", "a process starts"),
            Self::Crashed => ("crashes", "a process crashes"),
            Self::StoreCrash => ("store crashes", "the store's process crashes"),
            Self::Calm => ("recovery phase", "no faults from here on"),
        }
    }
}

/// One span or mark.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Item {
    pub(super) kind: Kind,
    /// The node of its lane; `None` for the store's lane, or for no lane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<usize>,
    pub(super) at: SimTime,
    /// The end of a span.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<SimTime>,
    pub(super) label: String,
    /// The variant of its kind, if the variants are drawn differently.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) tone: &'static str,
    /// The node that holds a lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) holder: Option<usize>,
    /// The path of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) way: Option<Way>,
    /// Further facts, by name.
    pub(super) facts: Vec<(&'static str, String)>,
}

/// The path of a message and its answer.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Way {
    /// The times at which the store carried it out: several if it was duplicated.
    pub(super) store: Vec<SimTime>,
    /// The time at which its answer arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) back: Option<SimTime>,
    /// The leg on which it was lost: `to-store` or `to-node`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lost: Option<&'static str>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) duplicated: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) overtaken: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Item {
    /// A mark, or a span whose end is not known yet.
    pub(super) fn new(
        kind: Kind,
        node: Option<usize>,
        at: SimTime,
        label: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            node,
            at,
            until: None,
            label: label.into(),
            tone: "",
            holder: None,
            way: None,
            facts: Vec::new(),
        }
    }

    pub(super) fn toned(self, tone: &'static str) -> Self {
        Self { tone, ..self }
    }

    /// Adds a fact.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Fact>) -> Self {
        self.facts.push((name, value.into().0));
        self
    }
}

/// The value of a fact.
#[derive(Debug)]
pub(super) struct Fact(String);

impl From<String> for Fact {
    fn from(words: String) -> Self {
        Self(words)
    }
}

impl From<&str> for Fact {
    fn from(words: &str) -> Self {
        Self(words.to_owned())
    }
}

impl From<u64> for Fact {
    fn from(number: u64) -> Self {
        Self(number.to_string())
    }
}

/// A time in seconds.
pub(super) fn seconds(at: SimTime) -> String {
    format!("{:.3} s", at.since(SimTime::START).as_secs_f64())
}
