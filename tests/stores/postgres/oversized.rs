//! Records with a longer name or longer metadata than any candidate has, and other damage: only their election is
//! refused.

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

/// Refuses looks at the damaged record of a live lease, over the connection that serves others meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_record_refuses_only_its_election() {
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
        let notify = Request::Notify { message: Message::new("channel", "payload").unwrap() };
        for request in [Request::Observe, acquire(2, Some(token)), notify] {
            let error = call(store, request.clone()).await.unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::BadRecord, "{damage}, {request:?}: {error}");
            assert!(error.to_string().contains("128"), "{error}");
        }
        // The leader leads on, and so do others.
        assert_eq!(call(store, renew(1, token)).await.unwrap(), RENEWED);
        for (key, renewal) in &healthy {
            assert_eq!(store.call(key, renewal.clone()).await.unwrap(), RENEWED);
        }
    }
    assert_eq!(sessions(&server), before, "the connection was replaced");
    let messages = server.sql("SELECT count(*) FROM tenure.leases_messages").unwrap();
    assert_eq!(messages.trim(), "0", "a message that was refused was sent");
    // The next grant replaces the profile.
    assert_eq!(call(store, release(1, token)).await.unwrap(), Reply::Released);
    granted(store, acquire(2, Some(token))).await;
    assert_eq!(held(store, Request::Observe).await.name, "worker-2");
    // A token that no grant has.
    server.sql("UPDATE tenure.leases SET token = 0 WHERE key = 'job'").unwrap();
    let error = call(store, Request::Observe).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::BadRecord, "{error}");
    assert_eq!(sessions(&server), before, "the connection was replaced");
}
