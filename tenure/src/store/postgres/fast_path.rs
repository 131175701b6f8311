//! Simple renewals and grants, each as one plain statement: that is much less work for the server than a function
//! that locks the row, reads the clock, compares and writes.
//!
//! A plain statement only knows the time at which it began, and may get the row's lock much later.
//! If the row was changed meanwhile, the server checks the conditions again; if the row was only locked, it
//! does not, and a renewal would extend a lease that others have seen end. So a renewal only extends leases that
//! last at least 100 ms more, and a statement that gets its row later than that is undone by an error.
//!
//! Otherwise a time from before the lock does no harm. It is never from before the request was sent, and the holder
//! counts from there. A lease that was vacant at that time is vacant under the lock, unless its row was changed. A
//! token is above the row's, and the statement inserts no row, which could have been purged with a greater token.
//!
//! As in the function, a grant is tied to the process that carries it out and to the table: both may have changed
//! since the connection began.
//!
//! A plain grant applies only if all conditions of the function hold already: the settings do not contradict
//! the row's, the history has a TTL that is at least as long, and it does not begin in the future. The function
//! decides all other cases, also contradictions with settings of long ago.
//!
//! A plain statement that finds no row has changed nothing; the function is then called, one round trip later. That
//! happens to each acquire of a waiting candidate, and on a slow network the request timeout may allow for one
//! round trip only. So a plain grant is tried only where the server is near. Elsewhere the function is called at
//! once: its additional work is small compared with a round trip. A plain renewal nearly always finds its row, and is
//! tried everywhere. Many renewals are one statement, which leaves out rows that others have locked. The first renewal
//! over a connection compares the server with the history, and only the function does that.

use tokio_postgres::{Client, Error, Statement};

use super::table::LeaseTable;
use crate::store::Request;

const GRANT: &str = include_str!("sql/grant.sql");
const RENEW: &str = include_str!("sql/renew.sql");
const RENEW_ALL: &str = include_str!("sql/renew_all.sql");

pub(super) struct FastPath {
    grant: Statement,
    renew: Statement,
    pub(super) renew_all: Statement,
}

impl FastPath {
    pub(super) async fn prepare(client: &Client, table: &LeaseTable) -> Result<Self, Error> {
        let [grant, renew, all] = [GRANT, RENEW, RENEW_ALL].map(|sql| table.named(sql));
        let (grant, renew, renew_all) = futures_util::try_join!(
            client.prepare(&grant),
            client.prepare(&renew),
            client.prepare(&all)
        )?;
        Ok(Self { grant, renew, renew_all })
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
            | Request::Describe { .. }
            | Request::Observe
            | Request::Notify { .. } => None,
        }
    }
}
