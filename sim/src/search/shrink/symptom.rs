//! The way in which a run fails, which a smaller plan must show as well.
//!
//! It is not enough that the same property fails: most can fail in more than one way ("was never
//! granted", "still leads"), and a small plan that fails in another way leads to another bug. The
//! whole text of a violation is too much: times and tokens change with every part that is left out.
//! The symptom keeps the words, and the role of each candidate: the first one named is A, the
//! second B. So "n3 leads and n1 leads" is the same as "n0 leads and n2 leads", but differs from
//! "n3 leads and n3 leads". In text that is not a property's own, such as a panic's, words with a
//! digit are numbers, and brackets enclose details.

use std::fmt;

use serde::Serialize;

use crate::judge::finding::{Finding, Part};
use crate::judge::properties::{PropertyName, Violation};

/// The way in which a run fails, without the numbers of nodes, tokens and times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Symptom {
    /// A property does not hold.
    Violated {
        /// The name of the property.
        property: PropertyName,
        /// The description, with roles instead of candidates.
        roles: String,
    },
    /// The run does not complete.
    BrokeDown {
        /// The reason, without numbers.
        why: String,
    },
}

impl Symptom {
    /// The symptom of a violation.
    pub fn of_violation(violation: &Violation) -> Self {
        Self::Violated { property: violation.property, roles: roles(&violation.finding) }
    }

    /// The symptom of a run that did not complete.
    pub fn of_breakdown(what: &str) -> Self {
        Self::BrokeDown { why: masked(what) }
    }

    /// The property's name, or `no-breakdown`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Violated { property, .. } => property.as_str(),
            Self::BrokeDown { .. } => "no-breakdown",
        }
    }
}

impl fmt::Display for Symptom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Violated { property, roles } => write!(f, "{property}: {roles}"),
            Self::BrokeDown { why } => write!(f, "the run broke down: {why}"),
        }
    }
}

/// The finding with letters instead of candidates, and `#` instead of tokens and times.
fn roles(finding: &Finding) -> String {
    let candidates = finding.candidates();
    let role = |part: &Part| match part {
        Part::Words(words) => (*words).to_owned(),
        Part::Candidate(who) => {
            let place = candidates.iter().position(|known| known == who).unwrap_or_default();
            // No sentence names more candidates than the alphabet has letters.
            let letter = u8::try_from(place).ok().and_then(|place| b'A'.checked_add(place));
            letter.map_or_else(|| "#".to_owned(), |letter| char::from(letter).to_string())
        }
        Part::Token(_) | Part::Time(_) | Part::Span(_) => "#".to_owned(),
        Part::Detail(text) => masked(text),
    };
    finding.parts().iter().map(role).collect()
}

/// The text with `#` instead of words with digits, and without text in brackets.
fn masked(text: &str) -> String {
    let (mut masked, mut depth, mut rest) = (String::new(), 0_usize, text);
    while let Some(letter) = rest.chars().next() {
        let length = rest.find(|letter| !is_of_a_word(letter)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length.max(letter.len_utf8()));
        rest = after;
        if matches!(letter, ')' | ']' | '}') {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            let is_number = word.contains(|letter: char| letter.is_ascii_digit());
            masked.push_str(if is_number { "#" } else { word });
        }
        if matches!(letter, '(' | '[' | '{') {
            depth += 1;
        }
    }
    masked
}

fn is_of_a_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '\'' | '.' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Leader;
    use crate::plan::SimTime;
    use crate::trace::Who;

    fn n(node: usize, life: u32) -> Who {
        Who { node, life }
    }

    #[test]
    fn candidates_are_named_by_their_role() {
        let (at, of) = (SimTime::from_nanos(5), |who, token| Leader { who, token });
        let both =
            |one, other| roles(&Finding::TwoLeaders { one: of(one, 17), other: of(other, 18), at });
        let text = "A leads under token # and B under token #, both at #";
        assert_eq!(both(n(3, 0), n(1, 2)), text);
        assert_eq!(both(n(1, 0), n(1, 1)), text);
        assert_eq!(both(n(1, 0), n(1, 0)), text.replace('B', "A"));
    }

    #[test]
    fn details_in_brackets_do_not_count() {
        let text = "no order explains these, after Some(Kept { token: 1 }): [n1, (2)] at 7";
        assert_eq!(masked(text), "no order explains these, after Some(): [] at #");
        assert_ne!(masked("after None"), masked("after Some(1)"));
    }

    #[test]
    fn other_words_are_another_symptom() {
        let of = |finding| {
            let (property, at) = (PropertyName::FAIL_CLOSED, SimTime::from_nanos(1));
            Symptom::of_violation(&Violation { property, at, finding })
        };
        let (without, other) = [1, 2]
            .map(|node| n(node, 0))
            .map(|who| Finding::LeadWithoutGrant { who, token: 7 })
            .into();
        let over_from = SimTime::from_nanos(1);
        let late = Finding::LeadTooLong { who: n(1, 0), token: 7, over_from };
        assert_eq!(of(without.clone()), of(other));
        assert_ne!(of(without), of(late));
        assert_ne!(of(Finding::Told("n1 leads".into())), Symptom::of_breakdown("n1 leads"));
    }
}
