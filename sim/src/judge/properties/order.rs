//! The order of tenures, and of the writes that a resource accepts.

use super::recent::Recent;
use super::{Found, Tally, finding};
use crate::judge::finding::Part::Token;
use crate::trace::Who;

/// Writes have to follow the order in which the store granted their tenures, whatever the tokens are.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Each token's place in the order of grants; its last place, if it was granted several times.
    places: Recent<u64, u32>,
    grants: u32,
    /// The place and token of the newest tenure that has written.
    newest: (u32, u64),
}

impl Order {
    /// The store has begun a tenure.
    pub(super) fn granted(&mut self, token: u64) {
        self.grants += 1;
        self.places.insert(token, self.grants);
    }

    /// The resource has accepted a write. A write after one of another tenure is a comparison.
    pub(super) fn wrote(&mut self, who: Who, token: u64, tally: &mut Tally) -> Found {
        let Some(&place) = self.places.get(token) else {
            return Err(finding![
                who,
                " wrote under token ",
                Token(token),
                ", which was never granted"
            ]);
        };
        let (newest, newer) = self.newest;
        tally.count(newest > 0 && place != newest);
        if place < newest {
            return Err(finding![
                who,
                " wrote under token ",
                Token(token),
                " after a write under ",
                Token(newer)
            ]);
        }
        self.newest = (place, token);
        Ok(())
    }
}
