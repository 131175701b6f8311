//! The deletion of the rows of long-ended elections, some at a time, in the order of their keys.
//!
//! One statement locks the rows that ended long ago, deletes them, and notes the highest of their tokens. Rows that
//! another request has locked are left out: the next purge deletes them. A row that has changed before it was locked
//! is judged anew. The clock is read before the lock, so a row may only seem younger than it is.
//!
//! The functions of an earlier edition grant a token that may be below a purged one if the clock was set back. Under them
//! nothing is purged.

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::types::ToSql;

use super::call::micros;
use super::error::{failed, is_fatal};
use super::link::Link;
use super::pending::Pending;
use super::table::KNOWS_PURGED;
use crate::store::purge::{Step, in_steps};
use crate::store::slot::Patience;
use crate::store::{StoreError, StoreErrorKind};

const PURGE: &str = include_str!("sql/purge.sql");

/// How many rows one statement looks at.
const ROWS: i64 = 200;

impl Link {
    pub(super) async fn purge(self: &Arc<Self>, age: Duration) -> Result<u64, StoreError> {
        let link = Arc::clone(self);
        let step = move |after| {
            let link = Arc::clone(&link);
            let step: futures_util::future::BoxFuture<'static, _> =
                Box::pin(async move { link.purge_some(after, age).await });
            step
        };
        in_steps(&self.runtime, step).await
    }

    async fn purge_some(
        self: &Arc<Self>,
        after: Vec<u8>,
        age: Duration,
    ) -> Result<Step<Vec<u8>>, StoreError> {
        let live = self.live(Patience::Fails).await?;
        let table = &self.config.table;
        let sql = table.named(PURGE);
        let (schema, acquire) = (table.schema_name(), table.name_of("_acquire"));
        let pending = Pending::on(&live, &self.runtime);
        let arguments: [&(dyn ToSql + Sync); 6] =
            [&after, &micros(age), &ROWS, &KNOWS_PURGED, &schema, &acquire];
        let row = live.session.client.query_one(&sql, &arguments).await;
        pending.answered(row.as_ref().is_err_and(is_fatal));
        let read = row.and_then(|row| {
            Ok((row.try_get::<_, i64>(0)?, row.try_get(1)?, row.try_get::<_, bool>(2)?))
        });
        let (deleted, next, knows_purged) = read.map_err(|error| {
            let error = self.explained(failed(&self.config, &error));
            self.requests.failed(&live, &error);
            error
        })?;
        live.session.serves();
        live.session.is_replicated()?;
        if !knows_purged {
            let detail = format!(
                "the functions of {} are of an earlier edition, which would grant tokens below purged ones: run the \
                 statements of LeaseTable::schema_sql again",
                table.object("")
            );
            return Err(StoreError::new(StoreErrorKind::UnsupportedVersion, detail));
        }
        Ok(Step { deleted: deleted.unsigned_abs(), next })
    }

    /// Adds what to do to a refusal.
    fn explained(&self, error: StoreError) -> StoreError {
        match error.kind() {
            StoreErrorKind::Permission => {
                let table = self.config.table.object("");
                let detail = format!("to purge, the user needs: GRANT DELETE ON {table}");
                StoreError::new(StoreErrorKind::Permission, detail).with_source(error)
            }
            _ => error,
        }
    }
}
