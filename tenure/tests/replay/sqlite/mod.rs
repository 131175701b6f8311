//! Random requests to a SQLite file: the store answers and keeps what the contract says, as plain
//! SQL reads it.

mod draw;
mod file;
mod translate;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tenure::store::sqlite::{Sqlite, SqliteConfig};
use tenure::store::{Key, Reply, Request, Store, StoreErrorKind};
use tenure_core::contract::{Moment, Past};
use tenure_core::{Mark, Stamp, Transition};

use draw::Draw;
use file::File;
use translate::{contracts, for_store, whole};

use super::KEYS;
use super::lines::Lines;

/// The highest number that a column can keep.
const HIGHEST: u64 = i64::MAX.unsigned_abs();

struct Replay {
    folder: PathBuf,
    store: Sqlite,
    file: File,
    files: u32,
    draw: Draw,
    /// The marks that purges have seen: when at the earliest, and when at the latest.
    purging: BTreeMap<Key, (Mark, Instant, Instant)>,
    /// No two stampings may give the same.
    stamps: BTreeSet<Stamp>,
    lines: Vec<Transition>,
}

#[tokio::test]
async fn the_file_follows_the_contract() {
    let steps = super::steps(600);
    let mut replay = Replay::new(steps).await;
    for step in 0..steps {
        replay.step(step).await;
    }
    let Replay { folder, lines, .. } = replay;
    assert!(lines.len() as u64 > steps / 2, "{} steps were compared", lines.len());
    let mut to = Lines::new("sqlite");
    lines.iter().for_each(|line| to.write(line));
    fs::remove_dir_all(folder).unwrap();
}

fn config(path: &PathBuf, trusted: bool) -> SqliteConfig {
    SqliteConfig::new(path).trust_empty_store(trusted)
}

fn keys() -> Vec<Key> {
    KEYS.iter().map(|key| Key::new(key).unwrap()).collect()
}

impl Replay {
    async fn new(seed: u64) -> Self {
        let folder = std::env::temp_dir().join(format!("tenure-replay-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("0.db");
        let store = Sqlite::new(config(&path, true));
        store.call(&keys()[0], Request::Observe).await.unwrap();
        let (file, draw) = (File::open(&path), Draw::new(seed));
        let (purging, stamps) = (BTreeMap::new(), BTreeSet::new());
        Self { folder, store, file, files: 0, draw, purging, stamps, lines: vec![] }
    }

    /// True if the store trusts an empty file: each other file is opened so.
    fn is_trusted(&self) -> bool {
        self.files.is_multiple_of(2)
    }

    async fn step(&mut self, step: u64) {
        match self.draw.below(200) {
            0..2 => self.file.lose("DELETE FROM elections; DELETE FROM past"),
            2..4 => self.file.lose("DELETE FROM elections WHERE key = 'a'"),
            4 => self.file.lose("UPDATE past SET identity = 'boot:another'"),
            5..8 if step > 0 => self.restore(),
            8..18 => self.purge().await,
            _ => self.ask().await,
        }
    }

    /// Goes on with a copy of the file.
    fn restore(&mut self) {
        self.files += 1;
        let path = self.folder.join(format!("{}.db", self.files));
        self.file.copied(&path);
        self.store = Sqlite::new(config(&path, self.is_trusted()));
        self.file.moved(&path);
        self.purging.clear();
    }

    fn moment(&self, now: tenure_core::Instant, after: Option<Past>) -> Moment {
        let fresh = after.map_or(Stamp::from_bits(0), |past| past.stamp);
        let identity = after.map_or(0, |past| past.identity);
        Moment { now, identity, fresh, first: true, trust_empty_store: self.is_trusted() }
    }

    /// A past that begins anew has a stamp that none had before.
    fn is_fresh(&mut self, before: Option<Past>, after: Option<Past>) {
        let Some(after) = after else { return };
        let same = |past: Past| (past.stamp, past.identity) == (after.stamp, after.identity);
        if !before.is_some_and(|past| same(past) && past.watched <= after.watched) {
            assert!(self.stamps.insert(after.stamp), "{after:?} has an old stamp");
        }
    }

    /// One request, or a few of one kind together.
    async fn ask(&mut self) {
        let (mut all, past) = (vec![], self.file.past());
        for _ in 0..=self.draw.below(2) * self.draw.below(4) {
            let key = keys()[usize::try_from(self.draw.below(3)).unwrap()].clone();
            let record = self.file.record(&key);
            let request = self.draw.request(record, past);
            let is_alike = |kind: &tenure_core::Request| {
                std::mem::discriminant(kind) == std::mem::discriminant(&request)
            };
            let together = matches!(
                request,
                tenure_core::Request::Look { .. } | tenure_core::Request::Renew { .. }
            );
            if all.is_empty() || together && all.iter().all(|(_, kind)| is_alike(kind)) {
                all.push((key, request));
            }
        }
        let mut records: BTreeMap<_, _> =
            keys().into_iter().map(|key| (key.clone(), self.file.record(&key))).collect();
        let begin = wall();
        let asked = all.iter().map(|(key, request)| (key.clone(), for_store(*request))).collect();
        let replies = self.store.call_all(asked).await;
        let end = wall();
        let after = self.file.past();
        let mut expected = past;
        for ((key, request), reply) in all.into_iter().zip(replies) {
            let kept = self.file.record(&key);
            let shown = match &reply {
                Ok(Reply::Not(shown) | Reply::At(shown)) => Some(shown.sight.now),
                _ => None,
            };
            let written = kept.filter(|kept| records[&key] != Some(*kept)).map(|kept| kept.written);
            let now = shown.or(written).filter(|now| (begin..=end).contains(now)).unwrap_or(begin);
            let record = records.get_mut(&key).unwrap();
            let before = (*record, expected);
            let line =
                Transition::apply(record, &mut expected, self.moment(now, after), whole(request));
            if let Err(error) = reply {
                assert_eq!(error.kind(), StoreErrorKind::BadRecord, "{error}");
                let above = record
                    .is_some_and(|kept| kept.token.get() > HIGHEST || kept.number.get() > HIGHEST);
                assert!(above, "{error}: {line:?}");
                (*record, expected) = before;
                continue;
            }
            let reply = contracts(&reply.unwrap());
            assert_eq!(reply, line.reply, "{line:?}");
            self.lines.push(line);
        }
        self.is_fresh(past, after);
        assert_eq!(after, expected, "after {:?}", self.lines.last());
        for (key, record) in records {
            assert_eq!(self.file.record(&key), record, "after {:?}", self.lines.last());
        }
    }

    async fn purge(&mut self) {
        let before = self.file.past();
        let records: Vec<_> = keys().into_iter().map(|key| (self.file.record(&key), key)).collect();
        std::thread::sleep(Duration::from_millis(1));
        let begin = Instant::now();
        let deleted = self.store.purge(Duration::ZERO).await.unwrap();
        let (end, after) = (Instant::now(), self.file.past());
        let (mut expected, mut count) = (before, 0);
        for (record, key) in records {
            let Some(record) = record else {
                self.purging.remove(&key);
                continue;
            };
            let seen = self.purging.get(&key).filter(|(mark, ..)| *mark == record.mark());
            let (mark, earliest, latest) = *seen.unwrap_or(&(record.mark(), begin, end));
            self.purging.insert(key.clone(), (mark, earliest, latest));
            let demand = record.ttl.max(record.quarantine);
            let is_gone = self.file.record(&key).is_none();
            let watched = is_gone && !record.released;
            assert!(!watched || end - earliest >= demand, "{key}: deleted too soon");
            let must = record.released || begin.saturating_duration_since(latest) >= demand;
            assert!(is_gone || !must, "{key}: kept for too long");
            if !is_gone {
                continue;
            }
            count += 1;
            let purge = tenure_core::Request::Purge { mark, watched };
            let at = self.moment(wall(), after);
            self.lines.push(Transition::apply(&mut Some(record), &mut expected, at, purge));
        }
        self.is_fresh(before, after);
        assert_eq!((deleted, after), (count, expected), "after {:?}", self.lines.last());
    }
}

fn wall() -> tenure_core::Instant {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    tenure_core::Instant::ORIGIN + Duration::from_micros(u64::try_from(wall.as_micros()).unwrap())
}
