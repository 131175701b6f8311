//! The rows as a register that can be compared and swapped.
//!
//! The value of an election is made of two rows: its own, and that of the one past. A swap compares
//! both, and the number that the server has drawn after its start, in the one statement that
//! writes. What must hold for it is said in [`Cas`]:
//!
//! - A part of a version is drawn by the server, so a late statement finds another one.
//! - The other part is the message's, and the message reads back what was written. So a swap is
//!   done if the row has it, and the content that was sent: a trigger may have changed that. Another
//!   session may replace the row in between; then the swap is done if the server says that all rows
//!   of the message were replaced, and the version is a candidate's.
//! - A dump that is restored brings versions back, and makes the tables again. No statement can
//!   compare when they were made, so a grant reads it back too.
//! - A stamp is placed on a past that exists already, at a version that the server has drawn, so no
//!   stamping is carried out twice.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::FutureExt;
use mysql_async::Value;
use tenure_core::Mark;
use tenure_core::contract::Past;

use super::config::MysqlConfig;
use super::facts::{is_on, is_one_session, read_only};
use super::link::{Link, Live, altered};
use super::message::Told;
use super::sql::{AnotherPast, Guard, NewPast, Swap, Version, is_of, is_of_a_message, room};
use super::wakeup;
use crate::store::cas::{Cas, Change, Election, Swapped, Tenant, Versioned};
use crate::store::key::fnv;
use crate::store::slot::Patience;
use crate::store::steps::{Step, in_steps};
use crate::store::watches::Watches;
use crate::store::{Key, StoreError, StoreErrorKind, StoreTraits, Watched};

/// Most calls of ten thousand elections share messages: the next one has what was asked for while
/// this one was carried out.
const CALLS: u16 = 256;

/// The most elections in one step of a listing.
const LISTED: usize = 256;

#[derive(Clone, Debug)]
pub(super) struct Register {
    pub(super) link: Arc<Link>,
    pub(super) watches: Arc<Mutex<Watches<Key, Mark>>>,
}

/// The rows that were read, and the server that has them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) identity: u128,
    pub(super) guard: Guard,
    /// The version of the election's row, if there is one.
    pub(super) row: Option<Version>,
    pub(super) tenant: Option<Tenant>,
    pub(super) past: Option<Past>,
}

impl Register {
    pub(super) fn new(config: MysqlConfig) -> Self {
        Self { link: Arc::new(Link::new(config)), watches: Arc::default() }
    }

    /// The rows of an election, whose server has drawn its number and has a past.
    pub(super) async fn read(&self, live: &Live, key: &Key) -> Result<Found, StoreError> {
        // The server was started, or the past was deleted, since the last time.
        for begins in [false, true] {
            if begins {
                self.link.begin(live).await?;
            }
            let Some(told) = self.link.about(live, key, None).await? else { break };
            let found = Found::read(key, &told.row, live.facts.id);
            if let Some(found) = found.inspect_err(|error| self.link.refused(live, error))? {
                return Ok(found);
            }
        }
        let detail = "it has no row of its own, or none of the past, after both were inserted";
        Err(StoreError::new(StoreErrorKind::UnexpectedReply, detail))
    }

    /// The elections of the next few rows after that one.
    pub(super) async fn some_keys(
        &self,
        live: &Live,
        after: Vec<u8>,
    ) -> Result<Step<Vec<u8>, BTreeSet<Key>>, StoreError> {
        let rows = self.link.ask(live, self.link.config.tables.list(&after, LISTED)).await?.rows;
        let next = (rows.len() == LISTED).then(|| rows.last().and_then(|row| bytes(&row[0])));
        let is_used = |row: &&Vec<Value>| number(&row[1]) == Some(1);
        Ok(Step {
            made: rows.iter().filter(is_used).filter_map(|row| key(&row[0])).collect(),
            next: next.flatten(),
        })
    }
}

impl Cas for Register {
    type Version = Box<Found>;

    const SHARES_PAST: bool = true;

    fn traits(&self) -> StoreTraits {
        StoreTraits { least_calls: CALLS, ..StoreTraits::new("mysql") }
    }

    async fn get(&self, key: &Key) -> Result<Option<Versioned<Box<Found>>>, StoreError> {
        let live = self.link.live(Patience::Waits).await?;
        Ok(Some(self.read(&live, key).await?.versioned()))
    }

    async fn swap(
        &self,
        key: &Key,
        version: Option<&Box<Found>>,
        value: Bytes,
    ) -> Result<Swapped<Box<Found>>, StoreError> {
        // What was read always has one.
        let Some(found) = version else { return Ok(Swapped::Conflict) };
        let live = self.link.live(Patience::Waits).await?;
        let Election { tenant, past } = Election::read(key, &value)?;
        let new_past = past.filter(|past| Some(*past) != found.past);
        let new_past = new_past.map(|past| found.noted(past));
        let new_row = (tenant != found.tenant).then(|| row_of(tenant.as_ref()));
        if (&new_row, &new_past) == (&None, &None) {
            return Ok(Swapped::Done(found.clone()));
        }
        let token = |tenant: &Option<Tenant>| tenant.as_ref().map(|tenant| tenant.record.token);
        let is_grant = token(&tenant) != token(&found.tenant);
        let guard = found.guard.clone();
        let swap = Swap { guard, row: found.row, new_row, new_past, is_grant };
        let meant = Found { tenant, past, ..(**found).clone() };
        let Some(told) = self.link.about(&live, key, Some(swap.clone())).await? else {
            return Ok(Swapped::Conflict);
        };
        let now = Found::read(key, &told.row, live.facts.id);
        let now = now.inspect_err(|error| self.link.refused(&live, error))?;
        Ok(match meant.outcome(&swap, &told, now)? {
            Some(done) => Swapped::Done(Box::new(done)),
            None => Swapped::Conflict,
        })
    }

    fn identity(found: &Box<Found>) -> u128 {
        found.identity
    }

    fn past_watched(found: &Box<Found>) -> Option<Duration> {
        found.past.map(|past| past.watched)
    }

    async fn keys(&self) -> Result<BTreeSet<Key>, StoreError> {
        let register = self.clone();
        let step = move |after: Vec<u8>| {
            let register = register.clone();
            async move {
                let live = register.link.live(Patience::Fails).await?;
                register.some_keys(&live, after).await
            }
            .boxed()
        };
        in_steps(&self.link.runtime, step).await
    }

    fn watch(&self, watched: Watched) -> impl Stream<Item = Change<Box<Found>>> + Send + 'static {
        wakeup::changes(Arc::clone(&self.link), watched)
    }
}

/// The content of an election's row, and whether a waiting candidate may want to look.
fn row_of(tenant: Option<&Tenant>) -> (bool, Bytes) {
    let Some(tenant) = tenant else { return (false, Bytes::new()) };
    let hint = tenant.record.released || tenant.record.wanted.is_some();
    (hint, Election { tenant: Some(tenant.clone()), past: None }.write())
}

impl Found {
    /// The rows in an answer to [`read`](super::sql::MysqlTables::read). `None` if the server has
    /// not drawn its number, or has no row of a past.
    pub(super) fn read(key: &Key, row: &[Value], id: u64) -> Result<Option<Self>, StoreError> {
        let [
            now,
            autocommit,
            is_read_only,
            server,
            nonce,
            made,
            past_made,
            guard,
            watched,
            past,
            _,
            version,
            value,
        ] = row
        else {
            return Err(StoreError::new(StoreErrorKind::UnexpectedReply, "a row of other columns"));
        };
        is_one_session(id, number(now).unwrap_or_default())?;
        if number(autocommit) != Some(1) {
            let detail = "autocommit is off, although the session has turned it on";
            return Err(StoreError::new(StoreErrorKind::Pooler, detail));
        }
        if bytes(is_read_only).is_none_or(|it| is_on(&String::from_utf8_lossy(&it))) {
            return Err(read_only());
        }
        let (Some(made), Some(past_made)) = (bytes(made), bytes(past_made)) else {
            let detail = "it does not tell when the tables were made (information_schema.TABLES)";
            return Err(StoreError::new(StoreErrorKind::Withheld, detail));
        };
        let server = bytes(server).unwrap_or_default();
        let (Some(nonce), Some(guard)) = (bytes(nonce), self::version(guard)) else {
            return Ok(None);
        };
        let identity = fnv(&[&server[..], &nonce, &made, &past_made].join(&0));
        let watched = Duration::from_nanos(number(watched).unwrap_or_default());
        let past = election(key, past)?.past.map(|past| Past { watched, ..past });
        let (row, tenant) = (self::version(version), election(key, value)?.tenant);
        let guard = Guard { nonce, past: guard };
        Ok(Some(Self { identity, guard, row, tenant, past }))
    }

    /// The next past of a swap, which is another one than this.
    fn noted(&self, past: Past) -> NewPast {
        let is_watched_longer = self.past.is_some_and(|before| {
            before.watched < past.watched && Past { watched: past.watched, ..before } == past
        });
        if is_watched_longer {
            return NewPast::Watched(nanos(past.watched));
        }
        NewPast::Another(self.another(past))
    }

    /// The columns of that past, unlike the one that was read.
    pub(super) fn another(&self, past: Past) -> AnotherPast {
        let is_new_stamp = self.past.is_none_or(|before| before.stamp != past.stamp);
        let value = Election { tenant: None, past: Some(past) }.write();
        AnotherPast { value, watched: nanos(past.watched), is_new_stamp }
    }

    /// The outcome of a swap to this, by what is there afterwards: these rows with their versions,
    /// or nothing if it was not done.
    fn outcome(
        mut self,
        swap: &Swap,
        told: &Told,
        now: Option<Self>,
    ) -> Result<Option<Self>, StoreError> {
        // The past was deleted meanwhile.
        let Some(now) = now else { return Err(altered()) };
        let is_noted = now.past.map(|past| past.watched) >= self.past.map(|past| past.watched);
        let is_same_past = now.guard.past == swap.guard.past;
        if swap.replaced() == 0 {
            // A refusal that was decided by a shorter watch may be none by now.
            let stands = now.guard == swap.guard && now.row == swap.row;
            return match stands {
                true if !is_noted => Err(altered()),
                stands => Ok((stands && now.past == self.past).then_some(self)),
            };
        }
        let wrote_row = now.row.is_some_and(|row| is_of(told.mark, &row));
        let wrote_past = is_of(told.mark, &now.guard.past);
        match told.is_replaced {
            _ if wrote_row || wrote_past => {}
            Some(true) => {}
            Some(false) => return Ok(None),
            None => return Err(altered()),
        }
        if swap.is_grant && now.identity != self.identity {
            let detail = "the tables were made again since the election was read";
            return Err(StoreError::new(StoreErrorKind::Refused, detail));
        }
        // By another session, between the swap and the read of the same message.
        let is_since = |now: Option<Version>, before: Option<Version>| {
            now != before && now.is_some_and(|now| is_of_a_message(&now))
        };
        let (has_row, has_past) = (swap.new_row.is_some(), swap.is_apart());
        let is_row = match (has_row, wrote_row) {
            (false, _) => true,
            (true, true) => now.tenant == self.tenant,
            (true, false) => is_since(now.row, swap.row),
        };
        let unwatched =
            |past: Option<Past>| past.map(|past| Past { watched: Duration::ZERO, ..past });
        let is_past = match (has_past, wrote_past) {
            // Another past since then does not undo it.
            (false, _) => is_noted || !is_same_past,
            (true, true) => is_noted && unwatched(now.past) == unwatched(self.past),
            (true, false) => is_since(Some(now.guard.past), Some(swap.guard.past)),
        };
        if !(is_row && is_past) {
            return Err(altered());
        }
        if has_row {
            // What was written is gone: no row has that version.
            self.row = now.row.filter(|_| wrote_row).or(Some(room(told.mark)));
        }
        if has_past && wrote_past {
            self.guard.past = now.guard.past;
        }
        if now.guard.past == self.guard.past
            && let (Some(past), Some(now)) = (&mut self.past, now.past)
        {
            past.watched = past.watched.max(now.watched);
        }
        Ok(Some(self))
    }

    pub(super) fn versioned(self) -> Versioned<Box<Self>> {
        let Self { tenant, past, .. } = &self;
        let value = Election { tenant: tenant.clone(), past: *past }.write();
        Versioned { value, version: Box::new(self) }
    }
}

/// A part of an election in a column. An empty one has nothing in it.
fn election(key: &Key, column: &Value) -> Result<Election, StoreError> {
    match bytes(column).filter(|text| !text.is_empty()) {
        Some(text) => Election::read(key, &text),
        None => Ok(Election::default()),
    }
}

/// True if the election's own row holds none.
pub(super) fn is_damaged(key: &Key, row: &[Value]) -> bool {
    row.get(12).is_some_and(|value| election(key, value).is_err())
}

/// An election's name in a column. Other names are of rows that no candidate has written.
pub(super) fn key(column: &Value) -> Option<Key> {
    Key::new(str::from_utf8(&bytes(column)?).ok()?).ok()
}

/// A column's bytes. Answers in text have nothing else but nulls.
pub(super) fn bytes(column: &Value) -> Option<Vec<u8>> {
    match column {
        Value::Bytes(bytes) => Some(bytes.clone()),
        _ => None,
    }
}

/// A version in a column.
pub(super) fn version(column: &Value) -> Option<Version> {
    bytes(column)?.try_into().ok()
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

pub(super) fn number(column: &Value) -> Option<u64> {
    str::from_utf8(&bytes(column)?).ok()?.parse().ok()
}
