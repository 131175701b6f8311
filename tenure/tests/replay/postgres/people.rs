//! The view and the requests of people, their rights, and a table of an earlier version.

use std::time::Duration;

use tenure::HolderId;
use tenure::store::postgres::{LeaseTable, Postgres, PostgresConfig};
use tenure::store::{Key, Message, Profile, Reply, Request, Store, StoreErrorKind};
use tenure_core::{Acquire, RequestId};
use tenure_servers::PostgresServer;

const ANNA: HolderId = HolderId::from_bits(0xa);
const TTL: Duration = Duration::from_secs(5);

fn config(server: &PostgresServer, user: &str) -> PostgresConfig {
    PostgresConfig::new("127.0.0.1", server.port(), user).database("postgres")
}

fn acquire(profile: &Profile) -> Request {
    let number = RequestId::new(1).expect("not zero");
    let asks = Acquire::new(ANNA, number, TTL, profile.name_id());
    Request::Acquire { asks, profile: profile.clone() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_shown_the_last_description() {
    let server = PostgresServer::start_with(&["fsync=off"]).expect("a server");
    let store = Postgres::new(config(&server, "postgres").trust_empty_store(true));
    server.sql("CREATE ROLE watcher LOGIN").expect("made");
    let watcher = Postgres::new(config(&server, "watcher").create_table(false));
    let key = Key::new("described").expect("a key");
    let [first, second, third] =
        ["first", "second", "third"].map(|at| Profile::new("anna", at).expect("a profile"));

    let reply = store.call(&key, acquire(&first)).await.expect("an answer");
    let Reply::Granted { token } = reply else { panic!("{reply:?}") };
    server
        .sql(
            "GRANT USAGE ON SCHEMA tenure TO watcher; \
             GRANT SELECT ON tenure.leases, tenure.leases_past TO watcher",
        )
        .expect("granted");
    let seen = async || {
        let reply = watcher.call(&key, Request::Observe).await.expect("an answer");
        let Reply::At(shown) = reply else { panic!("{reply:?}") };
        assert_eq!(shown.sight.past, None);
        shown.profile.expect("there is a record")
    };
    let describe = async |version, profile: &Profile| {
        let profile = profile.clone();
        let request = Request::Describe { holder: ANNA, token, version, profile };
        store.call(&key, request).await.expect("an answer")
    };
    assert_eq!(seen().await, first);
    assert_eq!(describe(2, &second).await, Reply::Described);
    assert_eq!(describe(1, &third).await, Reply::Described, "a newer one is recorded");
    assert_eq!(seen().await, second);
    server.sql("UPDATE tenure.leases SET name = repeat('x', 129)::bytea").expect("written");
    let reply = watcher.call(&key, Request::Observe).await.expect("an answer");
    assert!(matches!(reply, Reply::At(shown) if shown.profile.is_none()), "it is not read");

    let notify = async || {
        let message = Message::new("channel", "payload").expect("a message");
        store.call(&key, Request::Notify { message }).await.expect("an answer")
    };
    assert_eq!(notify().await, Reply::Notified { token });
    let release = Request::Release { holder: ANNA, token, reservation: None };
    assert_eq!(store.call(&key, release).await.expect("an answer"), Reply::Released);
    assert_eq!(notify().await, Reply::Vacant);
    assert_eq!(describe(3, &third).await, Reply::Described, "also of a released lease");
    assert_eq!(seen().await, third);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_of_an_earlier_version_is_refused() {
    let server = PostgresServer::start_with(&["fsync=off"]).expect("a server");
    let old = "CREATE SCHEMA tenure; CREATE TABLE tenure.leases (key bytea, lease_end bigint); \
               INSERT INTO tenure.leases VALUES ('old', 7)";
    server.sql(old).expect("made");
    let store = Postgres::new(config(&server, "postgres"));
    let key = Key::new("old").expect("a key");
    let error = store.call(&key, Request::Observe).await.expect_err("refused");
    assert_eq!(error.kind(), StoreErrorKind::UnsupportedVersion);
    assert!(error.to_string().contains("DROP SCHEMA \"tenure\" CASCADE"), "{error}");
    assert_eq!(server.sql("SELECT lease_end FROM tenure.leases").expect("read"), "7");
    assert_eq!(LeaseTable::VERSION, 2);
}
