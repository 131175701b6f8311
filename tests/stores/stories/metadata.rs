//! Metadata that a leader replaces, over every store that runs as a server.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use tenure::store::{AnyStore, Incumbent, Profile, Reply, Request, Store};
use tenure::{Candidate, Config, Observer};
use tenure_servers::Flow;

use super::TestServer;
use crate::stores::sqlite::support::Folder;
use crate::stores::support::{acquire, call, falls, granted, holder, soon, start};

fn leads_for_long() -> Config {
    Config::builder(Duration::from_secs(60)).poll_bound(Duration::from_millis(200)).build().unwrap()
}

/// Waits until others are told that.
async fn shows(leaders: &mut Observer, wanted: &str) -> Incumbent {
    soon(async {
        loop {
            // A cut connection is an item too.
            if let Ok(Some(leader)) = leaders.next().await.unwrap()
                && leader.metadata == wanted
            {
                return leader;
            }
        }
    })
    .await
}

async fn others_see_what_a_leader_tells(one: AnyStore, other: AnyStore) {
    let (leader, _) = start(one, "first", leads_for_long());
    let tenure = soon(leader.elected()).await.unwrap();
    let (second, _) = start(other, "second", leads_for_long());
    second.set_metadata("waiting").unwrap();
    let mut leaders = second.observe();
    for metadata in ["10.0.0.7:80", "10.0.0.7:81"] {
        leader.set_metadata(metadata).unwrap();
        let seen = shows(&mut leaders, metadata).await;
        assert_eq!((seen.token, seen.name.as_str()), (tenure.token(), "first"));
        // At once, though the next renewal is far away.
        assert!(seen.renewed_ago < seen.ttl);
    }
    soon(leader.stop()).await.unwrap();
    let next = soon(second.elected()).await.unwrap();
    let seen = shows(&mut leaders, "waiting").await;
    assert_eq!((seen.token, seen.name.as_str()), (next.token(), "second"));
}

async fn others_see_the_change(server: TestServer) {
    others_see_what_a_leader_tells(server.store(), server.store()).await;
}
story!(others_see_the_change);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_processes_of_a_file_see_the_change() {
    let folder = Folder::new();
    let store = || AnyStore::new(folder.store());
    others_see_what_a_leader_tells(store(), store()).await;
}

async fn a_change_survives_cuts_and_pauses(mut server: TestServer) {
    let proxy = server.proxy().await;
    let leader: Candidate = server.candidate_at(proxy.port(), "one", server.steady);
    let fallen = falls(&leader);
    soon(leader.elected()).await.unwrap();
    let mut leaders = leader.observe();
    proxy.cut();
    leader.set_metadata("through a new connection").unwrap();
    shows(&mut leaders, "through a new connection").await;
    server.process().pause();
    leader.set_metadata("to a paused server").unwrap();
    tokio::time::sleep(server.steady.request_timeout() * 3 / 2).await;
    leader.set_metadata("and another").unwrap();
    server.process().resume();
    shows(&mut leaders, "and another").await;
    assert!(leader.is_leader() && fallen.lock().unwrap().is_empty());
}
story!(a_change_survives_cuts_and_pauses);

/// A request timeout may allow for no more. A slow machine, and one that pauses, adds to requests;
/// so the quickest of several tries counts.
async fn a_change_takes_no_more_round_trips_than_declared(server: TestServer) {
    let apart = Duration::from_millis(300);
    let proxy = server.proxy().await;
    let store = server.store_at(proxy.port());
    let token = granted(&store, acquire(1, None)).await;
    let (mut least, most) = (u128::MAX, u128::from(store.traits().round_trips));
    for version in 1..=10 {
        if version > 3 && least <= most {
            break;
        }
        let profile = Profile::new("one", format!("{version}")).unwrap();
        let describe = Request::Describe { holder: holder(1), token, version, profile };
        proxy.set_requests(Flow::Delay(apart));
        let began = Instant::now();
        assert_eq!(call(&store, describe).await.unwrap(), Reply::Described);
        least = least.min(began.elapsed().as_millis() / apart.as_millis());
        proxy.set_requests(Flow::Forward);
    }
    assert!(least <= most, "{least}");
}
story!(a_change_takes_no_more_round_trips_than_declared);
