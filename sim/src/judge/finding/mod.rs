//! A failed check: a value with its candidates, tokens and times, and the sentence that is made
//! from it.

mod table;

use std::fmt;
use std::time::Duration;

use serde::ser::{Serialize, SerializeStruct as _, Serializer};

use crate::plan::SimTime;
use crate::trace::Who;
pub use table::Finding;

/// A part of the sentence that describes a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Words that are the same in every run.
    Words(&'static str),
    /// A candidate.
    Candidate(Who),
    /// A fencing token.
    Token(u64),
    /// A moment of true time.
    Time(SimTime),
    /// A span of time.
    Span(Duration),
    /// Any other text, with parts that may differ from run to run.
    Detail(String),
}

/// A finding about logs, of those parts in that order.
macro_rules! of_logs {
    ($($part:expr),+ $(,)?) => {
        $crate::judge::finding::Finding::OfLogs(vec![$($crate::judge::finding::Part::from($part)),+])
    };
}
pub(crate) use of_logs;

impl Finding {
    /// The same finding, about that election of the run.
    pub(crate) fn in_election(&self, election: usize) -> Self {
        Self::InElection { election, finding: Box::new(self.clone()) }
    }

    /// The candidates that it names, each once, in order.
    pub fn candidates(&self) -> Vec<Who> {
        self.each(|part| if let Part::Candidate(who) = part { Some(who) } else { None })
    }

    /// The tokens that it names, each once, in order.
    pub fn tokens(&self) -> Vec<u64> {
        self.each(|part| if let Part::Token(token) = part { Some(token) } else { None })
    }

    /// The times that it names, each once, in order.
    pub fn times(&self) -> Vec<SimTime> {
        self.each(|part| if let Part::Time(at) = part { Some(at) } else { None })
    }

    fn each<T: PartialEq>(&self, of: impl Fn(Part) -> Option<T>) -> Vec<T> {
        let mut each = Vec::new();
        for found in self.parts().into_iter().filter_map(of) {
            if !each.contains(&found) {
                each.push(found);
            }
        }
        each
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts().iter().try_for_each(|part| part.fmt(f))
    }
}

/// JSON: the text as `what`, and the values that it names.
impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Finding", 4)?;
        fields.serialize_field("what", &self.to_string())?;
        fields.serialize_field("candidates", &self.candidates())?;
        fields.serialize_field("tokens", &self.tokens())?;
        fields.serialize_field("times", &self.times())?;
        fields.end()
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => f.write_str(words),
            Self::Candidate(who) => write!(f, "{who:?}"),
            Self::Token(token) => write!(f, "{token}"),
            Self::Time(at) => write!(f, "{at:?}"),
            Self::Span(span) => write!(f, "{span:?}"),
            Self::Detail(text) => f.write_str(text),
        }
    }
}

impl From<&'static str> for Part {
    fn from(words: &'static str) -> Self {
        Self::Words(words)
    }
}

impl From<Who> for Part {
    fn from(who: Who) -> Self {
        Self::Candidate(who)
    }
}

impl From<SimTime> for Part {
    fn from(at: SimTime) -> Self {
        Self::Time(at)
    }
}

impl From<Duration> for Part {
    fn from(span: Duration) -> Self {
        Self::Span(span)
    }
}

/// A finding in a user's own words.
impl From<String> for Finding {
    fn from(text: String) -> Self {
        Self::Told(text)
    }
}
