//! Renewals and grants that nothing speaks against, each as one plain statement: that is much less work for the
//! server than to lock the row, read the clock, look, and write.
//!
//! Such a statement knows the time of its own beginning alone, and may come to the row's lock long after it.
//! If the row was changed meanwhile, the server looks at the conditions again; if it was merely locked, it
//! does not, and a renewal would extend a lease that others have seen end. So only leases that last for
//! 100 ms more are extended; and whatever gets its row later than that is undone, by an error.
//!
//! Times from before the lock do no other harm. None is from before the request was sent, which is what its
//! holder goes by. A lease that was vacant then is vacant under the lock, unless its row was changed. A token is
//! above the row's, and no row is made here that could have been purged with a greater one.
//!
//! A grant is tied to the process that carries it out and to the table, as the function's is: either may be
//! another by now than when the connection began.
//!
//! A plain grant applies only where all rules of the function are met already: the settings do not contradict
//! the row's, the history remembers a TTL that is as long, and it does not begin in the future. The function
//! decides the rest, contradictions of long ago too.
//!
//! A plain statement that finds no row has changed nothing. The function is then asked, one round trip later. That
//! is how all acquires of a waiting candidate end, and on a slow network the request timeout may allow for one
//! round trip alone. So a plain grant is tried only where the server is near. Elsewhere the function is asked at
//! once: its additional work is little beside a round trip. A plain renewal nearly always finds its row, and is
//! tried everywhere. The first renewal over a connection compares the server with the history, and only the
//! function does that.

use tokio_postgres::{Client, Error, Statement};

use super::table::LeaseTable;
use crate::store::Request;

const GRANT: &str = include_str!("sql/grant.sql");
const RENEW: &str = include_str!("sql/renew.sql");

pub(super) struct FastPath {
    grant: Statement,
    renew: Statement,
}

impl FastPath {
    pub(super) async fn prepare(client: &Client, table: &LeaseTable) -> Result<Self, Error> {
        let (grant, renew) = (table.named(GRANT), table.named(RENEW));
        let (grant, renew) =
            futures_util::try_join!(client.prepare(&grant), client.prepare(&renew))?;
        Ok(Self { grant, renew })
    }

    /// The plain statement that is worth trying for a request. It takes the first few parameters of the function. A
    /// candidate that asks for the first time knows no token to compare the row with.
    ///
    /// `is_near` says that one more round trip costs little; `has_compared`, that a renewal over the connection has
    /// compared the server with the history.
    pub(super) fn statement(
        &self,
        request: &Request,
        is_near: bool,
        has_compared: bool,
    ) -> Option<&Statement> {
        match request {
            Request::Acquire { seen: Some(_), .. } => is_near.then_some(&self.grant),
            Request::Renew { .. } => has_compared.then_some(&self.renew),
            Request::Acquire { seen: None, .. }
            | Request::Release { .. }
            | Request::Observe
            | Request::Notify { .. } => None,
        }
    }
}
