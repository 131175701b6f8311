//! The order of tenures, and of the writes that a resource accepts.

use super::{Found, State, Tally};
use crate::judge::finding::Finding;
use crate::trace::Who;

/// Writes have to follow the order in which the store granted their tenures, whatever the tokens
/// are.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The place and token of the newest tenure that has written.
    newest: (u32, u64),
}

impl Order {
    /// The resource has accepted a write. A write after one of another tenure is a comparison.
    pub(super) fn wrote(
        &mut self,
        who: Who,
        token: u64,
        state: &State,
        tally: &mut Tally,
    ) -> Found {
        let place = state.tenure(token).place;
        if place == 0 {
            return Err(Finding::WriteWithoutGrant { who, token });
        }
        let (newest, newer) = self.newest;
        tally.count(newest > 0 && place != newest);
        if place < newest {
            return Err(Finding::WriteOutOfOrder { who, token, newer });
        }
        self.newest = (place, token);
        Ok(())
    }
}
