//! Wake-ups: one poll of the rows of all elections in which candidates of this process wait.
//!
//! The server does not tell what has changed. A row that is worth a look has a mark: its lease was
//! released, or a leader is wished for. So a poll reads nothing while nothing of that kind happens.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_core::Stream;

use super::link::{Link, Live};
use super::register::{Found, bytes};
use super::sql::{Shows, Version};
use crate::logging;
use crate::store::cas::Change;
use crate::store::slot::Patience;
use crate::store::{Key, StoreError, StoreErrorKind, Watched};

const POLL_EVERY: Duration = Duration::from_millis(250);
/// The pause after a poll is so many times as long as the poll, if that is longer.
const POLL_PART: u32 = 4;
/// So many elections are asked for by one statement.
const ASKED: usize = 256;
/// A poll without an answer is given up.
const POLL_WITHIN: Duration = Duration::from_secs(5);

/// The elections that are hinted over one connection, with the version that was shown last of each
/// that was worth a look.
#[derive(Default)]
struct Shown {
    over: Weak<Live>,
    rows: BTreeMap<Key, Option<Version>>,
}

pub(super) fn changes(
    link: Arc<Link>,
    mut watched: Watched,
) -> impl Stream<Item = Change<Box<Found>>> + Send + 'static {
    async_stream::stream! {
        let mut shown = Shown::default();
        let mut due = link.runtime.now();
        loop {
            let keys = watched.keys();
            tokio::select! {
                biased;
                changes = watched.changed() => {
                    let Some(changes) = changes else { return };
                    for key in changes.removed {
                        shown.rows.remove(&key);
                    }
                }
                () = link.runtime.sleep_until(due), if !keys.is_empty() => {
                    let began = link.runtime.now();
                    let polled = tokio::select! {
                        biased;
                        polled = poll(&link, &keys, &mut shown) => polled,
                        () = link.runtime.sleep_until(began + POLL_WITHIN) => Ok(Vec::new()),
                    };
                    let took = link.runtime.now().since(began);
                    due = link.runtime.now() + (took * POLL_PART).max(POLL_EVERY);
                    match polled {
                        Ok(changes) => for change in changes {
                            yield change;
                        },
                        // Requests meet it too, and say it.
                        Err(error) => logging::debug!(%error, "the rows of waiting candidates were not read"),
                    }
                }
            }
        }
    }
}

/// The elections whose row is worth a look and was not shown, and those that were not asked for
/// over this connection before.
async fn poll(
    link: &Arc<Link>,
    keys: &[Key],
    shown: &mut Shown,
) -> Result<Vec<Change<Box<Found>>>, StoreError> {
    let live = link.live(Patience::Waits).await?;
    if !std::ptr::eq(shown.over.as_ptr(), Arc::as_ptr(&live)) {
        *shown = Shown { over: Arc::downgrade(&live), rows: BTreeMap::new() };
    }
    let mut changes = Vec::new();
    for some in keys.chunks(ASKED) {
        let asked: Vec<_> = some.iter().collect();
        let sql = link.config.tables.read(&live.facts.server, &asked, Shows::Hints);
        let mut hinted = BTreeMap::new();
        for row in link.ask(&live, sql).await?.rows {
            let name = row.get(10).and_then(bytes).unwrap_or_default();
            let Some(key) = some.iter().find(|key| key.as_str().as_bytes() == name) else {
                continue;
            };
            let found = match Found::read(key, &row, live.facts.id) {
                // It costs its own election alone, whose requests say so.
                Err(error) if error.kind() == StoreErrorKind::BadRecord => continue,
                found => found?,
            };
            if let Some(found) = found
                && let Some(version) = found.row
            {
                hinted.insert(key, (version, found));
            }
        }
        for key in some {
            let (version, found) = hinted.remove(key).unzip();
            let before = shown.rows.insert(key.clone(), version);
            let found = match before {
                None => None,
                Some(before) if version.is_none() || before == version => continue,
                Some(_) => found.map(Found::versioned),
            };
            changes.push(Change { key: key.clone(), found });
        }
    }
    Ok(changes)
}
