//! The file as plain SQL reads it, without the store.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row};
use tenure_core::contract::{Past, Record};
use tenure_core::{Asked, HolderId, Instant, NameId, RequestId, Reservation, Stamp, Token, Wish};

use crate::replay::KEYS;
use crate::replay::compare::Kept;

pub(crate) struct File {
    sql: Connection,
    /// The identities that were met; the contract's are their places in this list.
    identities: Vec<String>,
}

impl File {
    pub(crate) fn open(path: &Path) -> Self {
        let sql = Connection::open(path).unwrap();
        Self { sql, identities: Vec::new() }
    }

    /// The same elections in another file, as a backup makes it.
    pub(crate) fn copied(&mut self, to: &Path) {
        self.sql.execute("VACUUM INTO ?1", [to.to_str().unwrap()]).unwrap();
    }

    pub(crate) fn moved(&mut self, path: &Path) {
        self.sql = Connection::open(path).unwrap();
    }

    /// Loses rows without a trace.
    pub(crate) fn lose(&self, rows: &str) {
        self.sql.execute_batch(rows).unwrap();
    }

    pub(crate) fn kept(&mut self) -> Kept {
        let records = KEYS.into_iter().filter_map(|key| Some((key, self.record(key)?))).collect();
        let past = self.past();
        Kept { records, past, identity: past.map_or(0, |past| past.identity) }
    }

    fn past(&mut self) -> Option<Past> {
        let select = "SELECT identity, stamp, watched, longest, purged FROM past";
        let read = |row: &Row<'_>| {
            let past = Past {
                identity: 0,
                stamp: Stamp::from_bits(bits(row, 1).unwrap()),
                watched: micros(row, 2).unwrap(),
                longest: micros(row, 3).unwrap(),
                purged: Token::new(number(row, 4).unwrap()),
            };
            Ok((row.get(0)?, past))
        };
        let (text, past): (String, _) = self.sql.query_row(select, [], read).optional().unwrap()?;
        let known = self.identities.iter().position(|known| *known == text);
        let identity = known.unwrap_or_else(|| {
            self.identities.push(text);
            self.identities.len() - 1
        });
        Some(Past { identity: identity as u128, ..past })
    }

    fn record(&self, key: &str) -> Option<Record> {
        let select = "SELECT token, holder, number, released, reserved_for, reserve, ttl, quarantine, wanted, asked,
            defer, written FROM elections WHERE key = ?1";
        let name = |bits| NameId::from_bits(bits);
        let read = |row: &Row<'_>| {
            let wanted: Option<Vec<u8>> = row.get(8)?;
            Ok(Record {
                token: Token::new(number(row, 0).unwrap()).unwrap(),
                holder: HolderId::from_bits(bits(row, 1).unwrap()),
                number: RequestId::new(number(row, 2).unwrap()).unwrap(),
                released: row.get(3)?,
                reservation: bits(row, 4)
                    .map(|kept| Reservation { name: name(kept), reserve: micros(row, 5).unwrap() }),
                ttl: micros(row, 6).unwrap(),
                quarantine: micros(row, 7).unwrap(),
                wanted: wanted.map(|wanted| match &wanted[..] {
                    [] => Wish::Anybody,
                    _ => Wish::Name(name(bits(row, 8).unwrap())),
                }),
                asked: bits(row, 9)
                    .map(|asked| Asked { name: name(asked), defer: micros(row, 10).unwrap() }),
                written: Instant::ORIGIN + micros(row, 11).unwrap(),
            })
        };
        self.sql.query_row(select, [key], read).optional().unwrap()
    }
}

fn bits(row: &Row<'_>, column: usize) -> Option<u128> {
    let bytes: Option<[u8; 16]> = row.get(column).unwrap();
    bytes.map(u128::from_be_bytes)
}

fn number(row: &Row<'_>, column: usize) -> Option<u64> {
    let number: Option<i64> = row.get(column).unwrap();
    number.map(|number| u64::try_from(number).unwrap())
}

fn micros(row: &Row<'_>, column: usize) -> Option<Duration> {
    number(row, column).map(Duration::from_micros)
}
