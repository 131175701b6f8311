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
//! Who gets no row back has changed nothing, and does not know why. The functions tell.

use tokio_postgres::{Client, Error, Statement};

use super::LeaseTable;
use crate::store::Request;

const GRANT: &str = include_str!("sql/grant.sql");
const RENEW: &str = include_str!("sql/renew.sql");

pub(super) struct Usual {
    grant: Statement,
    renew: Statement,
}

impl Usual {
    pub(super) async fn prepare(client: &Client, table: &LeaseTable) -> Result<Self, Error> {
        let (grant, renew) = (table.named(GRANT), table.named(RENEW));
        let (grant, renew) =
            futures_util::try_join!(client.prepare(&grant), client.prepare(&renew))?;
        Ok(Self { grant, renew })
    }

    /// The statement for a request that is likely to be such a case, which takes the first few parameters of
    /// the function's. Who asks for the first time knows no token to go by.
    pub(super) fn of(&self, request: &Request) -> Option<&Statement> {
        match request {
            Request::Acquire { seen: Some(_), .. } => Some(&self.grant),
            Request::Renew { .. } => Some(&self.renew),
            _ => None,
        }
    }
}
