//! Pauses, delays and losses between the steps of one request.

use std::time::{Duration, Instant};

use tenure::Token;
use tenure::store::etcd::Etcd;
use tenure::store::{Key, Reply, Request, Store, StoreErrorKind};
use tenure_servers::{EtcdCluster, Flow, Proxy};

use super::support::{
    FAST, RENEWED, SOON, acquire, acquire_for, answered, at, call, granted, held, is_unwatched,
    job, server, soon, vacant,
};

/// A keepalive that is answered by a leader which was replaced while it was paused extends nothing:
/// it must not count.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_by_a_replaced_leader_is_void() {
    let mut cluster = EtcdCluster::start(3, &FAST).unwrap();
    let ttl = Duration::from_secs(20);
    for round in 0..5_u128 {
        let paused = cluster.leader(0).unwrap();
        let store = at(&[cluster.ports()[paused]]);
        // Answered, because such members may change their leader at any time.
        let mut reply = answered(&store, acquire_for(round + 1, None, ttl)).await;
        if let Reply::Not(shown) = reply {
            reply = answered(&store, acquire_for(round + 1, shown.sight.last, ttl)).await;
        }
        let Reply::Granted { token: seen } = reply else { panic!("{reply:?}") };
        let renew = || super::support::renew(round + 1, seen);
        assert_eq!(answered(&store, renew()).await, RENEWED);
        cluster.member(paused).pause().unwrap();
        // It waits in the socket of the one that is paused.
        let key = job();
        let mut waiting = Box::pin(store.call(&key, renew()));
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        let other = (paused + 1) % 3;
        let replaced = async {
            while cluster.leader(other).unwrap() == paused {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(SOON, replaced).await.unwrap();
        // For long enough to tell a lease that is extended now from one that was then.
        tokio::time::sleep(Duration::from_secs(3)).await;
        let resumed = Instant::now();
        cluster.member(paused).resume().unwrap();
        // The outcome is the same, whether the paused leader notices the request or its successor
        // first.
        match tokio::time::timeout(SOON, waiting).await.unwrap() {
            Ok(Reply::Renewed { .. }) => {
                // It was extended, if it lasts for as long as a lease does that is renewed now.
                let rest =
                    ttl.saturating_sub(Duration::from_secs(1)).saturating_sub(resumed.elapsed());
                tokio::time::sleep(rest).await;
                let others = at(&[cluster.ports()[other]]);
                let observed = answered(&others, Request::Observe).await;
                let Reply::At(shown) = observed else { panic!("{observed:?}") };
                // A pause of the machine may outlast it.
                let is_extended = shown.incumbent().is_some() || resumed.elapsed() >= ttl;
                assert!(is_extended, "answered, and not extended: {shown:?}, tenure {seen:?}");
            }
            Ok(other) => panic!("{other:?}"),
            Err(_) => {}
        }
        let reply = answered(&at(&cluster.ports()), super::support::release(round + 1, seen)).await;
        // Not held if it was released by a try without an answer.
        assert!(matches!(reply, Reply::Released | Reply::NotHeld), "{reply:?}");
    }
}

/// Its keepalive was answered in one term and its read in the next: the first answer may be an old
/// leader's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_across_etcd_leaders_is_unknown() {
    // Not FAST: such members may change their leader by themselves before the test does.
    let cluster = EtcdCluster::start(3, &[]).unwrap();
    let leader = cluster.leader(0).unwrap();
    let target = ([127, 0, 0, 1], cluster.ports()[leader]).into();
    let proxy = Proxy::start(target).await.unwrap();
    let store = at(&[proxy.port()]);
    let reply = answered(&store, acquire(1, None)).await;
    let Reply::Granted { token } = reply else { panic!("{reply:?}") };
    let renew = || super::support::renew(1, token);
    assert_eq!(answered(&store, renew()).await, RENEWED);

    let before = proxy.withheld();
    proxy.set_replies(Flow::Hold);
    let waiting = tokio::spawn({
        let (store, renew) = (store.clone(), renew());
        async move { store.call(&job(), renew).await }
    });
    // The keepalive is done, and its answer on the way. The first piece may be an acknowledgement
    // of HTTP/2.
    soon(async {
        while proxy.withheld() == before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let next = (leader + 1) % 3;
    cluster.move_leader(next).unwrap();
    assert_eq!(cluster.leader(leader).unwrap(), next);
    proxy.set_replies(Flow::Forward);
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NoLeader, "{error}");
    assert_eq!(answered(&store, renew()).await, RENEWED);
}

/// A whole tenure of another candidate passes between the steps of an acquire without a seen token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_two_interleaved_first_acquires_is_granted() {
    let server = server();
    let direct = at(&[server.port()]);
    let proxy = Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap();
    let slow = at(&[proxy.port()]);
    let apart = Duration::from_millis(60);
    call(&slow, Request::Observe).await.unwrap();
    proxy.set_requests(Flow::Delay(apart));
    for offset in 0..12 {
        let key = Key::new(format!("job-{offset}")).unwrap();
        let late = tokio::spawn({
            let (slow, key) = (slow.clone(), key.clone());
            async move { slow.call(&key, acquire(1, None)).await }
        });
        tokio::time::sleep(apart / 2 * offset).await;
        let first = direct.call(&key, acquire(2, None)).await.unwrap();
        if let Reply::Granted { token } = first {
            let release = super::support::release(2, token);
            assert_eq!(direct.call(&key, release).await.unwrap(), Reply::Released);
        }
        let late = late.await.unwrap().unwrap();
        let is_granted = |reply: &Reply| matches!(reply, Reply::Granted { .. });
        assert!(is_granted(&late) != is_granted(&first), "{first:?}, and then {late:?}");
    }
}

/// Given up at every possible point; the next try finds the election in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_requests_leave_nothing_half_done() {
    let server = server();
    let store = at(&[server.port()]);
    let other = at(&[server.port()]);
    let mut last = None;
    for step in 0..60_u64 {
        let patience = Duration::from_micros(step * 100);
        let number = u128::from(step) + 1;
        let key = job();
        let _ = tokio::time::timeout(patience, store.call(&key, acquire(number, last))).await;
        // A repeated grant if the first acquire arrived, a new one otherwise.
        let token = granted(&store, acquire(number, last)).await;
        assert!(last < Some(token));
        let renew = || super::support::renew(number, token);
        let _ = tokio::time::timeout(patience, store.call(&key, renew())).await;
        assert_eq!(call(&store, renew()).await.unwrap(), RENEWED);
        let incumbent = held(&other, acquire(1_000, last)).await;
        assert_eq!(incumbent.token, token);
        let release = || super::support::release(number, token);
        let _ = tokio::time::timeout(patience, store.call(&key, release())).await;
        let reply = call(&store, release()).await.unwrap();
        assert!(matches!(reply, Reply::Released | Reply::NotHeld), "{reply:?}");
        vacant(&other).await;
        last = Some(token);
    }
}

/// Requests that were held back in the network arrive in the tenure of another holder.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_requests_change_no_other_tenure() {
    let server = server();
    let direct = at(&[server.port()]);
    let proxy = Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap();
    let mut token = granted(&direct, acquire(1, None)).await;
    for round in 0..10_u128 {
        let late = at(&[proxy.port()]);
        let (old, new) = (round + 1, round + 2);
        assert_eq!(call(&late, super::support::renew(old, token)).await.unwrap(), RENEWED);
        proxy.set_requests(Flow::Hold);
        let key = job();
        let requests = [
            super::support::renew(old, token),
            super::support::release(old, token),
            acquire(old, None),
        ];
        let waiting = requests.map(|request| {
            let (late, key) = (late.clone(), key.clone());
            tokio::spawn(async move { late.call(&key, request).await })
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(
            call(&direct, super::support::release(old, token)).await.unwrap(),
            Reply::Released
        );
        let next = granted(&direct, acquire(new, Some(token))).await;
        proxy.set_requests(Flow::Forward);
        for (late, answer) in waiting.into_iter().enumerate() {
            // Some are unknown: one that was given up ends the connection of the others.
            let Ok(answer) = answer.await.unwrap() else { continue };
            let fits = match late {
                0 => matches!(answer, Reply::Superseded { .. }),
                1 => answer == Reply::NotHeld,
                _ => {
                    matches!(&answer, Reply::Not(shown) if shown.incumbent().is_some_and(|one| one.token == next))
                }
            };
            assert!(fits, "request {late} was answered {answer:?}");
        }
        let incumbent = held(&direct, Request::Observe).await;
        assert_eq!((incumbent.token, incumbent.holder), (next, super::support::holder(new)));
        token = next;
    }
}

/// A slow store, an election whose lease was given back under that token, and what is to happen
/// between the steps of a request of the slow store: another candidate proves that grants were
/// lost.
async fn a_loss_is_noticed_meanwhile<T>(request: impl AsyncFnOnce(Etcd, Token) -> T) -> (T, bool) {
    let server = server();
    let direct = at(&[server.port()]);
    let token = granted(&direct, acquire(1, None)).await;
    assert_eq!(call(&direct, super::support::release(1, token)).await.unwrap(), Reply::Released);
    let proxy = Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap();
    let slow = at(&[proxy.port()]);
    vacant(&slow).await;
    proxy.set_replies(Flow::Hold);
    let before = proxy.withheld();
    let notices = async {
        // The request has read what it decides by, and has written nothing.
        soon(async {
            while proxy.withheld() == before {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        // The first piece may be an acknowledgement of HTTP/2, and not what was read.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let beyond = Token::new(token.get() + 1_000_000);
        assert!(is_unwatched(&direct, acquire(2, beyond)).await);
        proxy.set_replies(Flow::Forward);
    };
    let (reply, ()) = tokio::join!(request(slow, token), notices);
    (reply, is_unwatched(&direct, acquire(3, Some(token))).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acquire_that_has_read_an_older_past_is_not_granted() {
    let acquires = async |slow: Etcd, token| call(&slow, acquire(4, Some(token))).await;
    let (reply, is_unwatched) = a_loss_is_noticed_meanwhile(acquires).await;
    assert!(matches!(reply, Ok(Reply::Not(_))) && is_unwatched, "{reply:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purge_that_has_read_an_older_past_keeps_the_new_one() {
    let purges = async |slow: Etcd, _| slow.purge(Duration::ZERO).await;
    let (deleted, is_unwatched) = a_loss_is_noticed_meanwhile(purges).await;
    assert!(is_unwatched, "{deleted:?}");
}
