//! A damaged record costs its own election alone: the connection stays, and so do the leads of all
//! others.

use tenure::store::{Key, Reply, Request, Store, StoreErrorKind};

use super::TestServer;
use crate::stores::support::{RENEWED, acquire, renew, soon};

const LOOKS: usize = 50;

async fn a_damaged_record_costs_only_its_own_election(mut server: TestServer) {
    let proxy = server.proxy().await;
    let store = server.store_at(proxy.port());
    let mut renewals = Vec::new();
    for name in ["healthy", "damaged", "other"] {
        let key = Key::new(name).unwrap();
        let reply = soon(store.call(&key, acquire(1, None))).await.unwrap();
        let Reply::Granted { token } = reply else { panic!("{reply:?}") };
        // A batch of renewals has to follow one that has compared the server.
        assert_eq!(soon(store.call(&key, renew(1, token))).await.unwrap(), RENEWED);
        renewals.push((key, renew(1, token)));
    }
    server.process().damage();
    let damaged = renewals[1].0.clone();
    let before = proxy.connections();
    for _ in 0..LOOKS {
        let acquires = renewals.iter().map(|(key, _)| (key.clone(), acquire(2, None))).collect();
        let answers = soon(store.call_all(acquires)).await;
        assert!(
            matches!(answers[..], [Ok(Reply::Not(_)), Err(_), Ok(Reply::Not(_))]),
            "{answers:?}"
        );
        let looks = [
            answers.into_iter().nth(1).unwrap(),
            soon(store.call(&damaged, Request::Observe)).await,
        ];
        for error in looks.map(Result::unwrap_err) {
            assert_eq!(error.kind(), StoreErrorKind::BadRecord, "{error}");
        }
        let answers = soon(store.call_all(renewals.clone())).await;
        assert!(
            matches!(answers[..], [Ok(Reply::Renewed { .. }), _, Ok(Reply::Renewed { .. })]),
            "{answers:?}"
        );
    }
    assert_eq!(proxy.connections(), before, "the connection was replaced");
}
story!(a_damaged_record_costs_only_its_own_election: redis_rs, fred, postgres, etcd, mysql);
