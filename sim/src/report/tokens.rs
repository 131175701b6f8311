//! Short names for tokens: #1, #2 and so on, in their order. The full number has sixteen digits.

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
}
