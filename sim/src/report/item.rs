//! What is drawn of a run: a span or a mark in a lane each.

use serde::Serialize;

use crate::plan::clock::True;

/// What an item shows; also what the page filters by.
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
    /// All of them, in the order in which the page lists them.
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

    /// Whether a run can't be understood without it: such an item is never left out.
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

    /// What it is called, and what it is, in a few words.
    pub(super) const fn described(self) -> (&'static str, &'static str) {
        match self {
            Self::Violation => ("violations", "a property did not hold; seen at that moment"),
            Self::Fault => ("faults", "what the plan lets go wrong"),
            Self::Lease => {
                ("leases", "the record at the store, until its end, in its holder's colour")
            }
            Self::Claim => ("claims", "what a candidate counts as its own, if it is not renewed"),
            Self::Renewal => ("renewals", "a claim that was made longer"),
            Self::Quarantine => ("quarantines", "granted, and waiting before it may lead"),
            Self::Leads => ("is_leader()", "what the application is told"),
            Self::Work => ("work", "leader-only work under way"),
            Self::Effect => ("effects", "a write to both sinks, and what became of it"),
            Self::Message => ("messages", "from the node to the store and back"),
            Self::Hint => ("hints", "word that the lease may be vacant"),
            Self::ResignAsked => {
                ("resignations", "asked to hand over or to leave, and done with it")
            }
            Self::SteppedDown => ("step-downs", "a candidate says that it no longer leads"),
            Self::Started => ("starts", "a process starts"),
            Self::Crashed => ("crashes", "a process is gone"),
            Self::StoreCrash => ("store crashes", "the store's process is gone"),
            Self::Calm => ("calm", "from here on nothing goes wrong"),
        }
    }
}

/// One span or mark.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Item {
    pub(super) kind: Kind,
    /// In whose lane; the store's, or that of nobody, if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<usize>,
    pub(super) at: True,
    /// The end of a span.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<True>,
    pub(super) label: String,
    /// Which sort of its kind it is, where that is drawn.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) tone: &'static str,
    /// The node that holds a lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) holder: Option<usize>,
    /// The way of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) way: Option<Way>,
    /// What else there is to say.
    pub(super) facts: Vec<(&'static str, String)>,
}

/// The way of a message and its answer.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Way {
    /// When the store carried it out: more than once, if it was duplicated.
    pub(super) store: Vec<True>,
    /// When its answer came back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) back: Option<True>,
    /// On which leg it was lost: `to-store` or `to-node`.
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
    pub(super) fn new(kind: Kind, node: Option<usize>, at: True, label: impl Into<String>) -> Self {
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

    /// Says something else about it.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Fact>) -> Self {
        self.facts.push((name, value.into().0));
        self
    }
}

/// What is said of an item, in words.
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

/// A time, as people read it.
pub(super) fn seconds(at: True) -> String {
    format!("{}.{:09} s", at / 1_000_000_000, at % 1_000_000_000)
}
