//! The way in which a run fails, which a smaller plan must show as well.
//!
//! It is not enough that the same property fails: most can fail in more than one way ("was never granted",
//! "still leads"), and a small plan that fails in another way leads to another bug. The whole text of a
//! violation is too much: times and tokens change with every part that is left out. The symptom keeps the
//! sentence with the role of each process: the first process named is A, the second B. So "n3 leads
//! and n1 leads" is the same as "n0 leads and n2 leads", but differs from "n3 leads and n3 leads".
//! Any other word with a digit in it is a number, and text in brackets is a detail. Violations
//! are worded by the properties alone, each of them in one place, so the wording is as good as an
//! enum of all of them, and a new violation can't be forgotten.

use std::fmt;

use serde::Serialize;

use crate::judge::properties::Violation;

/// The way in which a run fails, without the numbers of nodes, tokens and times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Symptom {
    /// A property does not hold.
    Violated {
        /// The name of the property.
        property: &'static str,
        /// The description, with roles instead of processes.
        roles: String,
    },
    /// The run does not complete.
    BrokeDown {
        /// The reason, with roles instead of processes.
        roles: String,
    },
}

impl Symptom {
    /// The symptom of a violation.
    pub fn of_violation(violation: &Violation) -> Self {
        Self::Violated { property: violation.property, roles: roles(&violation.what) }
    }

    /// The symptom of a run that did not complete.
    pub fn of_breakdown(what: &str) -> Self {
        Self::BrokeDown { roles: roles(what) }
    }

    /// The property's name, or `no-breakdown`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Violated { property, .. } => property,
            Self::BrokeDown { .. } => "no-breakdown",
        }
    }
}

impl fmt::Display for Symptom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Violated { property, roles } => write!(f, "{property}: {roles}"),
            Self::BrokeDown { roles } => write!(f, "the run broke down: {roles}"),
        }
    }
}

/// The text with letters instead of processes, `#` instead of numbers, and without text in brackets.
fn roles(text: &str) -> String {
    let mut processes = Vec::new();
    let (mut masked, mut depth, mut rest) = (String::new(), 0_usize, text);
    while let Some(letter) = rest.chars().next() {
        let length = rest.find(|letter| !is_of_a_word(letter)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length.max(letter.len_utf8()));
        rest = after;
        if matches!(letter, ')' | ']' | '}') {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            masked.push_str(&role(word, &mut processes));
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

fn role<'a>(word: &'a str, processes: &mut Vec<&'a str>) -> String {
    if is_process(word) {
        let place = processes.iter().position(|known| *known == word).unwrap_or_else(|| {
            processes.push(word);
            processes.len() - 1
        });
        // No sentence names more processes than the alphabet has letters.
        let letter = u8::try_from(place).ok().and_then(|place| b'A'.checked_add(place));
        return letter.map_or_else(|| "#".to_owned(), |letter| char::from(letter).to_string());
    }
    if word.contains(|letter: char| letter.is_ascii_digit()) { "#".into() } else { word.into() }
}

/// As [`Who`](crate::trace::Who) is written: `n3`, or `n3'1` in its second life.
fn is_process(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    word.strip_prefix('n').is_some_and(|number| match number.split_once('\'') {
        Some((node, life)) => digits(node) && digits(life),
        None => digits(number),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_named_by_their_role() {
        let two = "n3 leads under token 17 and n1'2 under token 18, both at 5.25s";
        assert_eq!(roles(two), "A leads under token # and B under token #, both at #");
        assert_eq!(roles("n1 leads, and n1 leads"), "A leads, and A leads");
        assert_eq!(roles("n1 leads, and n1'1 leads"), "A leads, and B leads");
    }

    #[test]
    fn other_words_are_no_processes() {
        assert_eq!(roles("no n1x n' n1' in 3ms"), "no # n' # in #");
    }

    #[test]
    fn details_in_brackets_do_not_count() {
        let text = "no order explains these, after Some(Kept { token: 1 }): [n1, (2)] at 7";
        assert_eq!(roles(text), "no order explains these, after Some(): [] at #");
        assert_ne!(roles("after None"), roles("after Some(1)"));
    }

    #[test]
    fn other_words_are_another_symptom() {
        let of = |what: &str| {
            Symptom::of_violation(&Violation {
                property: "p",
                at: crate::plan::SimTime::START,
                what: what.into(),
            })
        };
        assert_eq!(of("n1 leads at 1s"), of("n2 leads at 2ms"));
        assert_ne!(of("n1 leads at 1s"), of("n1 writes at 1s"));
        assert_ne!(of("n1 leads"), Symptom::of_breakdown("n1 leads"));
    }
}
