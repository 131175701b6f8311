//! The last read that a process has kept, and begins its next request with.

use tenure::store::mysql::Mysql;
use tenure::store::{Reply, Store};
use tenure_servers::MariadbServer;

use super::support::{acquire, after_watching, call, local, server, shown};

/// A candidate that has watched one past, as its process knows it, is granted nothing by another.
async fn is_compared(changes: impl AsyncFn(&MariadbServer)) {
    let server = server();
    let store = Mysql::new(local(server.port()));
    shown(&store, acquire(1, None)).await;
    let request = acquire(1, None);
    let kept = shown(&store, request.clone()).await;
    let stamp = kept.sight.past.unwrap().stamp;
    changes(&server).await;
    let reply = call(&store, after_watching(&request, &kept)).await.unwrap();
    let Reply::Not(shown) = reply else { panic!("{:?}: {reply:?}", store.traits().name) };
    assert_ne!(shown.sight.past.unwrap().stamp, stamp);
}

#[tokio::test]
async fn the_past_is_compared() {
    is_compared(async |server| {
        server.sql("TRUNCATE TABLE tenure_leases_past").unwrap();
        shown(&Mysql::new(local(server.port())), acquire(2, None)).await;
    })
    .await;
}

#[tokio::test]
async fn the_server_is_compared() {
    is_compared(async |server| {
        server.sql("UPDATE tenure_leases_boot SET nonce = UUID()").unwrap();
    })
    .await;
}
