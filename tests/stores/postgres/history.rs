//! The history in the table, after renewals and plain grants.

use std::time::Duration;

use tenure::Token;
use tenure::store::Reply;
use tenure_servers::PostgresServer;

use super::support::{
    TTL, acquire, acquire_for, at, call, client, granted, is_known_to_be_near, release, renew,
    server,
};

/// As another server left it, with a TTL that it granted in seconds.
fn of_another_server(server: &PostgresServer, longest: u64) {
    let sql = format!(
        "UPDATE tenure.leases_history SET identity = 'another', known_since = 1, longest_ttl = {longest}000000"
    );
    server.sql(&sql).unwrap();
}

fn is_of_another_server(server: &PostgresServer) -> bool {
    server.sql("SELECT identity FROM tenure.leases_history").unwrap() == "another"
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_answered_renewal_begins_the_history() {
    let server = server();
    let (token, _) = granted(&at(server.port()), acquire(1, None)).await;
    // The longest TTL is the remembered one, or the renewal's own.
    for (remembered, longest) in [(100, 100), (1, TTL.as_secs())] {
        of_another_server(&server, remembered);
        let store = at(server.port());
        let late = Reply::Superseded { last: Some(token) };
        assert_eq!(call(&store, renew(2, token)).await.unwrap(), late);
        assert!(is_of_another_server(&server), "a renewal that extends no lease");
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), Reply::Renewed);
        assert!(!is_of_another_server(&server));
        let ahead = "SELECT longest_ttl / 1000000, \
             known_since BETWEEN l.lease_end - l.ttl + h.longest_ttl \
             AND l.lease_end - l.ttl + h.longest_ttl + 10000000 \
             FROM tenure.leases_history AS h, tenure.leases AS l";
        assert_eq!(server.sql(ahead).unwrap(), format!("{longest}|t"));
        // The next one on this connection does not ask.
        of_another_server(&server, remembered);
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), Reply::Renewed);
        assert!(is_of_another_server(&server));
    }
}

/// As behind a pooler that was not noticed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_process_begins_no_history() {
    let server = server();
    let (token, _) = granted(&at(server.port()), acquire(1, None)).await;
    of_another_server(&server, 30);
    let sql = format!(
        "SELECT tenure.leases_renew('job', decode(repeat('00', 15) || '01', 'hex'), {token}, 30000000, \
         tenure.leases_identity(), '1/1')"
    );
    let error = client(server.port()).await.batch_execute(&sql).await.unwrap_err();
    assert_eq!(error.code().map(tokio_postgres::error::SqlState::code), Some("TN002"), "{error}");
    assert!(is_of_another_server(&server));
}

/// The rows of the contract may find the server too far away for plain grants.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_grants_follow_the_history() {
    let server = server();
    let store = at(server.port());
    let (mut last, _) = granted(&store, acquire(1, None)).await;
    let mut number = 1;
    let (long, longer) = (TTL.as_micros(), 2 * TTL.as_micros());
    let now = "tenure.leases_micros(clock_timestamp())";
    for (known_since, longest, wait) in [
        ("1".to_owned(), long, Duration::ZERO),
        // A time to come counts as now; the longest TTL is waited for.
        (format!("{now} + {longer}"), long, TTL),
        (now.to_owned(), longer, 2 * TTL),
        // A shorter one is replaced.
        ("1".to_owned(), 1, Duration::ZERO),
    ] {
        assert_eq!(call(&store, release(number, last)).await.unwrap(), Reply::Released);
        is_known_to_be_near(&store).await;
        let sql = format!(
            "UPDATE tenure.leases_history SET known_since = {known_since}, longest_ttl = {longest}"
        );
        server.sql(&sql).unwrap();
        // The settings of a lease that was released bind for as long as it would have lasted, and more.
        let refused = Reply::Refused { ttl: TTL, quarantine: Some(TTL) };
        let ask = acquire_for(99, Some(last), 2 * TTL);
        assert_eq!(call(&store, ask).await.unwrap(), refused);
        number += 1;
        let (token, waits): (Token, _) = granted(&store, acquire(number, Some(last))).await;
        let range = wait.saturating_sub(Duration::from_secs(10))..=wait;
        assert!(range.contains(&waits), "{known_since}, {longest}: {waits:?}");
        let kept = server.sql("SELECT longest_ttl FROM tenure.leases_history").unwrap();
        assert_eq!(kept, longest.max(long).to_string());
        let declared = server.sql("SELECT quarantine FROM tenure.leases").unwrap();
        assert_eq!(declared, long.to_string());
        last = token;
    }
}
