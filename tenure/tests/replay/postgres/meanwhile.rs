//! A request whose row changes while it waits for the row's lock.

use std::time::Duration;

use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure::store::{Key, Profile, Reply, Request, Store};
use tenure::{HolderId, Token};
use tenure_core::{Acquire, Mark, RequestId};
use tenure_servers::{PostgresServer, SqlSession};

const TTL: Duration = Duration::from_secs(5);
const ANNA: HolderId = HolderId::from_bits(0xa);
const BERT: HolderId = HolderId::from_bits(0xb);

struct Race {
    server: PostgresServer,
    store: Postgres,
    key: Key,
}

impl Race {
    fn new() -> Self {
        let server = PostgresServer::start_with(&["fsync=off"]).expect("a server");
        let config = PostgresConfig::new("127.0.0.1", server.port(), "postgres");
        let config = config.lock_timeout(Duration::from_secs(10)).trust_empty_store(true);
        let key = Key::new("raced").expect("a key");
        Self { server, store: Postgres::new(config), key }
    }

    async fn ask(&self, request: Request) -> Reply {
        self.store.call(&self.key, request).await.expect("an answer")
    }

    async fn anna_leads(&self) -> Token {
        match self.ask(acquire(ANNA, 1, None, None)).await {
            Reply::Granted { token } => token,
            reply => panic!("{reply:?}"),
        }
    }

    /// The reply to a request that waits until another session has committed a change.
    async fn while_changing(&self, sql: &str, request: Request) -> Reply {
        let mut other = self.server.session().expect("a session");
        other.sql(&format!("BEGIN; {sql}")).expect("changed");
        let (store, key) = (self.store.clone(), self.key.clone());
        let asked = tokio::spawn(async move { store.call(&key, request).await });
        self.until_one_waits(sql);
        commit(&mut other);
        asked.await.expect("no panic").expect("an answer")
    }

    fn until_one_waits(&self, sql: &str) {
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        let waits = || self.server.sql(waiting).expect("read") != "0";
        let found = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            waits()
        });
        assert!(found, "the request waits for no lock of {sql}");
    }
}

fn commit(session: &mut SqlSession) {
    session.sql("COMMIT").expect("committed");
}

fn acquire(holder: HolderId, number: u64, seen: Option<Token>, mark: Option<Mark>) -> Request {
    let number = RequestId::new(number).expect("not zero");
    let profile = Profile::new("candidate", "").expect("a profile");
    let asks = Acquire { seen, mark, ..Acquire::new(holder, number, TTL, profile.name_id()) };
    Request::Acquire { asks, profile }
}

fn takes(seen: Token) -> Request {
    let number = RequestId::new(1).expect("not zero");
    acquire(BERT, 1, Some(seen), Some(Mark { holder: ANNA, number }))
}

fn renewal(token: Token) -> Request {
    let number = RequestId::new(3).expect("not zero");
    Request::Renew { holder: ANNA, token, number, stamp: None }
}

const TAKEN: &str = "UPDATE tenure.leases SET token = token + 5, holder = decode(repeat('0c', 16), 'hex'), number = 9";
const RENEWED: &str = "UPDATE tenure.leases SET number = 2";
const STAMPED: &str =
    "UPDATE tenure.leases_past SET stamp = decode(repeat('0d', 16), 'hex'), watched = 0";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_acts_on_the_row_that_it_compared() {
    let race = Race::new();
    let token = race.anna_leads().await;
    let next = Token::new(token.get() + 5);
    let reply = race.while_changing(RENEWED, takes(token)).await;
    assert!(
        matches!(reply, Reply::Not(_)),
        "a lease that is renewed meanwhile is taken: {reply:?}"
    );
    let reply = race.while_changing(TAKEN, renewal(token)).await;
    assert_eq!(reply, Reply::Superseded { last: next });
    race.server.sql("DELETE FROM tenure.leases").expect("deleted");
    let token = race.anna_leads().await;
    let release = Request::Release { holder: ANNA, token, reservation: None };
    assert_eq!(race.while_changing(TAKEN, release).await, Reply::NotHeld);

    // The lock alone changes nothing.
    race.server.sql("DELETE FROM tenure.leases").expect("deleted");
    let last = race.anna_leads().await;
    assert!(last > token);
    let locked = "SELECT FROM tenure.leases FOR UPDATE";
    let reply = race.while_changing(locked, takes(last)).await;
    assert!(matches!(reply, Reply::Granted { .. }), "{reply:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_grant_waits_for_a_stamp_and_for_another_grant() {
    let race = Race::new();
    race.anna_leads().await;
    race.server.sql("DELETE FROM tenure.leases").expect("deleted");
    let reply = race.while_changing(STAMPED, acquire(BERT, 1, None, None)).await;
    let Reply::Not(shown) = reply else { panic!("granted on the past before: {reply:?}") };
    assert!(shown.sight.past.is_some_and(|past| past.stamp.to_bits() >> 120 == 0x0d));

    race.server.sql("UPDATE tenure.leases_past SET watched = 1 << 30").expect("watched");
    let inserted = "INSERT INTO tenure.leases (key, token, holder, number, ttl, quarantine, written, name, metadata)
        VALUES ('raced', 77, decode(repeat('0c', 16), 'hex'), 1, 5000000, 5000000, 1, '', '')";
    let reply =
        race.while_changing(&inserted.replace('\n', " "), acquire(BERT, 2, None, None)).await;
    let Reply::Not(shown) = reply else { panic!("a row was overwritten: {reply:?}") };
    assert_eq!(shown.sight.last, Token::new(77));
}
