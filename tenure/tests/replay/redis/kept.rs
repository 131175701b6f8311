//! The state of the server, read by plain commands.

use std::collections::HashMap;
use std::time::Duration;

use redis::Connection;
use tenure::store::Profile;
use tenure::{HolderId, Instant, Token};
use tenure_core::contract::{Past, Record};
use tenure_core::{Asked, NameId, RequestId, Reservation, Stamp, Wish};

type Hash = HashMap<String, String>;

pub(crate) const PAST: &str = "{replay}:past";

pub(crate) fn record_name(key: &str) -> String {
    format!("{{replay}}:leader:{key}")
}

fn hash(connection: &mut Connection, name: &str) -> Option<Hash> {
    let hash: Hash = redis::cmd("HGETALL").arg(name).query(connection).unwrap();
    Some(hash).filter(|hash| !hash.is_empty())
}

fn number(hash: &Hash, field: &str) -> u64 {
    hash.get(field).map_or(0, |text| text.parse().unwrap())
}

fn time(hash: &Hash, field: &str) -> Duration {
    Duration::from_micros(number(hash, field))
}

fn bits(text: &str) -> u128 {
    assert_eq!(text.len(), 32, "{text}");
    u128::from_str_radix(text, 16).unwrap()
}

/// A name, unless there is none.
fn name(hash: &Hash, field: &str) -> Option<NameId> {
    Some(&*hash[field]).filter(|text| !text.is_empty()).map(|text| NameId::from_bits(bits(text)))
}

pub(crate) fn record(connection: &mut Connection, key: &str) -> Option<Record> {
    let hash = hash(connection, &record_name(key))?;
    let reserve = |name| Reservation { name, reserve: time(&hash, "reserve") };
    let wanted = match &*hash["wanted"] {
        "any" => Some(Wish::Anybody),
        _ => name(&hash, "wanted").map(Wish::Name),
    };
    Some(Record {
        token: Token::new(number(&hash, "token")).unwrap(),
        holder: HolderId::from_bits(bits(&hash["holder"])),
        number: RequestId::new(number(&hash, "number")).unwrap(),
        released: number(&hash, "released") == 1,
        reservation: name(&hash, "reserved_for").map(reserve),
        ttl: time(&hash, "ttl"),
        quarantine: time(&hash, "quarantine"),
        wanted,
        asked: name(&hash, "asked").map(|name| Asked { name, defer: time(&hash, "defer") }),
        written: Instant::ORIGIN + time(&hash, "written"),
    })
}

pub(crate) fn past(connection: &mut Connection) -> Option<Past> {
    let hash = hash(connection, PAST)?;
    Some(Past {
        identity: digest(&hash["identity"]),
        stamp: Stamp::from_bits(bits(&hash["stamp"])),
        watched: time(&hash, "watched"),
        longest: time(&hash, "longest"),
        purged: Token::new(number(&hash, "purged")),
    })
}

/// The server's identity, as the contract compares it.
pub(crate) fn identity(connection: &mut Connection) -> u128 {
    let info: String = redis::cmd("INFO").query(connection).unwrap();
    let field = |name| info.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    digest(&format!("{}/{}", field("run_id:"), field("master_replid:")))
}

/// The 128 bits of the digest of names.
fn digest(text: &str) -> u128 {
    Profile::new(text, "").unwrap().name_id().to_bits()
}
