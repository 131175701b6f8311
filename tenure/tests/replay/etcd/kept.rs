//! The state of the cluster, as a plain client reads it.

use std::time::Duration;

use etcd_client::{Client, KeyValue, Txn, TxnOp, TxnOpResponse};
use tenure::{HolderId, Instant, Token};
use tenure_core::contract::{Past, Record};
use tenure_core::{Asked, NameId, RequestId, Reservation, Stamp, Wish};

pub(crate) const PAST: &str = "replay/past";

pub(crate) fn leader_name(key: &str) -> String {
    format!("replay/leader/{key}")
}

pub(crate) fn record_name(key: &str) -> String {
    format!("replay/record/{key}")
}

/// The state of some elections, at one revision.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) cluster: u64,
    /// In the order of the keys.
    pub(crate) elections: Vec<Election>,
    pub(crate) past: Option<Past>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Election {
    pub(crate) record: Option<Record>,
    /// The etcd lease of the live lease.
    pub(crate) lease: Option<i64>,
    /// By which revisions the keys of the leader and of the record were written: compared as a part
    /// of the whole.
    #[allow(dead_code, reason = "shown when a difference is found")]
    pub(crate) written: (i64, i64),
}

pub(crate) async fn kept(client: &mut Client, keys: &[&str]) -> Kept {
    let names = keys.iter().flat_map(|key| [leader_name(key), record_name(key)]);
    let reads: Vec<_> = names.chain([PAST.to_owned()]).map(|name| TxnOp::get(name, None)).collect();
    let answer = client.txn(Txn::new().and_then(reads)).await.unwrap();
    let found = answer.op_responses().into_iter().map(|response| match response {
        TxnOpResponse::Get(found) => found.kvs().first().cloned(),
        other => panic!("{other:?}"),
    });
    let found: Vec<Option<KeyValue>> = found.collect();
    let (past, elections) = found.split_last().unwrap();
    Kept {
        cluster: answer.header().unwrap().cluster_id(),
        elections: elections
            .chunks(2)
            .map(|two| election(two[0].as_ref(), two[1].as_ref()))
            .collect(),
        past: past.as_ref().map(self::past),
    }
}

fn election(leader: Option<&KeyValue>, record: Option<&KeyValue>) -> Election {
    let (mut kept, mut granted) = (None, 0);
    if let Some(found) = record {
        let (record, revision) = self::record(found);
        (kept, granted) = (Some(record), revision);
    }
    if let Some(leader) = leader {
        let record = kept.expect("a leader with a record");
        assert!(!record.released, "a leader whose record was given back");
        assert_eq!(leader.create_revision().unsigned_abs(), granted, "a leader of this tenure");
        assert_ne!(leader.lease(), 0, "a leader that is never ended");
    } else if let Some(record) = kept.as_mut().filter(|record| !record.released) {
        // Ended by the server.
        (record.released, record.reservation) = (true, None);
    }
    let modified = |key: Option<&KeyValue>| key.map_or(0, KeyValue::mod_revision);
    Election {
        record: kept,
        lease: leader.map(KeyValue::lease),
        written: (modified(leader), modified(record)),
    }
}

fn words(line: &str) -> Vec<&str> {
    let words: Vec<_> = line.split(' ').collect();
    assert_eq!(words[0], "tenure2", "{line}");
    words[1..].to_vec()
}

fn number(word: &str) -> u64 {
    word.parse().unwrap()
}

fn bits(word: &str) -> u128 {
    assert_eq!(word.len(), 32, "{word}");
    u128::from_str_radix(word, 16).unwrap()
}

fn time(word: &str) -> Duration {
    Duration::from_nanos(number(word))
}

fn name(word: &str) -> Option<NameId> {
    (word != "-").then(|| NameId::from_bits(bits(word)))
}

/// The record, and the revision of its grant.
fn record(found: &KeyValue) -> (Record, u64) {
    let text = String::from_utf8_lossy(found.value()).into_owned();
    let words = words(text.split('\n').next().unwrap());
    let granted = match number(words[0]) {
        0 => found.mod_revision().unsigned_abs(),
        granted => granted,
    };
    let record = Record {
        token: Token::new(granted + number(words[1])).unwrap(),
        holder: HolderId::from_bits(bits(words[2])),
        number: RequestId::new(number(words[3])).unwrap(),
        released: number(words[4]) == 1,
        reservation: name(words[5]).map(|name| Reservation { name, reserve: time(words[6]) }),
        ttl: time(words[7]),
        quarantine: time(words[8]),
        wanted: match words[9] {
            "any" => Some(Wish::Anybody),
            other => name(other).map(Wish::Name),
        },
        asked: name(words[10]).map(|name| Asked { name, defer: time(words[11]) }),
        // For people.
        written: Instant::ORIGIN,
    };
    (record, granted)
}

fn past(found: &KeyValue) -> Past {
    let words = words(found.value_str().unwrap());
    Past {
        identity: u64::from_str_radix(words[0], 16).unwrap().into(),
        stamp: Stamp::from_bits(bits(words[1])),
        watched: time(words[2]),
        longest: time(words[3]),
        purged: Token::new(number(words[4])),
    }
}

/// The reply without what is for people.
pub(crate) fn without_hints(mut reply: tenure_core::Reply) -> tenure_core::Reply {
    if let tenure_core::Reply::Not(sight) | tenure_core::Reply::At(sight) = &mut reply {
        sight.now = Instant::ORIGIN;
        if let Some(record) = &mut sight.record {
            record.written = Instant::ORIGIN;
        }
    }
    reply
}
