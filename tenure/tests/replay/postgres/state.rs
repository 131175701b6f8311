//! The state of the server, read by plain SQL.

use std::time::Duration;

use tenure::store::Profile;
use tenure::{HolderId, Token};
use tenure_core::contract::{Past, Record};
use tenure_core::{Asked, Instant, NameId, RequestId, Reservation, Stamp, Wish};
use tenure_servers::SqlSession;

use crate::replay::KEYS;
use crate::replay::compare::Kept;

const RECORDS: &str = "SELECT convert_from(key, 'UTF8'), token, encode(holder, 'hex'), number, released,
    coalesce(encode(reserved_for, 'hex'), '-'), reserve, ttl, quarantine, coalesce(encode(wanted, 'hex'), '-'),
    coalesce(encode(asked, 'hex'), '-'), defer, written FROM tenure.leases";
const PAST: &str = "SELECT coalesce(identity, ''), encode(stamp, 'hex'), watched, longest, purged
    FROM tenure.leases_past WHERE stamp IS NOT NULL";
const IDENTITY: &str = "SELECT concat(tenure.leases_identity(), '/', tenure.leases_place())";

pub(crate) fn read(session: &mut SqlSession) -> Kept {
    let mut rows = |sql: &str| {
        let rows = session.sql(&sql.replace('\n', " ")).expect("read");
        rows.lines().map(|row| row.split('|').map(str::to_owned).collect()).collect()
    };
    let records: Vec<Vec<String>> = rows(RECORDS);
    let pasts: Vec<Vec<String>> = rows(PAST);
    let identities: Vec<Vec<String>> = rows(IDENTITY);
    let key = |row: &[String]| KEYS.into_iter().find(|key| *key == row[0]).expect("a known key");
    let records = records.iter().map(|row| (key(row), record(row))).collect();
    let past = pasts.first().map(|row| Past {
        identity: digest(&row[0]),
        stamp: Stamp::from_bits(bits(&row[1])),
        watched: micros(&row[2]),
        longest: micros(&row[3]),
        purged: Token::new(number(&row[4])),
    });
    Kept { records, past, identity: digest(&identities[0][0]) }
}

fn record(row: &[String]) -> Record {
    let given = |text: &str| (text != "-").then(|| text.to_owned());
    let named = |text: &str| NameId::from_bits(bits(text));
    Record {
        token: Token::new(number(&row[1])).expect("a token"),
        holder: HolderId::from_bits(bits(&row[2])),
        number: RequestId::new(number(&row[3])).expect("a number"),
        released: row[4] == "t",
        reservation: given(&row[5])
            .map(|name| Reservation { name: named(&name), reserve: micros(&row[6]) }),
        ttl: micros(&row[7]),
        quarantine: micros(&row[8]),
        wanted: given(&row[9]).map(|name| match &*name {
            "" => Wish::Anybody,
            name => Wish::Name(named(name)),
        }),
        asked: given(&row[10]).map(|name| Asked { name: named(&name), defer: micros(&row[11]) }),
        written: Instant::from_nanos(number(&row[12]) * 1_000),
    }
}

/// An identity as a number; no identity is none of a server.
fn digest(identity: &str) -> u128 {
    if identity.is_empty() {
        return 0;
    }
    Profile::new(identity, "").expect("a short text").name_id().to_bits()
}

fn bits(hex: &str) -> u128 {
    u128::from_str_radix(hex, 16).expect("hexadecimal digits")
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

fn micros(text: &str) -> Duration {
    Duration::from_micros(number(text))
}
