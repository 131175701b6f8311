//! A record with a longer name or longer metadata than any candidate has.

use std::time::Duration;

use tenure::store::{Reply, Request, Store, StoreErrorKind};

use super::support::{Folder, acquire, call, granted, job, leads_all, renew};

/// The file stays open for the others.
#[tokio::test]
async fn an_oversized_profile_refuses_only_its_election() {
    let folder = Folder::new();
    let store = folder.store();
    let healthy = leads_all(&store, 2).await;
    for damage in [
        "name = printf('%.*c', 129, 'a')",
        "metadata = zeroblob(4097)",
        "metadata = zeroblob(16000000)",
        "name = printf('%.*c', 1000000, 'a')",
    ] {
        folder.execute("DELETE FROM elections WHERE key = 'job'");
        let token = granted(&store, acquire(1, None)).await;
        let renewal = renew(1, token);
        folder.execute(&format!("UPDATE elections SET {damage} WHERE key = 'job'"));
        for request in [Request::Observe, acquire(2, None), acquire(1, None), renewal.clone()] {
            let error = call(&store, request.clone()).await.unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::BadRecord, "{damage}: {error}");
            let shown = error.to_string();
            assert!(shown.contains("the record of \"job\"") && shown.contains("bytes"), "{shown}");
        }
        let (first, last) = (healthy[0].clone(), healthy[1].clone());
        match &store.call_all(vec![first, (job(), renewal), last]).await[..] {
            [Ok(Reply::Renewed { .. }), Err(error), Ok(Reply::Renewed { .. })] => {
                assert_eq!(error.kind(), StoreErrorKind::BadRecord, "{error}");
            }
            other => panic!("{damage}: {other:?}"),
        }
    }
    folder.execute("UPDATE elections SET released = 1 WHERE key = 'job'");
    assert_eq!(store.purge(Duration::ZERO).await.unwrap(), 0, "damage is for an operator to see");
    folder.execute("DELETE FROM elections WHERE key = 'job'");
    granted(&store, acquire(1, None)).await;
}
