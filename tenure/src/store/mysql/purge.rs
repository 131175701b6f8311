//! The deletion of the rows of long-ended elections, some at a time, in the order of their keys.
//!
//! First all rows are read, then the past learns the highest token that goes, and then the rows are
//! deleted. So the past changes once in a purge: each change of it costs every candidate a swap
//! that was under way. What was decided by the past before is not swapped in any more, so no new
//! lease has a token below one that is deleted.
//!
//! A row is deleted if it is still the one that was read, and its lease was given back or watched
//! by this process. The others are left to the next purge, and so are rows that others have locked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;
use std::time::Duration;

use futures_util::FutureExt;
use mysql_async::Value;
use tenure_core::contract::{self, Moment, Past};
use tenure_core::{Mark, Reply, Request, Token};

use super::link::{Live, altered, mark};
use super::register::{Found, Register, bytes, is_damaged, key, number};
use super::sql::{Shows, Version};
use crate::store::cas::{fresh, now};
use crate::store::slot::Patience;
use crate::store::steps::{Step, in_steps};
use crate::store::{Key, StoreError, StoreErrorKind};

/// The next step of a purge.
#[derive(Default)]
struct Place {
    after: Vec<u8>,
    /// The election with the highest token among those to delete.
    last: Option<Due>,
    /// True once the past knows that token.
    deletes: bool,
}

/// A row that is old enough, and may be deleted as it is.
struct Due {
    key: Key,
    token: Token,
    mark: Mark,
    watched: bool,
}

impl Register {
    pub(super) async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        let register = self.clone();
        let step = move |place: Place| {
            let register = register.clone();
            async move {
                let live = register.link.live(Patience::Fails).await?;
                register.step(&live, place, age).await
            }
            .boxed()
        };
        let deleted = in_steps(&self.link.runtime, step).await?;
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).ends();
        Ok(deleted)
    }

    async fn step(
        &self,
        live: &Live,
        place: Place,
        age: Duration,
    ) -> Result<Step<Place, u64>, StoreError> {
        let Place { after, last, deletes } = place;
        let Step { made: keys, next } = self.some_keys(live, after).await?;
        let rows = self.due(live, &keys, age).await?;
        let (made, last) = if deletes {
            (self.delete(live, rows).await?, last)
        } else {
            let dues = rows.into_iter().map(|(due, _)| due).chain(last);
            (0, dues.max_by_key(|due| due.token))
        };
        let next = match (next, &last) {
            (Some(after), _) => Some(Place { after, last, deletes }),
            (None, Some(due)) if !deletes && self.tell_past(live, due).await? => {
                Some(Place { deletes: true, ..Place::default() })
            }
            (None, _) => None,
        };
        Ok(Step { made, next })
    }

    /// The old ones among these elections, with what was read.
    async fn due(
        &self,
        live: &Live,
        keys: &BTreeSet<Key>,
        age: Duration,
    ) -> Result<Vec<(Due, Found)>, StoreError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let (tables, server) = (&self.link.config.tables, &live.facts.server);
        let read = tables.read(server, &Vec::from_iter(keys), Shows::All);
        let rows = self.link.ask(live, read).await?.rows;
        let due = rows.iter().filter_map(|row| self.due_of(live, row, age).transpose());
        due.collect::<Result<_, _>>().inspect_err(|error| self.link.refused(live, error))
    }

    fn due_of(
        &self,
        live: &Live,
        row: &[Value],
        age: Duration,
    ) -> Result<Option<(Due, Found)>, StoreError> {
        let read_at = self.link.runtime.now();
        // A damaged row is kept.
        let Some(key) = row.get(10).and_then(key).filter(|key| !is_damaged(key, row)) else {
            return Ok(None);
        };
        // Without a number or a past, candidates begin them first.
        let Some(found) = Found::read(&key, row, live.facts.id)? else { return Ok(None) };
        let Some(record) = found.tenant.as_ref().map(|tenant| tenant.record) else {
            return Ok(None);
        };
        if now().since(record.written) <= age {
            return Ok(None);
        }
        let (token, mark) = (record.token, record.mark());
        let mut seen = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        seen.sees(key.clone(), mark, record.ttl.max(record.quarantine), read_at);
        let watched = seen.watched(&key, read_at) == Some(&mark);
        let due = Due { key, token, mark, watched };
        Ok((record.released || watched).then_some((due, found)))
    }

    /// Notes the highest token that is deleted in the past, as the contract does with the record
    /// that has it. False if either has changed.
    async fn tell_past(&self, live: &Live, due: &Due) -> Result<bool, StoreError> {
        let found = self.read(live, &due.key).await?;
        let Some(past) = found.purged(due)? else { return Ok(false) };
        if Some(past) == found.past {
            return Ok(true);
        }
        let (tables, place) = (&self.link.config.tables, (&*live.facts.server, live.facts.id));
        let (mark, past) = (mark()?, found.another(past));
        let sql = tables.replace_past(place, &found.guard, mark, &past);
        let answer = self.link.ask(live, sql).await?;
        let shown = |at: usize| bytes(answer.rows.first()?.get(at)?);
        let is_replaced = answer.changed.first() == Some(&1);
        let is_as_sent = shown(1).is_some_and(|value| value == past.value)
            && shown(0).is_some_and(|version| version.starts_with(&mark));
        if is_replaced && !is_as_sent { Err(altered()) } else { Ok(is_replaced) }
    }

    /// Deletes those of which the past knows that they are gone.
    async fn delete(&self, live: &Live, rows: Vec<(Due, Found)>) -> Result<u64, StoreError> {
        let Some(guard) = rows.first().map(|(_, found)| found.guard.clone()) else { return Ok(0) };
        let mut known = BTreeMap::<Key, Version>::new();
        for (due, found) in rows {
            if let Some(version) = found.row
                && found.purged(&due)? == found.past
            {
                known.insert(due.key, version);
            }
        }
        if known.is_empty() {
            return Ok(0);
        }
        let place = (&*live.facts.server, live.facts.id);
        let sql = self.link.config.tables.delete(place, &guard, &known);
        match self.link.ask(live, sql).await {
            Ok(answer) => Ok(answer.rows.first().and_then(|row| number(&row[0])).unwrap_or(0)),
            Err(error) if error.kind() == StoreErrorKind::Locked => Ok(0),
            Err(error) => Err(self.explained(error)),
        }
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

impl Found {
    /// The past once that record is deleted, as the contract has it; `None` if it is kept.
    fn purged(&self, due: &Due) -> Result<Option<Past>, StoreError> {
        let mut record = self.tenant.as_ref().map(|tenant| tenant.record);
        let mut past = self.past;
        let (identity, fresh) = (self.identity, fresh()?);
        let at = Moment { now: now(), identity, fresh, first: true, trust_empty_store: false };
        let request = Request::Purge { mark: due.mark, watched: due.watched };
        let reply = contract::apply(&mut record, &mut past, at, request);
        Ok(past.filter(|_| reply == Reply::Purged))
    }
}
