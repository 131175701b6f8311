//! Hints: what wakes those who wait. The leases here last a minute, so that only a hint can explain a
//! takeover within seconds.

use std::pin::Pin;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tenure::Config;
use tenure::store::{AnyStore, Hint, Key, Reply, Store};
use tenure_servers::{Flow, Proxy, RedisServer, Reply as Raw};

use super::support::{Client, RECORD, acquire, call, granted, release, server, soon};

type Hints = Pin<Box<dyn Stream<Item = Hint> + Send>>;

const QUIET: Duration = Duration::from_millis(300);

fn listen(store: &AnyStore) -> Hints {
    Box::pin(store.hints(&Key::new("job").unwrap()))
}

async fn is_quiet(hints: &mut Hints) -> bool {
    tokio::time::timeout(QUIET, hints.next()).await.is_err()
}

/// Waits until the server counts that many subscribers of the election.
async fn subscribed(server: &RedisServer, wanted: i64) {
    soon(async {
        loop {
            let Raw::Array(counts) = server.command(&["PUBSUB", "NUMSUB", RECORD]).unwrap() else {
                panic!("PUBSUB NUMSUB answers with an array");
            };
            if counts.get(1) == Some(&Raw::Integer(wanted)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

fn patient() -> Config {
    Config::builder(Duration::from_secs(60)).build().unwrap()
}

async fn proxy(server: &RedisServer) -> Proxy {
    Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap()
}

over_both_clients! {
    async fn a_fresh_subscription_and_each_release_are_hints(client: Client) {
        let server = server();
        let store = client.at(server.port());
        let mut hints = listen(&store);
        soon(hints.next()).await.expect("the subscription itself");
        let (token, _) = granted(&store, acquire(1, None)).await;
        assert!(is_quiet(&mut hints).await, "a grant is no hint");
        call(&store, release(1, token)).await.unwrap();
        soon(hints.next()).await.expect("the release");
        assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::NotHeld);
        assert!(is_quiet(&mut hints).await, "nothing was released");
    }

    async fn each_election_hears_its_own_hints(client: Client) {
        let server = server();
        let store = client.at(server.port());
        let mut others: Hints = Box::pin(store.hints(&Key::new("other").unwrap()));
        let (mut one, mut two) = (listen(&store), listen(&store));
        for hints in [&mut others, &mut one, &mut two] {
            soon(hints.next()).await.unwrap();
        }
        let (token, _) = granted(&store, acquire(1, None)).await;
        call(&store, release(1, token)).await.unwrap();
        soon(one.next()).await.unwrap();
        soon(two.next()).await.unwrap();
        assert!(is_quiet(&mut others).await);
    }

    async fn hints_go_on_when_the_connection_was_cut(client: Client) {
        let server = server();
        let proxy = proxy(&server).await;
        let mut hints = listen(&client.at(proxy.port()));
        soon(hints.next()).await.unwrap();
        proxy.cut();
        soon(hints.next()).await.expect("the new subscription");
        let store = client.at(server.port());
        let (token, _) = granted(&store, acquire(1, None)).await;
        call(&store, release(1, token)).await.unwrap();
        soon(hints.next()).await.expect("the release, over the new connection");
    }

    async fn hints_begin_when_the_server_appears(client: Client) {
        let mut server = server();
        server.kill().unwrap();
        let mut hints = listen(&client.at(server.port()));
        assert!(is_quiet(&mut hints).await);
        server.restart().unwrap();
        soon(hints.next()).await.unwrap();
    }

    async fn a_standby_whose_connection_was_cut_is_still_woken(client: Client) {
        let server = server();
        let proxy = proxy(&server).await;
        let leader = client.candidate(server.port(), "leader", patient());
        let first = soon(leader.elected()).await.unwrap();
        let standby = client.candidate(proxy.port(), "standby", patient());
        subscribed(&server, 2).await;
        proxy.cut();
        subscribed(&server, 1).await;
        subscribed(&server, 2).await;
        leader.resign().await.unwrap();
        let second = soon(standby.elected()).await.unwrap();
        assert!(second.token() > first.token());
    }

    async fn a_release_while_the_standby_is_cut_off_is_found_on_reconnecting(client: Client) {
        let server = server();
        let proxy = proxy(&server).await;
        let leader = client.candidate(server.port(), "leader", patient());
        soon(leader.elected()).await.unwrap();
        let standby = client.candidate(proxy.port(), "standby", patient());
        subscribed(&server, 2).await;
        proxy.refuse(true);
        proxy.cut();
        subscribed(&server, 1).await;
        leader.stop().await.unwrap();
        tokio::time::sleep(QUIET).await;
        assert!(!standby.is_leader());
        proxy.refuse(false);
        soon(standby.elected()).await.unwrap();
    }

    async fn a_lost_hint_costs_a_poll_bound_at_most(client: Client) {
        let server = server();
        let proxy = proxy(&server).await;
        let leader = client.candidate(server.port(), "leader", patient());
        soon(leader.elected()).await.unwrap();
        let often = Config::builder(Duration::from_secs(60))
            .poll_bound(Duration::from_secs(1))
            .request_timeout(Duration::from_millis(500))
            .build()
            .unwrap();
        let standby = client.candidate(proxy.port(), "standby", often);
        subscribed(&server, 2).await;
        // Nothing comes through, and nobody is told.
        proxy.set_replies(Flow::BlackHole);
        leader.stop().await.unwrap();
        tokio::time::sleep(QUIET).await;
        proxy.set_replies(Flow::Forward);
        soon(standby.elected()).await.unwrap();
    }
}
