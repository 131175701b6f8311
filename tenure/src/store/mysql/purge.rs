//! The deletion of the rows of long-ended elections, some at a time, in the order of their keys.
//!
//! A row is deleted if it is still the one that was read, and its lease was given back or watched by
//! this process. Rows that were read before others changed the past are left to the next purge.

use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::time::Duration;

use futures_util::FutureExt;
use mysql_async::Value;
use tenure_core::contract::{self, Moment};
use tenure_core::{Reply, Request};

use super::link::{Live, mark};
use super::register::{Found, Register, key};
use super::sql::{Deletion, Shows};
use crate::store::cas::{fresh, now};
use crate::store::slot::Patience;
use crate::store::steps::{Step, in_steps};
use crate::store::{Key, StoreError, StoreErrorKind};

impl Register {
    pub(super) async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        let register = self.clone();
        let step = move |after: Vec<u8>| {
            let register = register.clone();
            async move {
                let live = register.link.live(Patience::Fails).await?;
                let Step { made, next } = register.some_keys(&live, after).await?;
                let made = register.delete_old(&live, &made, age).await?;
                Ok(Step { made, next })
            }
            .boxed()
        };
        let deleted = in_steps(&self.link.runtime, step).await?;
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).ends();
        Ok(deleted)
    }

    /// Deletes the old ones of these elections.
    async fn delete_old(
        &self,
        live: &Live,
        keys: &BTreeSet<Key>,
        age: Duration,
    ) -> Result<u64, StoreError> {
        if keys.is_empty() {
            return Ok(0);
        }
        let (tables, server) = (&self.link.config.tables, &live.facts.server);
        let read = tables.read(server, &Vec::from_iter(keys), Shows::All);
        let rows = self.link.ask(live, read).await?.rows;
        let due = self.due(live, &rows, age).inspect_err(|it| self.link.refused(live, it))?;
        let Some(due) = due else { return Ok(0) };
        let statements = tables.delete((server, live.facts.id), mark()?, &due).join("; ");
        let answer = self.link.ask(live, statements).await;
        let changed = answer.map_err(|error| self.explained(error))?.changed;
        Ok(changed.last().copied().unwrap_or_default())
    }

    /// What is old enough in an answer to a read, and may be deleted as it is.
    fn due(
        &self,
        live: &Live,
        rows: &[Vec<Value>],
        age: Duration,
    ) -> Result<Option<Deletion>, StoreError> {
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        let read_at = self.link.runtime.now();
        let mut due: Option<(Found, Deletion)> = None;
        let mut past = None;
        for row in rows {
            let Some(key) = row.get(10).and_then(key) else { continue };
            let found = match Found::read(&key, row, live.facts.id) {
                // A damaged record is kept.
                Err(error) if error.kind() == StoreErrorKind::BadRecord => continue,
                found => found?,
            };
            // The server has lost its number, or the past was deleted: a candidate begins both.
            let Some(found) = found else { return Ok(None) };
            let (Some(tenant), Some(version)) = (&found.tenant, found.row) else { continue };
            let record = tenant.record;
            if now().since(record.written) <= age {
                continue;
            }
            let mark = record.mark();
            watches.sees(key.clone(), mark, record.ttl.max(record.quarantine), read_at);
            let watched = watches.watched(&key, read_at) == Some(&mark);
            // All rows are of one snapshot, so they have the same past.
            let mut next = past.or(found.past);
            let at = Moment {
                now: now(),
                identity: found.identity,
                fresh: fresh()?,
                first: true,
                trust_empty_store: false,
            };
            let request = Request::Purge { mark, watched };
            if contract::apply(&mut Some(record), &mut next, at, request) == Reply::Purged {
                past = next;
                let guard = found.guard.clone();
                let none = || (found, Deletion { guard, new_past: None, rows: Vec::new() });
                due.get_or_insert_with(none).1.rows.push((key, version));
            }
        }
        Ok(due.map(|(found, deletion)| {
            let new_past = past.filter(|past| Some(*past) != found.past);
            let new_past = new_past.map(|past| found.another(past));
            Deletion { new_past, ..deletion }
        }))
    }

    /// Adds what to do to a refusal.
    fn explained(&self, error: StoreError) -> StoreError {
        if error.kind() != StoreErrorKind::Permission {
            return error;
        }
        let [leases, ..] = self.link.config.tables.all();
        let detail = format!("to purge, the user needs: GRANT DELETE ON `{leases}`");
        StoreError::new(StoreErrorKind::Permission, detail).with_source(error)
    }
}
