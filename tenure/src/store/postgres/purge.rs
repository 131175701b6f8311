//! The deletion of the rows of long-ended elections, some at a time, in the order of their keys.
//!
//! The server's clock chooses which rows to look at. A row is deleted if it still has the mark that
//! was looked at, and was released or watched by this process. Rows that another request has locked
//! are left out: the next purge deletes them.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tenure_core::{Mark, RequestId};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::link::Link;
use super::live::Live;
use super::reply::{bits, column, duration};
use super::statements::{KEYS, OLD, PURGE};
use super::value;
use crate::HolderId;
use crate::store::slot::Patience;
use crate::store::steps::{Step, in_steps};
use crate::store::{Key, StoreError, StoreErrorKind};

/// The most rows in one statement.
const ROWS: i64 = 200;

impl Link {
    pub(super) async fn purge(self: &Arc<Self>, age: Duration) -> Result<u64, StoreError> {
        let link = Arc::clone(self);
        let step = move |after| {
            let link = Arc::clone(&link);
            async move {
                let live = link.live(Patience::Fails).await?;
                let step = link.examining(&live, link.purge_some(&live, after, age)).await;
                step.inspect(|_| live.session.serves()).map_err(|error| {
                    let error = link.explained(error);
                    link.requests.failed(&live, &error);
                    error
                })
            }
            .boxed()
        };
        let deleted = in_steps(&self.runtime, step).await?;
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).ends();
        Ok(deleted)
    }

    pub(super) async fn keys(self: &Arc<Self>) -> Result<BTreeSet<Key>, StoreError> {
        let link = Arc::clone(self);
        let step = move |after| {
            let link = Arc::clone(&link);
            async move {
                let live = link.live(Patience::Fails).await?;
                let step = link.examining(&live, link.some_keys(&live, after)).await;
                step.inspect(|_| live.session.serves())
                    .inspect_err(|error| link.requests.failed(&live, error))
            }
            .boxed()
        };
        in_steps(&self.runtime, step).await
    }

    async fn some_keys(
        &self,
        live: &Arc<Live>,
        after: Vec<u8>,
    ) -> Result<Step<Vec<u8>, BTreeSet<Key>>, StoreError> {
        let page = [(&after as _, Type::BYTEA), (&ROWS as _, Type::INT8)];
        let page = self.ask_rarely(live, KEYS, &page).await?;
        let keys: Result<Vec<_>, _> = page.iter().map(key).collect();
        Ok(Step { made: keys?.into_iter().flatten().collect(), next: next(&page)? })
    }

    async fn purge_some(
        &self,
        live: &Arc<Live>,
        after: Vec<u8>,
        age: Duration,
    ) -> Result<Step<Vec<u8>, u64>, StoreError> {
        let age = value::demand(age);
        let page = [(&after as _, Type::BYTEA), (&age as _, Type::INT8), (&ROWS as _, Type::INT8)];
        let page = self.ask_rarely(live, OLD, &page).await?;
        let next = next(&page)?;
        let (mut keys, mut holders, mut numbers, mut watched) = (vec![], vec![], vec![], vec![]);
        for row in &page {
            let Some((key, mark, is_watched)) = self.old(row)? else { continue };
            keys.push(key.as_str().as_bytes().to_vec());
            holders.push(value::holder(mark.holder));
            numbers.push(value::number(mark.number)?);
            watched.push(is_watched);
        }
        let deleted = if keys.is_empty() {
            0
        } else {
            let parameters = [
                (&keys as _, Type::BYTEA_ARRAY),
                (&holders as _, Type::BYTEA_ARRAY),
                (&numbers as _, Type::INT8_ARRAY),
                (&watched as _, Type::BOOL_ARRAY),
            ];
            self.ask_rarely(live, PURGE, &parameters).await?.len()
        };
        Ok(Step { made: u64::try_from(deleted).unwrap_or_default(), next })
    }

    /// A row that is old enough and may be deleted as it is, and whether that is because it was
    /// watched.
    fn old(&self, row: &Row) -> Result<Option<(Key, Mark, bool)>, StoreError> {
        let number =
            column::<i64>(row, 2)?.and_then(|number| RequestId::new(u64::try_from(number).ok()?));
        let (Some(key), Some(number), Some(true)) = (key(row)?, number, column(row, 5)?) else {
            return Ok(None);
        };
        let holder = HolderId::from_bits(bits("holder", column(row, 1)?.unwrap_or_default())?);
        let (mark, demand) = (Mark { holder, number }, duration("ttl", column(row, 4)?)?);
        if column(row, 3)? == Some(true) {
            return Ok(Some((key, mark, false)));
        }
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.runtime.now();
        watches.sees(key.clone(), mark, demand, now);
        let is_watched = watches.watched(&key, now) == Some(&mark);
        Ok(is_watched.then_some((key, mark, true)))
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

/// The election of a row. A row that no candidate has written is left alone.
fn key(row: &Row) -> Result<Option<Key>, StoreError> {
    let key: &[u8] = column(row, 0)?.unwrap_or_default();
    Ok(str::from_utf8(key).ok().and_then(|key| Key::new(key).ok()))
}

/// The next step's beginning.
fn next(page: &[Row]) -> Result<Option<Vec<u8>>, StoreError> {
    let is_last = i64::try_from(page.len()).is_ok_and(|rows| rows < ROWS);
    match page.last() {
        Some(row) if !is_last => column(row, 0),
        _ => Ok(None),
    }
}
