//! The table itself: its creation, its name, its readers, and the removal of old rows.

use std::time::Duration;

use futures_util::future::join_all;
use tenure::Token;
use tenure::store::postgres::{LeaseTable, Postgres};
use tenure::store::{Key, Profile, Reply, Request, Store, StoreErrorKind, Watched};

use super::refusals::refuses;
use super::support::{
    SOON, TTL, acquire, after_watching, all_requests, at, call, granted, granted_after_a_watch,
    held, job, local, release, server, soon, terminate_all,
};

/// A store for requests that meet those of others: on a slow disk, they wait long for each other's
/// commits.
fn patient(port: u16) -> Postgres {
    let config = local(port).trust_empty_store(true);
    Postgres::new(config.lock_timeout(SOON).connect_timeout(SOON))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_creations_make_one_table() {
    let server = server();
    let stores: Vec<_> = (0..8).map(|_| patient(server.port())).collect();
    let ask = (1..).zip(&stores).map(|(number, store)| call(store, acquire(number, None)));
    let replies = join_all(ask).await.into_iter().map(Result::unwrap);
    let granted = replies.filter(|reply| matches!(reply, Reply::Granted { .. }));
    assert_eq!(granted.count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_shipped_file_may_be_run_again() {
    let server = server();
    let file =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../tenure/src/store/postgres/sql/lease_table.sql");
    let file = std::fs::read_to_string(file).unwrap();
    server.sql(&file).unwrap();
    let store = Postgres::new(local(server.port()).create_table(false));
    let token = granted_after_a_watch(&store, acquire(1, None)).await;
    server.sql(&file).unwrap();
    assert_eq!(held(&store, Request::Observe).await.token, token);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_of_an_earlier_version_is_refused() {
    let server = server();
    call(&at(server.port()), Request::Observe).await.unwrap();
    server.sql("ALTER TABLE tenure.leases DROP COLUMN number").unwrap();
    let kind = StoreErrorKind::UnsupportedVersion;
    for creates in [true, false] {
        let store = Postgres::new(local(server.port()).create_table(creates));
        for says in ["was made by an earlier version", "DROP SCHEMA \\\"tenure\\\" CASCADE"] {
            refuses(&store, &all_requests()[..1], kind, says).await;
        }
    }
    // What the error names is enough.
    server.sql("DROP SCHEMA tenure CASCADE").unwrap();
    granted(&at(server.port()), acquire(1, None)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_of_any_name_are_apart() {
    let server = server();
    let names = [
        ("public", "leases"),
        ("We\"ird; DROP", "täble \"x\""),
        ("tenure", "other"),
        ("S", "leases"),
    ];
    let long = ("s".repeat(63), "t".repeat(48));
    let names = names.map(|(schema, table)| (schema.to_owned(), table.to_owned()));
    let mut last: Option<Token> = None;
    for (schema, table) in names.into_iter().chain([long]) {
        let table = LeaseTable::new(schema, table).unwrap();
        let store = Postgres::new(local(server.port()).table(table).trust_empty_store(true));
        let mut hints = Box::pin(store.hints(Watched::only([crate::stores::support::job()])));
        soon(futures_util::StreamExt::next(&mut hints)).await.unwrap();
        let token = granted(&store, acquire(1, None)).await;
        assert!(last < Some(token));
        assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
        soon(futures_util::StreamExt::next(&mut hints)).await.unwrap();
        assert_eq!(store.purge(TTL * 10).await.unwrap(), 0);
        last = Some(token);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_see_who_leads() {
    let server = server();
    let store = at(server.port());
    let token = granted(&store, acquire(1, None)).await;
    let odd = Key::new("odd\0ä").unwrap();
    let profile = Profile::new("wörker", &b"\xff\0"[..]).unwrap();
    let Request::Acquire { asks, .. } = acquire(9, None) else { unreachable!() };
    store.call(&odd, Request::Acquire { asks, profile }).await.unwrap();
    let row = "SELECT election, leader, metadata, token, \
         renewed BETWEEN now() - interval '1 minute' AND clock_timestamp(), \
         ttl = interval '30 seconds', since BETWEEN now() - interval '1 minute' AND renewed \
         FROM tenure.leases_leaders ORDER BY election";
    let seen = server.sql(row).unwrap();
    let (job, odd) = seen.split_once('\n').unwrap();
    assert_eq!(job, format!("job|worker-1|host-1|{token}|t|t|t"));
    assert!(odd.starts_with("odd\\000\\303\\244|wörker|\\377\\000|"), "{odd}");
    call(&store, release(1, token)).await.unwrap();
    assert_eq!(server.sql("SELECT count(*) FROM tenure.leases_leaders").unwrap(), "1");
}

/// In pieces, between which the requests of others are carried out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn purging_takes_many_rows() {
    let server = server();
    let store = at(server.port());
    granted(&store, acquire(1, None)).await;
    let rows = "INSERT INTO tenure.leases \
             (key, token, holder, number, released, ttl, quarantine, written, name, metadata) \
         SELECT convert_to(g::text, 'UTF8'), 1, repeat('x', 16)::bytea, 1, true, 1, 1, 1, '', '' \
         FROM generate_series(1, 2500) AS g";
    server.sql(rows).unwrap();
    assert_eq!(store.purge(TTL).await.unwrap(), 2500);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn purging_beside_candidates_leaves_one_leader() {
    let server = server();
    let stores: Vec<_> = (0..4).map(|_| patient(server.port())).collect();
    // Only a candidate trusts an empty table.
    let first = granted(&stores[0], acquire(1, None)).await;
    call(&stores[0], release(1, first)).await.unwrap();
    let purger = stores[0].clone();
    let purging = tokio::spawn(async move {
        loop {
            purger.purge(Duration::ZERO).await.unwrap();
        }
    });
    let mut last = Some(first);
    for _ in 0..50 {
        let ask = |number: u128| {
            call(&stores[usize::try_from(number % 4).unwrap()], acquire(number, last))
        };
        let replies = join_all((1..=8).map(ask)).await;
        let mut granted = (1..).zip(replies).filter_map(|(number, reply)| match reply.unwrap() {
            Reply::Granted { token } => Some((number, token)),
            _ => None,
        });
        let (number, token) = granted.next().expect("one is granted");
        assert!(last < Some(token));
        assert_eq!(granted.next(), None, "and no other");
        assert_eq!(call(&stores[1], release(number, token)).await.unwrap(), Reply::Released);
        last = Some(token);
    }
    purging.abort();
}

/// A lease granted and given back, by a candidate that watches whatever it must: its token.
async fn past_tenure(store: &Postgres, key: &Key) -> Token {
    let mut request = acquire(1, None);
    loop {
        match store.call(key, request).await.unwrap() {
            Reply::Granted { token } => {
                store.call(key, release(1, token)).await.unwrap();
                return token;
            }
            Reply::Not(shown) => request = after_watching(&acquire(1, shown.sight.last), &shown),
            other => panic!("{other:?}"),
        }
    }
}

/// The table may have forgotten a lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_emptied_or_restored_table_is_to_be_watched() {
    let server = server();
    let store = at(server.port());
    let other = Key::new("other").unwrap();
    let restore = format!(
        "CREATE TABLE kept AS TABLE tenure.leases; CREATE TABLE kept_past AS TABLE tenure.leases_past; \
         DROP SCHEMA tenure CASCADE; {} \
         INSERT INTO tenure.leases TABLE kept; INSERT INTO tenure.leases_past TABLE kept_past; \
         DROP TABLE kept, kept_past",
        LeaseTable::default().schema_sql()
    );
    for loses in ["TRUNCATE tenure.leases", "VACUUM FULL tenure.leases", &restore] {
        // Both by the function, and by the plain statement.
        for seen in [false, true] {
            let last = past_tenure(&store, &other).await;
            server.sql("CREATE TABLE saved AS TABLE tenure.leases").unwrap();
            server.sql(loses).unwrap();
            server.sql("INSERT INTO tenure.leases TABLE saved ON CONFLICT DO NOTHING").unwrap();
            server.sql("DROP TABLE saved").unwrap();
            let key = if seen { &other } else { &Key::new("new").unwrap() };
            let ask = acquire(2, seen.then_some(last));
            let reply = soon(async {
                loop {
                    // Statements that were prepared for the old table fail once.
                    if let Ok(reply) = store.call(key, ask.clone()).await {
                        return reply;
                    }
                }
            });
            let Reply::Not(shown) = reply.await else { panic!("nothing is granted yet") };
            assert!(shown.sight.past.is_some(), "after {loses}, seen {seen}: {shown:?}");
        }
    }
}

/// A copy has the tables of the same numbers and files, and lacks what was granted after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copied_database_is_to_be_watched() {
    let server = server();
    let store = || Postgres::new(local(server.port()).database("app").trust_empty_store(true));
    server.sql("CREATE DATABASE app").unwrap();
    let last = past_tenure(&store(), &job()).await;
    // Neither a database that is copied nor one that is renamed may have sessions.
    terminate_all(&server);
    server.sql("CREATE DATABASE snap TEMPLATE app").unwrap();
    let leads = granted(&store(), acquire(2, Some(last))).await;
    terminate_all(&server);
    server.sql("ALTER DATABASE app RENAME TO before").unwrap();
    server.sql("ALTER DATABASE snap RENAME TO app").unwrap();
    // By a candidate that has not heard of the last tenure.
    let next = granted_after_a_watch(&store(), acquire(3, Some(last))).await;
    assert!(next > leads);
    // And only once.
    let store = store();
    assert_eq!(call(&store, release(3, next)).await.unwrap(), Reply::Released);
    granted(&store, acquire(4, Some(next))).await;
}
