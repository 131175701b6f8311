//! The messages to the server, one after the other: each carries all that has waited for its turn.
//!
//! The client library carries out one message at a time, and loses its place if it is dropped half
//! way. So a task owns the connection: a caller that gives up leaves its swap there, whose outcome
//! is unknown and stays so. A message has the swaps of many elections, and one read of all that
//! were asked about, so that ten thousand elections take dozens of round trips.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Row, Value};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::error::failed;
use super::facts::Facts;
use super::link::mark;
use super::register::{bytes, version};
use super::sql::{Guard, Mark, MysqlTables, Shows, Swap, Version, is_of};
use crate::runtime::Runtime;
use crate::store::{Key, StoreError, StoreErrorKind};

/// The most elections in a message, and the most bytes of their values: a fraction of the smallest
/// packet that servers are configured for.
const MOST: usize = 1_000;
const BYTES_MOST: usize = 256 << 10;

/// Callers that ask again as soon as they are answered share the next message, if it leaves that
/// part of the last one's time later, and no later than that.
const LINGER_PART: u32 = 8;
const LINGER_MOST: Duration = Duration::from_millis(20);

pub(super) type Answered<T> = oneshot::Sender<Result<T, Failed>>;

/// A caller's question.
pub(super) enum Ask {
    /// The rows of an election, after a swap if there is one; nothing if the swap was not sent,
    /// since there is another past by now.
    About(About),
    /// The answers to statements, which share a message with nothing else.
    Sql { sql: String, answer: Answered<Answer> },
}

/// The rows of one election.
#[derive(Debug)]
pub(super) struct Told {
    /// The columns of [`MysqlTables::read`].
    pub(super) row: Vec<Value>,
    /// The mark of the message with the swap.
    pub(super) mark: Mark,
    /// True if all rows were replaced, and those that are found without the mark once more by another
    /// session; false if these were not; `None` if some were.
    pub(super) is_replaced: Option<bool>,
}

/// The answers to the statements of a message.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The number of rows that each has changed or added.
    pub(super) changed: Vec<u64>,
    /// The rows of the last one.
    pub(super) rows: Vec<Vec<Value>>,
}

/// An error of a message.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    pub(super) error: StoreError,
    /// True if the connection is of no more use.
    pub(super) is_fatal: bool,
    /// True if no row was replaced, as is known.
    is_undone: bool,
}

impl Failed {
    /// One that leaves the connection as it is.
    fn answer(error: StoreError) -> Self {
        Self { error, is_fatal: false, is_undone: false }
    }
}

/// An election that a message is about.
pub(super) struct About {
    pub(super) key: Key,
    pub(super) swap: Option<Swap>,
    pub(super) answer: Answered<Option<Told>>,
}

/// The messages of one connection.
pub(super) struct Messages {
    pub(super) conn: Conn,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) tables: MysqlTables,
    pub(super) facts: Arc<Facts>,
    pub(super) asked: mpsc::UnboundedReceiver<Ask>,
    /// The version of the past that was shown last.
    pub(super) past: Option<Version>,
    /// The elections whose last swap was refused, such as for a row that others have locked.
    pub(super) refused: BTreeSet<Key>,
}

impl Messages {
    /// Sends messages until the connection ends or is condemned.
    pub(super) async fn send_all(mut self, dead: CancellationToken) {
        let _ends = dead.clone().drop_guard();
        let sends = async {
            let mut kept = None;
            loop {
                let next = match kept.take() {
                    Some(ask) => Some(ask),
                    None => self.asked.recv().await,
                };
                let is_over = match next {
                    None => true,
                    Some(Ask::Sql { sql, answer }) => {
                        let told = carry_out(&mut self.conn, &sql).await;
                        let told = told.map_err(|(failed, _)| failed);
                        let is_over = told.as_ref().is_err_and(|failed| failed.is_fatal);
                        let _ = answer.send(told);
                        is_over
                    }
                    Some(Ask::About(about)) => {
                        let (abouts, over) = self.gather(about);
                        kept = over;
                        let began = self.runtime.now();
                        let is_over = self.tell(abouts).await;
                        let now = self.runtime.now();
                        let linger = (now.since(began) / LINGER_PART).min(LINGER_MOST);
                        if linger >= Duration::from_millis(1) {
                            self.runtime.sleep_until(now + linger).await;
                        }
                        is_over
                    }
                };
                if is_over {
                    return;
                }
            }
        };
        tokio::select! {
            biased;
            () = dead.cancelled() => {}
            () = sends => {}
        }
    }

    /// The asks that wait for their turn as well and fit in the same message, and the first that does
    /// not.
    fn gather(&mut self, first: About) -> (Vec<About>, Option<Ask>) {
        let (mut abouts, mut size) = (Vec::new(), 0);
        // All of them have the same guard.
        let (mut swapped, mut guard) = (BTreeSet::<Key>::new(), None::<Guard>);
        let mut next = Some(Ask::About(first));
        while let Some(ask) = next {
            let Ask::About(about) = ask else { return (abouts, Some(ask)) };
            if let Some(about) = self.still_wanted(about) {
                size += about.size();
                let mut is_apart = false;
                if let Some(swap) = &about.swap {
                    is_apart = swap.is_apart() || self.refused.contains(&about.key);
                    let fits = guard.as_ref().is_none_or(|it| *it == swap.guard && !is_apart);
                    if !fits || !swapped.insert(about.key.clone()) {
                        return (abouts, Some(Ask::About(about)));
                    }
                    guard.get_or_insert_with(|| swap.guard.clone());
                }
                abouts.push(about);
                if is_apart || size > BYTES_MOST || abouts.len() >= MOST {
                    return (abouts, None);
                }
            }
            next = self.asked.try_recv().ok();
        }
        (abouts, None)
    }

    /// The same, unless its caller has given up before its turn, or there is another past by now:
    /// of many elections that begin one at once, one does.
    fn still_wanted(&self, about: About) -> Option<About> {
        let stale = |swap: &Swap| self.past.is_some_and(|past| past != swap.guard.past);
        if about.swap.as_ref().is_some_and(stale) {
            let _ = about.answer.send(Ok(None));
            return None;
        }
        (!about.answer.is_closed()).then_some(about)
    }

    /// Sends a message and tells its answers. True if the connection is of no more use.
    ///
    /// A server that refuses one of several swaps, such as for a row that is locked, refuses the whole
    /// message. What was read is asked for again in one message, and each swap is sent again in one
    /// of its own, with the same mark, so that one that was done in spite of it is known again.
    async fn tell(&mut self, mut abouts: Vec<About>) -> bool {
        if abouts.is_empty() {
            return false;
        }
        let mark = match mark() {
            Ok(mark) => mark,
            Err(error) => return refuse(abouts, &Failed::answer(error)),
        };
        let Err(failed) = self.ask(mark, &mut abouts, None).await else { return false };
        let (swaps, mut reads): (Vec<_>, Vec<_>) =
            abouts.into_iter().partition(|about| about.swap.is_some());
        if failed.is_fatal || swaps.is_empty() {
            return refuse(swaps.into_iter().chain(reads), &failed);
        }
        if !reads.is_empty()
            && let Err(failed) = self.ask(mark, &mut reads, None).await
            && refuse(reads, &failed)
        {
            return refuse(swaps, &failed);
        }
        if let [only] = &swaps[..] {
            self.notes_refusal(&only.key);
            return refuse(swaps, &failed);
        }
        let before = (!failed.is_undone).then_some(&failed);
        let mut swaps = swaps.into_iter();
        while let Some(swap) = swaps.next() {
            if swap.answer.is_closed() {
                continue;
            }
            let (key, mut one) = (swap.key.clone(), vec![swap]);
            if let Err(failed) = self.ask(mark, &mut one, before).await {
                self.notes_refusal(&key);
                if refuse(one, &failed) {
                    return refuse(swaps, &failed);
                }
            }
        }
        false
    }

    /// The next swap of that election does not cost others their message.
    fn notes_refusal(&mut self, key: &Key) {
        if self.refused.len() >= MOST {
            self.refused.clear();
        }
        self.refused.insert(key.clone());
    }

    /// Sends a message, and empties `abouts` by telling its answers. Of a swap that was sent before
    /// and had that outcome, only that it was done is told.
    async fn ask(
        &mut self,
        mark: Mark,
        abouts: &mut Vec<About>,
        before: Option<&Failed>,
    ) -> Result<(), Failed> {
        let facts = &self.facts;
        let swaps: BTreeMap<Key, &Swap> = abouts
            .iter()
            .filter_map(|about| Some((about.key.clone(), about.swap.as_ref()?)))
            .collect();
        let mut statements = match swaps.values().next() {
            Some(swap) => self.tables.swap((&facts.server, facts.id), &swap.guard, mark, &swaps),
            None => Vec::new(),
        };
        let sent = statements.len();
        let keys: BTreeSet<&Key> = abouts.iter().map(|about| &about.key).collect();
        let is_read = abouts.iter().any(|about| about.swap.as_ref().is_none_or(|it| it.is_grant));
        let shows = if is_read { Shows::All } else { Shows::Written };
        statements.push(self.tables.read(&facts.server, &Vec::from_iter(keys), shows));
        let told = carry_out(&mut self.conn, &statements.join("; ")).await;
        let Answer { changed, rows } = told.map_err(|(failed, done)| {
            // A statement that waits for a lock in vain, or is the victim of a deadlock, changes nothing.
            let is_undone = done < sent && failed.error.kind() == StoreErrorKind::Locked;
            Failed { is_undone, ..failed }
        })?;
        let Some(first) = rows.first().cloned() else {
            let error = StoreError::new(StoreErrorKind::UnexpectedReply, "an answer without rows");
            return Err(Failed { is_fatal: true, ..Failed::answer(error) });
        };
        let is_marked = |row: &Vec<Value>, at: usize| {
            row.get(at).and_then(version).is_some_and(|it| is_of(mark, &it))
        };
        let found = rows.iter().filter(|row| is_marked(row, 11)).count()
            + usize::from(is_marked(&first, 7));
        let replaced =
            sent.checked_sub(1).and_then(|last| changed.get(last)).copied().unwrap_or_default();
        self.past = first.get(7).and_then(version);
        let named = rows.into_iter().filter_map(|row| Some((bytes(row.get(10)?)?, row)));
        let named: BTreeMap<_, _> = named.collect();
        let all: usize = swaps.values().map(|swap| swap.replaced()).sum();
        let is_replaced = match usize::try_from(replaced) {
            Ok(replaced) if replaced == found => Some(false),
            Ok(replaced) if replaced == all => Some(true),
            _ => None,
        };
        for About { key, swap, answer } in abouts.drain(..) {
            if swap.is_some() {
                self.refused.remove(&key);
            }
            let row =
                named.get(key.as_str().as_bytes()).cloned().unwrap_or_else(|| without(&first));
            let is_done = is_marked(&row, 11) || is_marked(&row, 7);
            let told = match before {
                Some(failed) if swap.is_some() && !is_done => Err(failed.clone()),
                _ => Ok(Some(Told { row, mark, is_replaced })),
            };
            let _ = answer.send(told);
        }
        Ok(())
    }
}

impl About {
    fn size(&self) -> usize {
        let row = self.swap.as_ref().and_then(|swap| swap.new_row.as_ref());
        row.map_or(0, |(_, value)| value.len()) + self.key.as_str().len()
    }
}

/// The answer for an election that has no row.
fn without(row: &[Value]) -> Vec<Value> {
    row.iter().take(10).cloned().chain([Value::NULL, Value::NULL, Value::NULL]).collect()
}

/// Tells all of them the error. True if the connection is of no more use.
fn refuse(abouts: impl IntoIterator<Item = About>, failed: &Failed) -> bool {
    for about in abouts {
        let _ = about.answer.send(Err(failed.clone()));
    }
    failed.is_fatal
}

/// Carries out the statements of one message, the last of which has rows.
///
/// # Errors
/// With the number of statements that were carried out.
pub(super) async fn carry_out(conn: &mut Conn, sql: &str) -> Result<Answer, (Failed, usize)> {
    let mut answer = Answer::default();
    match collect(conn, sql, &mut answer).await {
        Ok(()) => Ok(answer),
        Err(error) => {
            let is_fatal = error.is_fatal() || !matches!(error, Error::Server(_));
            let failed = Failed { is_fatal, ..Failed::answer(failed(&error)) };
            Err((failed, answer.changed.len()))
        }
    }
}

async fn collect(conn: &mut Conn, sql: &str, answer: &mut Answer) -> Result<(), Error> {
    let mut result = conn.query_iter(sql).await?;
    loop {
        // Collecting rows goes on to the next statement.
        answer.changed.push(result.affected_rows());
        let rows: Vec<Row> = result.collect().await?;
        if result.is_empty() {
            // The error of a statement after the first looks like the end until then.
            result.drop_result().await?;
            answer.rows = rows.into_iter().map(Row::unwrap).collect();
            return Ok(());
        }
    }
}
