//! Elections at a server without faults.

use std::time::{Duration, Instant};

use tenure::store::{StoreErrorKind, TokenKind};
use tenure::{Candidate, Config, Elections, Event};

use super::TestServer;
use crate::stores::support::{
    Watch, event, falls, learns_of_leader, soon, start, store_error, unix_micros,
};

const ELECTIONS: usize = 200;

async fn a_candidate_that_starts_before_its_server_leads(mut server: TestServer) {
    server.process().kill();
    let (candidate, mut events) = start(server.store(), "early", server.steady);
    let error = store_error(&mut events).await;
    assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error}");
    assert!(!candidate.is_leader());
    assert_eq!(candidate.incumbent().await.unwrap_err().kind(), StoreErrorKind::Unreachable);
    server.process().restart();
    event(&mut events, |event| matches!(event, Event::StoreRecovered).then_some(())).await;
    soon(candidate.elected()).await.unwrap();
    assert_eq!(soon(candidate.incumbent()).await.unwrap().unwrap().name, "early");
}
story!(a_candidate_that_starts_before_its_server_leads);

/// Leases last a minute: a takeover within seconds has not waited for the end of one.
async fn leaders_hand_over_at_once(server: TestServer) {
    let patient = Config::builder(Duration::from_secs(60)).build().unwrap();
    let one = server.candidate("one", patient);
    let first = soon(one.elected()).await.unwrap();
    if server.traits().tokens == TokenKind::WallClockFloor {
        assert!(first.token().get() <= unix_micros());
    }
    let (two, mut events) = start(server.store(), "two", patient);
    assert_eq!(learns_of_leader(&mut events).await, first.token());
    let watch = Watch::over(&[&one, &two]);
    soon(one.resign()).await.unwrap();
    assert!(!one.is_leader() && !first.is_current());
    let second = soon(two.elected()).await.unwrap();
    assert!(second.token() > first.token());
    let three = server.candidate("three", patient);
    let incumbent = soon(three.incumbent()).await.unwrap().unwrap();
    assert_eq!((incumbent.token, &*incumbent.name), (second.token(), "two"));
    soon(two.stop()).await.unwrap();
    // The one that resigned first still holds off.
    assert!(soon(three.elected()).await.unwrap().token() > second.token());
    watch.nobody_overlapped();
}
story!(leaders_hand_over_at_once);

/// The one that is meant leads next, though another one waits too. A candidate may ask too late,
/// and is asked for again: beside builds, a store that waits for the disk may be slow for minutes.
async fn hands_over(leader: &Candidate, to: Option<&str>) {
    let asks = async {
        while let Err(error) = leader.hand_over(to).await {
            eprintln!("not handed over: {error}");
            if !leader.is_leader() {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(240), asks).await.expect("within the bound");
}

async fn the_lead_is_handed_to_the_one_that_is_meant(server: TestServer) {
    let config = server.steady;
    let one = server.candidate("one", config);
    let first = soon(one.elected()).await.unwrap();
    let (two, three) = (server.candidate("two", config), server.candidate("three", config));
    let watch = Watch::over(&[&one, &two, &three]);
    hands_over(&one, Some("three")).await;
    assert!(!one.is_leader());
    let next = soon(three.elected()).await.unwrap();
    assert!(next.token() > first.token() && !two.is_leader());
    hands_over(&three, None).await;
    let incumbent = soon(async {
        loop {
            match one.incumbent().await.unwrap() {
                Some(incumbent) if incumbent.token > next.token() => return incumbent,
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    });
    assert_ne!(incumbent.await.name, "three");
    watch.nobody_overlapped();
}
story!(the_lead_is_handed_to_the_one_that_is_meant);

async fn no_lead_is_lost_without_a_fault(server: TestServer) {
    let config = server.steady;
    let one = server.candidate("one", config);
    soon(one.elected()).await.unwrap();
    let two = server.candidate("two", config);
    let (fallen, watch) = (falls(&one), Watch::over(&[&one, &two]));
    tokio::time::sleep(config.renew_interval() * 5).await;
    assert!(one.is_leader() && !two.is_leader());
    assert_eq!(*fallen.lock().unwrap(), []);
    watch.nobody_overlapped();
}
story!(no_lead_is_lost_without_a_fault);

async fn many_elections_share_their_connections(server: TestServer) {
    let proxy = server.proxy().await;
    let elections = Elections::new(server.store_at(proxy.port()));
    let config = Config::builder(Duration::from_secs(120)).build().unwrap();
    let start = |number| elections.candidate(format!("shard:{number}")).config(config).start();
    let began = Instant::now();
    let all: Vec<_> = (0..ELECTIONS).map(|number| start(number).unwrap()).collect();
    for candidate in &all {
        soon(candidate.elected()).await.unwrap();
    }
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(proxy.connections(), server.connections);
    let (first, rest) = all.split_first().unwrap();
    soon(first.stop()).await.unwrap();
    assert!(!first.is_leader() && rest.iter().all(Candidate::is_leader));
}
story!(many_elections_share_their_connections);
