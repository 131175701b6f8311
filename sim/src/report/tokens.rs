//! Short names for tokens: #1, #2 and so on, in their order. The full number has sixteen digits.
//! And short texts: with these names, and with times of three decimals.

use std::collections::BTreeSet;

use crate::trace::{Entry, Event};

/// The tokens of a run that occur in a record, an election, a lead or work.
#[derive(Clone, Debug, Default)]
pub(super) struct Tokens(Vec<u64>);

impl Tokens {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let mut tokens = BTreeSet::new();
        for Entry { event, .. } in entries {
            match event {
                Event::Store(step) => {
                    tokens.extend(
                        [step.before, step.after].into_iter().flatten().map(|kept| kept.token),
                    );
                }
                Event::Elected { token, .. }
                | Event::Leads { token, .. }
                | Event::WorkBegan { token, .. } => {
                    tokens.insert(*token);
                }
                _ => {}
            }
        }
        Self(tokens.into_iter().collect())
    }

    /// The short name of a token; the full number if the token is unknown.
    pub(super) fn name(&self, token: u64) -> String {
        match self.0.binary_search(&token) {
            Ok(place) => format!("#{}", place + 1),
            Err(_) => token.to_string(),
        }
    }

    /// The text with short names in place of tokens, and at most three decimals.
    pub(super) fn in_short(&self, text: &str) -> String {
        let (mut short, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(begin) = rest.find(|c: char| c.is_ascii_digit()) {
            let (before, number) = rest.split_at(begin);
            let whole = digits(number);
            let decimals = number[whole..].strip_prefix('.').map_or(0, digits);
            let end = if decimals == 0 { whole } else { whole + 1 + decimals };
            let (number, after) = number.split_at(end);
            let shorter = if decimals > DECIMALS_MOST {
                number.parse::<f64>().ok().map(|number| format!("{number:.3}"))
            } else if decimals == 0 && whole >= DIGITS_LEAST {
                number.parse::<u64>().ok().map(|token| self.name(token))
            } else {
                None
            };
            short.push_str(before);
            short.push_str(shorter.as_deref().unwrap_or(number));
            rest = after;
        }
        short + rest
    }
}

/// The most decimals of a number in a text.
const DECIMALS_MOST: usize = 3;
/// The least digits of a number that is taken for a token: others may be smaller only after a loss
/// of data at a store whose clock is wrong.
const DIGITS_LEAST: usize = 10;

/// The number of digits that a text begins with.
fn digits(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_short_tokens_and_times() {
        let tokens = Tokens(vec![1_767_225_600_000_463, 1_767_225_733_485_773]);
        for (text, short) in [
            (
                "n1 under token 1767225600000463, n0'1 under 1767225733485773",
                "n1 under token #1, n0'1 under #2",
            ),
            ("both at 133.52393681s, 299.700299ms apart", "both at 133.524s, 299.700ms apart"),
            ("job 0 at 12.5 s, token 1767225600000464", "job 0 at 12.5 s, token 1767225600000464"),
            ("the end.", "the end."),
        ] {
            assert_eq!(tokens.in_short(text), short);
        }
    }
}
