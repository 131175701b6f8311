//! Many acquires or renewals in one call, where one record's trouble is that record's alone; and
//! many calls in flight.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, join_all, select};
use tenure::store::{AnyStore, Key, Reply, Request, Store, StoreErrorKind};
use tenure_servers::{Flow, Proxy, RedisServer};

use super::support::{Client, acquire, call, calls, renew, server, soon};

const ELECTIONS: usize = 8;
/// The sections of INFO that a grant needs.
const EXAMINED: u64 = 3;

fn keys() -> Vec<Key> {
    (0..ELECTIONS).map(|number| Key::new(format!("job-{number}")).unwrap()).collect()
}

fn record(number: usize) -> String {
    format!("{{tenure}}:leader:job-{number}")
}

/// The elections whose records the server damages, each in another way.
const DAMAGED: [usize; 4] = [1, 3, 5, 7];

/// The requests of one call.
async fn refuses_only_damaged(
    server: &RedisServer,
    store: &AnyStore,
    requests: Vec<(Key, Request)>,
) {
    server.command(&["DEL", &record(3)]).unwrap();
    server.command(&["SET", &record(3), "not ours"]).unwrap();
    server.command(&["HSET", &record(5), "token", "seven", "holder", "x"]).unwrap();
    server.command(&["HSET", &record(7), "number", "nan"]).unwrap();
    server.command(&["HSET", &record(1), "number", "1", "quarantine", ""]).unwrap();
    for (number, reply) in store.call_all(requests).await.into_iter().enumerate() {
        match reply {
            Err(error) if DAMAGED.contains(&number) => {
                assert_eq!(error.kind(), StoreErrorKind::BadRecord, "{error}");
            }
            Ok(Reply::Granted { .. } | Reply::Renewed { .. }) if !DAMAGED.contains(&number) => {}
            other => panic!("election {number}: {other:?}"),
        }
    }
}

over_both_clients! {
    async fn damaged_records_refuse_only_their_acquires(client: Client) {
        let server = server();
        let store = client.at(server.port());
        let acquires = keys().into_iter().map(|key| (key, acquire(1, None))).collect();
        refuses_only_damaged(&server, &store, acquires).await;
    }

    async fn damaged_records_refuse_only_their_renewals(client: Client) {
        let server = server();
        let store = client.at(server.port());
        let mut renewals = Vec::new();
        for key in keys() {
            let reply = store.call(&key, acquire(1, None)).await.unwrap();
            let Reply::Granted { token } = reply else { panic!("{reply:?}") };
            renewals.push((key, renew(1, token)));
        }
        refuses_only_damaged(&server, &store, renewals).await;
    }

    /// An examination is most of a grant's cost at the server.
    async fn a_call_of_acquires_examines_the_server_once(client: Client) {
        let server = server();
        let store = client.at(server.port());
        let acquires: Vec<_> = keys().into_iter().map(|key| (key, acquire(1, None))).collect();
        let others = acquires.iter().map(|(key, _)| (key.clone(), acquire(2, None))).collect();
        // A connection begins with an examination of its own.
        call(&store, Request::Observe).await.unwrap();
        // The second call is refused, and examines nothing.
        for (requests, examined) in [(acquires, EXAMINED), (others, 0)] {
            let before = (calls(&server, "evalsha"), calls(&server, "info"));
            for reply in store.call_all(requests).await {
                assert!(matches!(reply, Ok(Reply::Granted { .. } | Reply::Not(_))), "{reply:?}");
            }
            // Counting takes an INFO each time.
            let after = (calls(&server, "info"), calls(&server, "evalsha"));
            assert_eq!(after, (before.1 + 1 + examined, before.0 + 1));
        }
    }

    /// Otherwise a connection would carry out one call in each round trip.
    async fn no_call_waits_for_the_reply_to_another(client: Client) {
        let server = server();
        let proxy = Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap();
        let store = client.at(proxy.port());
        call(&store, Request::Observe).await.unwrap();
        let before = calls(&server, "evalsha");
        proxy.set_replies(Flow::Hold);
        let in_flight = pin!(join_all((0..ELECTIONS).map(|_| call(&store, Request::Observe))));
        let arrived = pin!(soon(async {
            while calls(&server, "evalsha") < before + ELECTIONS as u64 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }));
        let Either::Right(((), in_flight)) = select(in_flight, arrived).await else {
            panic!("no reply was passed on");
        };
        proxy.set_replies(Flow::Forward);
        assert!(in_flight.await.iter().all(Result::is_ok));
    }
}
