//! Records with a longer name or longer metadata than any candidate has, which are not shown; and
//! other damage, of which only the record's own election notices.

use tenure::store::{Message, Reply, Request, Store, StoreErrorKind};
use tenure_servers::PostgresServer;

use super::support::{
    RENEWED, acquire, at, call, granted, held, leads_all, release, renew, server,
};

/// The sessions of the store.
fn sessions(server: &PostgresServer) -> String {
    let sql = "SELECT string_agg(pid::text, ' ' ORDER BY pid) FROM pg_stat_activity \
               WHERE application_name = 'tenure'";
    server.sql(sql).unwrap()
}

/// Nothing is decided by a profile, so its election goes on without one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn profiles_that_no_candidate_wrote_are_not_shown() {
    let server = server();
    let store = &at(server.port());
    let token = granted(store, acquire(1, None)).await;
    let healthy = leads_all(store, 1).await;
    let before = sessions(&server);
    for damage in [
        "name = decode(repeat('61', 129), 'hex')",
        "metadata = decode(repeat('61', 4097), 'hex')",
        "metadata = decode(repeat('61', 16000000), 'hex')",
    ] {
        let profile = "name = 'n', metadata = ''";
        server.sql(&format!("UPDATE tenure.leases SET {profile} WHERE key = 'job'")).unwrap();
        server.sql(&format!("UPDATE tenure.leases SET {damage} WHERE key = 'job'")).unwrap();
        for request in [Request::Observe, acquire(2, Some(token))] {
            let leader = held(store, request).await;
            assert_eq!(
                (leader.token, leader.name, leader.metadata.len()),
                (token, String::new(), 0)
            );
        }
        let message = Message::new("channel", "payload").unwrap();
        let sent = call(store, Request::Notify { message }).await.unwrap();
        assert_eq!(sent, Reply::Notified { token });
        // The leader leads on, and so do others.
        assert_eq!(call(store, renew(1, token)).await.unwrap(), RENEWED);
        for (key, renewal) in &healthy {
            assert_eq!(store.call(key, renewal.clone()).await.unwrap(), RENEWED);
        }
    }
    assert_eq!(sessions(&server), before, "the connection was replaced");
    // The next grant replaces the profile.
    assert_eq!(call(store, release(1, token)).await.unwrap(), Reply::Released);
    granted(store, acquire(2, Some(token))).await;
    assert_eq!(held(store, Request::Observe).await.name, "worker-2");
    // A token that no grant has.
    server.sql("ALTER TABLE tenure.leases DROP CONSTRAINT leases_token_check").unwrap();
    server.sql("UPDATE tenure.leases SET token = 0 WHERE key = 'job'").unwrap();
    let error = call(store, Request::Observe).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::BadRecord, "{error}");
    assert_eq!(sessions(&server), before, "the connection was replaced");
}
