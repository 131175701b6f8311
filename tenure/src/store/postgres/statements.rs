//! The statements that are prepared on each connection for requests.

use tokio_postgres::{Client, Error, Statement};

use super::fast_path::FastPath;
use super::reply::TOO_LONG;
use super::table::LeaseTable;
use crate::store::Profile;

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

/// The columns of an answer after the first, of the functions that read a leader's profile.
const OF_ACQUIRE: &str = "a.last, a.micros, a.who, a.called, a.tells, a.lasts, a.declared";
const OF_OBSERVE: &str = "a.last, a.micros, a.who, a.called, a.tells, a.lasts";
const OF_NOTIFY: &str = "a.last";

/// Calls a function that reads the profile of a live lease, unless that is longer than any candidate's: the server would
/// read and send all of it, for seconds, while all other requests over the connection wait. `octet_length` does not read
/// it. `OFFSET 0` keeps the planner from calling the function before it looks at the length. The profile of a lease that is over is not read, and the next grant replaces it.
fn within_limits(table: &LeaseTable, columns: &str, call: &str) -> String {
    const NAME: usize = Profile::NAME_MOST;
    const METADATA: usize = Profile::METADATA_MOST;
    let (leases, micros) = (table.object(""), table.object("_micros"));
    format!(
        "SELECT coalesce(a.answer, '{TOO_LONG}'), {columns} FROM (SELECT coalesce((
            SELECT l.released OR l.lease_end <= {micros}(clock_timestamp())
                    OR octet_length(l.name) <= {NAME} AND octet_length(l.metadata) <= {METADATA}
                FROM {leases} AS l WHERE l.key = $1), true) AS it) AS fits
            LEFT JOIN LATERAL (SELECT * FROM {call} WHERE fits.it OFFSET 0) AS a ON true"
    )
}

impl Statements {
    /// Prepares calls of that table's functions: those that take a lock's parameters, or those that do not.
    pub(super) async fn prepare(
        client: &Client,
        of_a_lock: bool,
        table: &LeaseTable,
    ) -> Result<Self, Error> {
        let call = |function: String, count, of_profile: Option<&str>| {
            let parameters: Vec<_> = (1..=count).map(|number| format!("${number}")).collect();
            let call = format!("{function}({})", parameters.join(", "));
            let sql = match of_profile {
                Some(columns) => within_limits(table, columns, &call),
                None => format!("SELECT * FROM {call}"),
            };
            async move { client.prepare(&sql).await }
        };
        let step = |name, (count, of_lock): (usize, usize), of_profile| {
            if of_a_lock {
                call(table.object(&format!("_locked_{name}")), count + of_lock, of_profile)
            } else {
                call(table.object(&format!("_{name}")), count, of_profile)
            }
        };
        let fast_path = async {
            if of_a_lock { Ok(None) } else { FastPath::prepare(client, table).await.map(Some) }
        };
        let (fast_path, acquire, renew, release, observe, notify) = futures_util::try_join!(
            fast_path,
            step("acquire", ACQUIRE, Some(OF_ACQUIRE)),
            step("renew", RENEW, None),
            step("release", RELEASE, None),
            step("observe", OBSERVE, Some(OF_OBSERVE)),
            call(table.object("_notify"), 3, Some(OF_NOTIFY)),
        )?;
        Ok(Self { fast_path, acquire, renew, release, observe, notify })
    }
}
