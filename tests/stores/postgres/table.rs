//! The table itself: its creation, its name, its readers, and the removal of old rows.

use std::time::Duration;

use futures_util::future::join_all;
use tenure::store::postgres::{LeaseTable, Postgres};
use tenure::store::{Key, Profile, Reply, Request, Store, StoreErrorKind, Watched};
use tenure::{HolderId, Token};

use super::refusals::refuses;
use super::support::{
    SOON, TTL, acquire, all_requests, at, call, client, granted, held, holder, is_known_to_be_near,
    local, release, renew, server, soon,
};

/// A store for requests that meet those of others: on a slow disk, they wait long for each other's commits.
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
    let (token, _) = granted(&store, acquire(1, None)).await;
    server.sql(&file).unwrap();
    assert_eq!(held(&store, Request::Observe).await.token, token);
}

/// Without the functions, plain statements still work, and other requests do not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renewals_and_the_next_grants_ask_no_function() {
    let server = server();
    let store = at(server.port());
    let (first, _) = granted(&store, acquire(1, None)).await;
    // The first renewal compares the server with the history.
    assert_eq!(call(&store, renew(1, first)).await.unwrap(), Reply::Renewed);
    is_known_to_be_near(&store).await;
    let arguments = [
        ("acquire", "bytea, bytea, bigint, bigint, text, text, bigint, bytea, bytea, boolean"),
        ("renew", "bytea, bytea, bigint, bigint, text, text"),
    ];
    for (function, of) in arguments {
        let sql =
            format!("ALTER FUNCTION tenure.leases_{function}({of}) RENAME TO gone_{function}");
        server.sql(&sql).unwrap();
    }
    assert_eq!(call(&store, renew(1, first)).await.unwrap(), Reply::Renewed);
    assert_eq!(call(&store, release(1, first)).await.unwrap(), Reply::Released);
    let (second, _) = granted(&store, acquire(2, Some(first))).await;
    assert!(second > first);
    let error = call(&store, renew(1, first)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Missing, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_without_a_column_is_refused() {
    let server = server();
    call(&at(server.port()), Request::Observe).await.unwrap();
    server.sql("ALTER TABLE tenure.leases DROP COLUMN quarantine").unwrap();
    server.sql("ALTER TABLE tenure.leases_history DROP COLUMN longest_ttl").unwrap();
    let kind = StoreErrorKind::UnsupportedVersion;
    for creates in [true, false] {
        let store = Postgres::new(local(server.port()).create_table(creates));
        for says in ["without leases.quarantine, leases_history.longest_ttl", "named leases*"] {
            refuses(&store, &all_requests()[..1], kind, says).await;
        }
    }
    // The grants that the error names are enough.
    server.sql("DROP SCHEMA tenure CASCADE").unwrap();
    granted(&at(server.port()), acquire(1, None)).await;
}

/// A table that was made before profiles had versions serves elections, and gets the columns when it is made again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_earlier_table_replaces_no_profiles() {
    let server = server();
    let store = at(server.port());
    let (token, _) = granted(&store, acquire(1, None)).await;
    server
        .sql("ALTER TABLE tenure.leases DROP COLUMN described_token, DROP COLUMN described_version")
        .unwrap();
    let profile = Profile::new("other", "elsewhere").unwrap();
    let describe = Request::Describe { holder: holder(1), token, version: 1, profile };
    let error = call(&store, describe.clone()).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("LeaseTable::schema_sql"), "{error}");
    assert_eq!(call(&store, renew(1, token)).await.unwrap(), Reply::Renewed);
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
    let (token, _) = granted(&store, acquire(1, Some(token))).await;
    server.sql(&LeaseTable::default().schema_sql()).unwrap();
    let Request::Describe { holder, version, profile, .. } = describe else { unreachable!() };
    let describe = Request::Describe { holder, token, version, profile };
    assert_eq!(call(&store, describe).await.unwrap(), Reply::Described);
    assert_eq!(held(&store, Request::Observe).await.name, "other");
}

/// Its upgrade gives up rather than have renewals wait behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_does_not_wait_for_a_reader() {
    let server = server();
    let store = patient(server.port());
    let (token, _) = granted(&store, acquire(1, None)).await;
    server
        .sql("ALTER TABLE tenure.leases DROP COLUMN described_token, DROP COLUMN described_version")
        .unwrap();
    let reader = client(server.port()).await;
    reader.batch_execute("BEGIN; SELECT FROM tenure.leases").await.unwrap();
    let upgrade = client(server.port()).await;
    let error = soon(upgrade.batch_execute(&LeaseTable::default().schema_sql())).await.unwrap_err();
    assert_eq!(error.code(), Some(&tokio_postgres::error::SqlState::LOCK_NOT_AVAILABLE), "{error}");
    assert_eq!(call(&store, renew(1, token)).await.unwrap(), Reply::Renewed);
    reader.batch_execute("COMMIT").await.unwrap();
    soon(upgrade.batch_execute(&LeaseTable::default().schema_sql())).await.unwrap();
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
        let mut hints = Box::pin(store.hints(Watched::only([crate::support::job()])));
        soon(futures_util::StreamExt::next(&mut hints)).await.unwrap();
        let (token, wait) = granted(&store, acquire(1, None)).await;
        assert!(last < Some(token) && wait.is_zero());
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
    let (token, _) = granted(&store, acquire(1, None)).await;
    let odd = Key::new("odd\0ä").unwrap();
    let profile = Profile::new("wörker", &b"\xff\0"[..]).unwrap();
    let holder = HolderId::from_bits(9);
    let request = Request::Acquire { holder, seen: None, ttl: TTL, quarantine: TTL, profile };
    store.call(&odd, request).await.unwrap();
    let row = "SELECT election, leader, metadata, token, \
         since BETWEEN now() - interval '1 minute' AND clock_timestamp(), \
         remaining BETWEEN interval '0' AND interval '30 seconds' \
         FROM tenure.leases_leaders ORDER BY election";
    let seen = server.sql(row).unwrap();
    let (job, odd) = seen.split_once('\n').unwrap();
    assert_eq!(job, format!("job|worker-1|host-1|{token}|t|t"));
    assert!(odd.starts_with("odd\\000\\303\\244|wörker|\\377\\000|"), "{odd}");
    call(&store, release(1, token)).await.unwrap();
    assert_eq!(server.sql("SELECT count(*) FROM tenure.leases_leaders").unwrap(), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn purging_removes_old_rows_and_breaks_nothing() {
    let server = server();
    let store = Postgres::new(local(server.port()));
    let ended = |ago: Duration| {
        let end = format!("lease_end = tenure.leases_micros(now()) - {}", ago.as_micros());
        server.sql(&format!("UPDATE tenure.leases SET {end} WHERE key = 'job'")).unwrap();
    };
    let (first, _) = granted(&store, acquire(1, None)).await;
    let other = Key::new("other").unwrap();
    store.call(&other, acquire(1, None)).await.unwrap();
    // A quarantine that this table has known its history for.
    server.sql("UPDATE tenure.leases_history SET known_since = 1").unwrap();
    ended(TTL.mul_f64(0.9));
    assert_eq!(store.purge(Duration::ZERO).await.unwrap(), 0, "its settings bind others");
    ended(TTL * 2);
    assert_eq!(store.purge(TTL * 3).await.unwrap(), 0, "ended not long enough ago");
    assert_eq!(store.purge(TTL).await.unwrap(), 1, "the other one is live");
    assert_eq!(server.sql("SELECT count(*) FROM tenure.leases").unwrap(), "1");
    // A candidate that knows the purged token proves no loss, and gets a higher one.
    let (second, wait) = granted(&store, acquire(2, Some(first))).await;
    assert!(second > first && wait.is_zero(), "{second} after {first}, {wait:?}");
    ended(TTL * 2);
    assert_eq!(store.purge(Duration::ZERO).await.unwrap(), 1);
    // A candidate that knows no token gets a higher one too.
    let (third, wait) = granted(&store, acquire(3, None)).await;
    assert!(third > second && wait.is_zero(), "{third} after {second}, {wait:?}");
    // A candidate that knows a higher token than was ever purged proves a loss.
    call(&store, release(3, third)).await.unwrap();
    server.sql("DELETE FROM tenure.leases WHERE key = 'job'").unwrap();
    let (_, wait) = granted(&store, acquire(4, Some(third))).await;
    assert!(wait > TTL / 2, "{wait:?}");
}

/// As a function of an earlier edition, which has the same version.
const EARLIER: &str = "DO $$ BEGIN
    EXECUTE replace(pg_get_functiondef('tenure.leases_acquire'::regproc), 'greatest(known + 1', 'greatest(lease.token + 1');
END $$";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_purged_under_functions_that_ignore_it() {
    let server = server();
    granted(&at(server.port()), acquire(1, None)).await;
    server.sql(EARLIER).unwrap();
    server.sql("UPDATE tenure.leases SET lease_end = 1, token = 1").unwrap();
    // A store that may not replace them, and one that was there before they were.
    let strict = Postgres::new(local(server.port()).create_table(false).trust_empty_store(true));
    let error = strict.purge(Duration::ZERO).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::UnsupportedVersion, "{error}");
    assert!(
        error.to_string().contains("run the statements of LeaseTable::schema_sql again"),
        "{error}"
    );
    assert_eq!(server.sql("SELECT count(*) FROM tenure.leases").unwrap(), "1");
    // Elections do as well with them.
    granted(&strict, acquire(2, Token::new(1))).await;
    server.sql("UPDATE tenure.leases SET lease_end = 1, token = 1").unwrap();
    // One that may replaces them when it connects.
    assert_eq!(at(server.port()).purge(Duration::ZERO).await.unwrap(), 1);
    assert_eq!(strict.purge(Duration::ZERO).await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_purge_by_no_negative_age() {
    let server = server();
    granted(&at(server.port()), acquire(1, None)).await;
    for age in ["-1", "'-9223372036854775808'::bigint", "NULL"] {
        let refused = server.sql(&format!("SELECT tenure.leases_purge({age})")).unwrap_err();
        let said = format!("{refused:?}");
        assert!(said.contains("it must be a number of microseconds"), "{said}");
    }
    assert_eq!(server.sql("SELECT tenure.leases_purge(0)").unwrap(), "0", "the lease is live");
    assert_eq!(server.sql("SELECT count(*) FROM tenure.leases").unwrap(), "1");
}

/// In pieces, between which the requests of others are carried out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn purging_takes_many_rows() {
    let server = server();
    let store = at(server.port());
    granted(&store, acquire(1, None)).await;
    let rows = "INSERT INTO tenure.leases SELECT convert_to(g::text, 'UTF8'), 1, repeat('x', 16)::bytea, \
         1, 1, 1, 1, true, '', '' FROM generate_series(1, 2500) AS g";
    server.sql(rows).unwrap();
    assert_eq!(store.purge(TTL).await.unwrap(), 2500);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn purging_beside_candidates_leaves_one_leader() {
    let server = server();
    let stores: Vec<_> = (0..4).map(|_| patient(server.port())).collect();
    let purger = stores[0].clone();
    let purging = tokio::spawn(async move {
        loop {
            purger.purge(Duration::ZERO).await.unwrap();
        }
    });
    let mut last: Option<Token> = None;
    for _ in 0..50 {
        let ask = |number: u128| {
            call(&stores[usize::try_from(number % 4).unwrap()], acquire(number, last))
        };
        let replies = join_all((1..=8).map(ask)).await;
        let mut granted = (1..).zip(replies).filter_map(|(number, reply)| match reply.unwrap() {
            Reply::Granted { token, .. } => Some((number, token)),
            _ => None,
        });
        let (number, token) = granted.next().expect("one is granted");
        assert!(last < Some(token));
        assert_eq!(granted.next(), None, "and no other");
        assert_eq!(call(&stores[1], release(number, token)).await.unwrap(), Reply::Released);
        server.sql("UPDATE tenure.leases SET lease_end = 1 WHERE released").unwrap();
        last = Some(token);
    }
    purging.abort();
}

/// A grant after that may not have waited for a lease that the table has forgotten.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_emptied_or_restored_table_makes_wait() {
    let server = server();
    let store = at(server.port());
    let other = Key::new("other").unwrap();
    let restore = format!(
        "CREATE TABLE kept AS TABLE tenure.leases; CREATE TABLE kept_history AS TABLE tenure.leases_history; \
         DROP SCHEMA tenure CASCADE; {} \
         INSERT INTO tenure.leases TABLE kept; INSERT INTO tenure.leases_history TABLE kept_history; \
         DROP TABLE kept, kept_history",
        LeaseTable::default().schema_sql()
    );
    for loses in ["TRUNCATE tenure.leases", "VACUUM FULL tenure.leases", &restore] {
        // Both by the function, and by the plain statement.
        for seen in [false, true] {
            let reply = store.call(&other, acquire(1, None)).await.unwrap();
            let last = match reply {
                Reply::Granted { token, .. } => token,
                Reply::Stale { last } => last,
                other => panic!("{other:?}"),
            };
            store.call(&other, release(1, last)).await.unwrap();
            server.sql("UPDATE tenure.leases_history SET known_since = 1").unwrap();
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
            let Reply::Granted { token, wait } = reply.await else { panic!("granted") };
            assert!(wait > TTL / 2, "after {loses}, seen {seen}: {wait:?}");
            store.call(key, release(2, token)).await.unwrap();
            server.sql("DELETE FROM tenure.leases WHERE key = 'new'").unwrap();
        }
    }
}
