//! The statements that are prepared on each connection for requests.

use tokio_postgres::{Client, Error, Statement};

use super::fast_path::FastPath;
use super::table::LeaseTable;

/// A call of a function for each kind of request, and plain statements, which are tried first.
pub(super) struct Statements {
    /// None where leases are granted under locks, which only the functions check.
    pub(super) fast_path: Option<FastPath>,
    pub(super) acquire: Statement,
    pub(super) renew: Statement,
    pub(super) release: Statement,
    pub(super) observe: Statement,
    pub(super) notify: Statement,
}

/// How many of the request's parameters the function of each kind takes, and how many of the lock's.
/// Messages have parameters of their own.
pub(super) const ACQUIRE: (usize, usize) = (10, 4);
pub(super) const RENEW: (usize, usize) = (6, 3);
pub(super) const RELEASE: (usize, usize) = (3, 3);
pub(super) const OBSERVE: (usize, usize) = (1, 2);

impl Statements {
    /// Prepares calls of that table's functions: those that take a lock's parameters, or those that do not.
    pub(super) async fn prepare(
        client: &Client,
        of_a_lock: bool,
        table: &LeaseTable,
    ) -> Result<Self, Error> {
        let call = |function: String, count| {
            let parameters: Vec<_> = (1..=count).map(|number| format!("${number}")).collect();
            let sql = format!("SELECT * FROM {function}({})", parameters.join(", "));
            async move { client.prepare(&sql).await }
        };
        let step = |name, (count, of_lock): (usize, usize)| {
            if of_a_lock {
                call(table.object(&format!("_locked_{name}")), count + of_lock)
            } else {
                call(table.object(&format!("_{name}")), count)
            }
        };
        let fast_path = async {
            if of_a_lock { Ok(None) } else { FastPath::prepare(client, table).await.map(Some) }
        };
        let (fast_path, acquire, renew, release, observe, notify) = futures_util::try_join!(
            fast_path,
            step("acquire", ACQUIRE),
            step("renew", RENEW),
            step("release", RELEASE),
            step("observe", OBSERVE),
            call(table.object("_notify"), 3),
        )?;
        Ok(Self { fast_path, acquire, renew, release, observe, notify })
    }
}
