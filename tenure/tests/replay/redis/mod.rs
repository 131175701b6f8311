//! Each step of the scripts on a real server, compared with the contract, with restarts and losses
//! of the server's data.

mod kept;

use tenure::store::Store;
use tenure::store::redis::{Redis, RedisConfig};
use tenure_servers::RedisServer;

use super::KEYS;
use super::compare::{Examines, Kept, Subject, compare};
use super::draw::{Draw, Values};

/// A purge can watch the shortest.
const TIMES: &[u64] = &[3_000_000, 5_000_000_000, 10_000_000_000, 20_000_001_000];
const VALUES: Values =
    Values { ttls: TIMES, times: TIMES, watched: TIMES, tokens: &[1 << 51], numbers: &[] };

struct World<S> {
    server: RedisServer,
    plain: redis::Connection,
    make: fn(RedisConfig) -> S,
    store: S,
    trusts: bool,
}

impl<S> World<S> {
    fn new(make: fn(RedisConfig) -> S) -> Self {
        let server = RedisServer::start_with(&["--appendonly", "yes"]).unwrap();
        let (plain, store) = (connect(&server), make(config(&server, false)));
        Self { server, plain, make, store, trusts: false }
    }

    fn plainly(&mut self, command: &[&str]) {
        let (name, words) = command.split_first().unwrap();
        redis::cmd(name).arg(words).query::<redis::Value>(&mut self.plain).unwrap();
    }
}

fn connect(server: &RedisServer) -> redis::Connection {
    redis::Client::open(server.url()).unwrap().get_connection().unwrap()
}

fn config(server: &RedisServer, trusts: bool) -> RedisConfig {
    let config = RedisConfig::new("127.0.0.1", server.port()).trust_empty_store(trusts);
    config.prefix("replay").unwrap()
}

impl<S: Store> Subject for World<S> {
    type Store = S;
    const PURGE_EXAMINES: Examines = Examines::WithRecords;
    const ACQUIRES_TOGETHER: bool = true;

    fn store(&self) -> &S {
        &self.store
    }

    fn trusts(&self) -> bool {
        self.trusts
    }

    fn kept(&mut self) -> Kept {
        let plain = &mut self.plain;
        let records = KEYS.iter().filter_map(|key| Some((*key, kept::record(plain, key)?)));
        let records = records.collect();
        Kept { records, past: kept::past(plain), identity: kept::identity(plain) }
    }

    fn disturb(&mut self, draw: &mut Draw, before: &Kept) -> bool {
        match draw.below(12) {
            0 => self.server.restart().unwrap(),
            1 => self.server.restart_empty().unwrap(),
            2 => self.plainly(&["FLUSHALL"]),
            3 => self.plainly(&["DEL", kept::PAST]),
            4 if before.past.is_some() => {
                self.plainly(&["HSET", kept::PAST, "identity", "of/another"]);
            }
            5 => self.plainly(&["DEL", &kept::record_name(draw.of(&KEYS))]),
            _ => {}
        }
        self.plain = connect(&self.server);
        let identity = kept::identity(&mut self.plain);
        let is_other = before.past.is_none_or(|past| past.identity != identity);
        let is_new = is_other || draw.one_in(2);
        if is_new {
            self.trusts = draw.one_in(3);
            self.store = (self.make)(config(&self.server, self.trusts));
        }
        is_new
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_answers_as_the_contract_does() {
    compare("redis", World::new(Redis::new), VALUES).await;
}

#[cfg(feature = "fred")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fred_answers_as_the_contract_does() {
    compare("fred", World::new(tenure::store::redis::Fred::new), VALUES).await;
}
