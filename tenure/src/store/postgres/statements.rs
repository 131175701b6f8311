//! The statements of requests. Those of candidates are prepared on each connection; the others are
//! too rare.

use tokio_postgres::{Client, Error, Statement};

use super::table::LeaseTable;

const ACQUIRE: &str = include_str!("sql/acquire.sql");
const LOOK: &str = include_str!("sql/look.sql");
const RENEW: &str = include_str!("sql/renew.sql");
const RENEW_ALL: &str = include_str!("sql/renew_all.sql");
const RELEASE: &str = include_str!("sql/release.sql");
const ASK: &str = include_str!("sql/ask.sql");
const EXAMINE: &str = "SELECT tenure.leases_examine($1, $2)";

pub(super) const WANT: &str = include_str!("sql/want.sql");
pub(super) const DESCRIBE: &str = include_str!("sql/describe.sql");
pub(super) const NOTIFY: &str = "SELECT tenure.leases_notify($1, $2, $3)";
pub(super) const KEYS: &str =
    "SELECT l.key FROM tenure.leases AS l WHERE l.key > $1 ORDER BY l.key LIMIT $2";
pub(super) const OLD: &str = include_str!("sql/old.sql");
pub(super) const PURGE: &str = include_str!("sql/purge.sql");

/// The prepared ones.
pub(super) struct Statements {
    pub(super) examine: Statement,
    pub(super) acquire: Statement,
    pub(super) look: Statement,
    pub(super) renew: Statement,
    /// Renewals that tell what was watched.
    pub(super) renew_watched: Statement,
    /// The same of many elections: it leaves out rows that others have locked.
    pub(super) renew_all: Statement,
    pub(super) release: Statement,
    pub(super) ask: Statement,
}

impl Statements {
    pub(super) async fn prepare(client: &Client, table: &LeaseTable) -> Result<Self, Error> {
        let renew_watched = RENEW_ALL.replace("FOR UPDATE OF l SKIP LOCKED", "FOR UPDATE OF l");
        let prepare = |sql: &str| {
            let sql = table.named(sql);
            async move { client.prepare(&sql).await }
        };
        let (examine, acquire, look, renew, renew_watched, renew_all, release, ask) = futures_util::try_join!(
            prepare(EXAMINE),
            prepare(ACQUIRE),
            prepare(LOOK),
            prepare(RENEW),
            prepare(&renew_watched),
            prepare(RENEW_ALL),
            prepare(RELEASE),
            prepare(ASK),
        )?;
        Ok(Self { examine, acquire, look, renew, renew_watched, renew_all, release, ask })
    }
}
