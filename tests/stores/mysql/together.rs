//! Several elections, and what of theirs is shared.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tenure::store::mysql::Mysql;
use tenure::store::{Key, Reply, Request, Store, StoreError, StoreErrorKind};
use tenure::{Config, Elections};
use tenure_servers::undisturbed;

use super::support::{
    RENEWED, acquire, at, call, granted, granted_after_a_watch, holder, job, leads_all, local,
    next_number, release, renew, server, session, soon,
};

/// In a runtime of its own.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

/// Others have watched the past of the server for it.
#[tokio::test]
async fn a_new_election_leads_at_once() {
    let server = server();
    let store = Mysql::new(local(server.port()));
    granted_after_a_watch(&store, acquire(1, None)).await;
    let key = Key::new("another").unwrap();
    let reply = store.call(&key, acquire(2, None)).await.unwrap();
    assert!(matches!(reply, Reply::Granted { .. }), "{reply:?}");
}

/// Sixteen stores ask at once, each over a connection of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_many_rivals_is_granted() {
    let server = server();
    let first = at(server.port());
    let mut last = granted(&first, acquire(100, None)).await;
    call(&first, release(100, last)).await.unwrap();
    let stores: Vec<_> = (0..16).map(|_| at(server.port())).collect();
    for _ in 0..5 {
        let asked = stores.iter().zip(1..).map(|(store, number)| {
            let request = acquire(number, Some(last));
            async move { (number, store.call(&job(), request).await) }
        });
        let replies = join_all(asked).await;
        let mut grants = Vec::new();
        for (number, reply) in replies {
            match reply.unwrap() {
                Reply::Granted { token } => grants.push((number, token)),
                Reply::Not(_) => {}
                other => panic!("{other:?}"),
            }
        }
        let [(number, token)] = grants[..] else { panic!("{grants:?}") };
        assert!(token > last);
        last = token;
        call(&stores[0], release(number, token)).await.unwrap();
    }
}

/// A renewal begins with what the process has written: one message, which reads it back.
#[tokio::test]
async fn a_renewal_is_two_statements() {
    let server = server();
    let store = at(server.port());
    let token = granted(&store, acquire(1, None)).await;
    call(&store, renew(1, token)).await.unwrap();
    // None that the client of this test sends.
    let count = || {
        let said = server
            .sql(
                "SHOW GLOBAL STATUS WHERE Variable_name IN \
                 ('Com_select', 'Com_update', 'Com_update_multi', 'Com_insert', 'Com_insert_select')",
            )
            .unwrap();
        let counts = said.lines().map(|line| line.split_whitespace().last().unwrap());
        counts.map(|count| count.parse::<u64>().unwrap()).sum::<u64>()
    };
    let before = count();
    call(&store, renew(1, token)).await.unwrap();
    assert_eq!(count() - before, 2);
}

/// The answers to three renewals that share a message: another session replaces the second row after
/// the statement that writes it, and before the one that reads it back. Then that to another renewal
/// of the second.
///
/// A session of the store waits a second for a table or a row.
async fn renewed_and_replaced(before: &str) -> (Vec<Result<Reply, StoreError>>, Reply) {
    let server = Arc::new(server());
    let store = at(server.port());
    let renewals = leads_all(&store, 4).await;
    let apart = |sql: &'static str| {
        let server = Arc::clone(&server);
        tokio::task::spawn_blocking(move || server.sql(sql))
    };
    server.sql(before).unwrap();
    // Every update of a row waits for the lock of this session.
    let holding = apart("DO GET_LOCK('hold', 60); DO SLEEP(60)");
    let holder = session(&server, "User sleep").await;
    server
        .sql(
            "CREATE TRIGGER waits AFTER UPDATE ON tenure_leases FOR EACH ROW \
             DO GET_LOCK('hold', 60), RELEASE_LOCK('hold')",
        )
        .unwrap();
    let renewed = renewals[..3].iter().map(|(key, renewal)| store.call(key, renewal.clone()));
    let replacing = async {
        session(&server, "User lock").await;
        // It comes before every statement that begins later. Its version is another candidate's.
        let replacing = apart(
            "DELIMITER $$\n\
             SELECT version INTO @other FROM tenure_leases WHERE k = 'job-3'; \
             LOCK TABLES tenure_leases_boot WRITE, tenure_leases WRITE; \
             UPDATE tenure_leases SET version = @other, value = '' WHERE k = 'job-1'; SELECT ROW_COUNT(); \
             UNLOCK TABLES $$",
        );
        session(&server, "Waiting for table metadata lock").await;
        server.sql(&format!("KILL {holder}")).unwrap();
        assert_eq!(replacing.await.unwrap().unwrap().trim(), "1");
    };
    let (replies, ()) = soon(async { tokio::join!(join_all(renewed), replacing) }).await;
    holding.await.unwrap().unwrap_err();
    let (key, Request::Renew { token, .. }) = &renewals[1] else { panic!("{renewals:?}") };
    (replies, soon(store.call(key, renew(1, *token))).await.unwrap())
}

/// The server says how many rows were replaced: the request is not unanswered.
#[test]
fn a_row_that_was_replaced_before_it_was_read_back_was_written() {
    undisturbed(|| {
        let (replies, next) = block_on(renewed_and_replaced(""));
        assert!(replies.iter().all(|reply| *reply.as_ref().unwrap() == RENEWED), "{replies:?}");
        // That one is decided by what is there now.
        assert_eq!(next, Reply::Superseded { last: None });
    });
}

/// One row was replaced before the message, and another one after it. The server's number is the same
/// if it is the other way round.
#[test]
fn no_row_is_taken_for_the_one_that_was_written() {
    let before =
        "UPDATE tenure_leases SET version = REVERSE(version), value = '' WHERE k = 'job-2'";
    undisturbed(|| {
        let (replies, next) = block_on(renewed_and_replaced(before));
        assert_eq!(*replies[0].as_ref().unwrap(), RENEWED);
        for reply in &replies[1..] {
            assert_eq!(reply.as_ref().unwrap_err().kind(), StoreErrorKind::Refused);
        }
        assert_eq!(next, Reply::Superseded { last: None });
    });
}

/// The same if the other row is there, and a trigger has kept its version.
#[tokio::test]
async fn a_count_of_another_row_is_no_grant() {
    let server = server();
    let store = at(server.port());
    let renewals = leads_all(&store, 2).await;
    server
        .sql(
            "UPDATE tenure_leases SET version = REVERSE(version), value = '' WHERE k = 'job-0'; \
             CREATE TRIGGER alters BEFORE UPDATE ON tenure_leases FOR EACH ROW SET NEW.version = OLD.version",
        )
        .unwrap();
    let renewed = renewals.iter().map(|(key, renewal)| store.call(key, renewal.clone()));
    for (reply, (key, _)) in soon(join_all(renewed)).await.into_iter().zip(&renewals) {
        assert!(!reply.as_ref().is_ok_and(|reply| *reply == RENEWED), "{key:?}: {reply:?}");
    }
}

/// Its own request fails alone, and the next one has a message of its own: with the settings of a
/// server that is asked a lot, the others would lose their leads.
#[tokio::test]
async fn a_row_that_stays_locked_costs_others_nothing() {
    let server = Arc::new(server());
    let store = at(server.port());
    let renewals = leads_all(&store, 20).await;
    let same = Arc::clone(&server);
    let locking = tokio::task::spawn_blocking(move || {
        same.sql("START TRANSACTION; SELECT k FROM tenure_leases WHERE k = 'job-7' FOR UPDATE; DO SLEEP(60)")
    });
    let session = session(&server, "User sleep").await;
    for round in 0..3 {
        let before = server.sql("SHOW GLOBAL STATUS LIKE 'Com_update_multi'").unwrap();
        let renewed = renewals.iter().map(|(key, renewal)| store.call(key, renewal.clone()));
        let renewed = soon(join_all(renewed)).await;
        let after = server.sql("SHOW GLOBAL STATUS LIKE 'Com_update_multi'").unwrap();
        assert_eq!(renewed.iter().filter(|reply| reply.is_ok()).count(), 19, "{renewed:?}");
        let [before, after] = [before, after]
            .map(|said| said.split_whitespace().last().unwrap().parse::<u64>().unwrap());
        // All in one, and then each alone; later that one is alone, and twice the others in one.
        let most = if round == 0 { 21 } else { 3 };
        assert!(after - before <= most, "{} statements in round {round}", after - before);
    }
    server.sql(&format!("KILL {session}")).unwrap();
    locking.await.unwrap().unwrap_err();
}

/// A row that others have locked fails as such, and costs the elections nothing that share its
/// message. Nothing is written when the others are done.
#[tokio::test]
async fn a_locked_row_is_no_grant() {
    let server = Arc::new(server());
    let store = at(server.port());
    let renewals = leads_all(&store, 20).await;
    let (same, sql) = (
        Arc::clone(&server),
        "START TRANSACTION; SELECT k FROM tenure_leases WHERE k = 'job-7' FOR UPDATE; DO SLEEP(60)",
    );
    let locking = tokio::task::spawn_blocking(move || same.sql(sql));
    let session = session(&server, "User sleep").await;
    let renewed = renewals.iter().map(|(key, renewal)| store.call(key, renewal.clone()));
    for ((key, _), renewed) in renewals.iter().zip(soon(join_all(renewed)).await) {
        match renewed {
            Err(error) if key.as_str() == "job-7" => {
                assert_eq!(error.kind(), StoreErrorKind::Locked, "{error}");
            }
            renewed => assert_eq!(renewed.unwrap(), RENEWED, "{key:?}"),
        }
    }
    server.sql(&format!("KILL {session}")).unwrap();
    locking.await.unwrap().unwrap_err();
    let (key, renewal) = &renewals[7];
    assert_eq!(soon(store.call(key, renewal.clone())).await.unwrap(), RENEWED);
}

/// Dozens of them share a message, also where some are taken by another process meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_many_elections_has_one_leader() {
    let server = server();
    let stores = [at(server.port()), at(server.port())];
    granted(&stores[0], acquire(1, None)).await;
    let keys: Vec<_> = (0..2_000).map(|job| Key::new(format!("job-{job}")).unwrap()).collect();
    let places = &stores;
    let asked = keys.iter().flat_map(|key| {
        let ask = move |number: u128| {
            let store = &places[usize::from(number == 2)];
            async move { store.call(key, acquire(number, None)).await.unwrap() }
        };
        [1, 2].map(ask)
    });
    let replies = soon(join_all(asked)).await;
    for (key, replies) in keys.iter().zip(replies.chunks(2)) {
        let is_grant = |reply: &&Reply| matches!(reply, Reply::Granted { .. });
        assert_eq!(replies.iter().filter(is_grant).count(), 1, "{key:?}: {replies:?}");
    }
}

/// The poll of the rows finds it long before a look would.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_released_lease_is_found_soon() {
    let server = server();
    let config = Config::builder(Duration::from_secs(300)).build().unwrap();
    let store = at(server.port());
    let elections = Elections::new(store.clone());
    let one = elections.candidate("job").name("one").config(config).start().unwrap();
    soon(one.elected()).await.unwrap();
    let two = super::support::start(at(server.port()), "two", config).0;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let began = Instant::now();
    soon(one.resign()).await.unwrap();
    soon(two.elected()).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

/// A late duplicate of a swap finds another version. The second request is refused by the
/// contract, the same one by the row.
#[tokio::test]
async fn a_repeated_request_changes_nothing() {
    let server = server();
    let store = at(server.port());
    let request = acquire(1, None);
    let token = granted(&store, request.clone()).await;
    call(&store, release(1, token)).await.unwrap();
    let late = call(&at(server.port()), request).await.unwrap();
    assert!(matches!(late, Reply::Not(_)), "{late:?}");
    let stale = Request::Renew { holder: holder(1), token, number: next_number(), stamp: None };
    let reply = call(&store, stale).await.unwrap();
    assert_eq!(reply, Reply::Superseded { last: Some(token) });
}
