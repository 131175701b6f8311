//! A server's state for elections: nothing for those that have ended.

use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{FutureExt, StreamExt};
use tenure::store::Store;
use tenure::{Candidate, Elections};

use super::TestServer;
use crate::stores::support::soon;

const ELECTIONS: usize = 60;

/// Waits until the server has as many subscriptions as that.
async fn subscriptions(server: &mut TestServer, are: impl Fn(usize) -> bool) {
    let process = server.process();
    soon(async {
        while !are(process.subscriptions()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

async fn stop(candidates: impl IntoIterator<Item = Candidate>) {
    let stop = async |candidate: Candidate| soon(candidate.stop()).await.unwrap();
    join_all(candidates.into_iter().map(stop)).await;
}

async fn ended_elections_leave_no_subscription(mut server: TestServer) {
    let store = server.store();
    let before = server.process().subscriptions();
    let elections = Elections::new(store.clone());
    let start = |number| {
        elections.candidate(format!("job-{number}")).config(server.steady).start().unwrap()
    };
    let mut candidates: Vec<_> = (0..ELECTIONS).map(start).collect();
    // One for each election, or one for all.
    let is_for_each = ["redis", "fred"].contains(&store.traits().name);
    let of = |elections: usize| before + if is_for_each { elections } else { 1 };
    subscriptions(&mut server, |count| count == of(ELECTIONS)).await;
    stop(candidates.drain(1..)).await;
    subscriptions(&mut server, |count| count == of(1)).await;

    let tenure = soon(candidates[0].elected()).await.unwrap();
    if store.traits().messages {
        let mut inbox = tenure.inbox();
        soon(async {
            // Until the server knows it. A request that times out on a busy machine is one more
            // attempt.
            while inbox.next().now_or_never().is_none() {
                let _ = candidates[0].notify_leader("are you", "there").await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        if is_for_each {
            assert_eq!(server.process().subscriptions(), of(2));
        }
        drop(inbox);
        subscriptions(&mut server, |count| count == of(1)).await;
    }
    stop(candidates).await;
    subscriptions(&mut server, |count| count == before).await;
    // The store and the driver are still there, and take new elections.
    let again = elections.candidate("job-0").config(server.steady).start().unwrap();
    subscriptions(&mut server, |count| count == of(1)).await;
    drop((again, tenure));
    subscriptions(&mut server, |count| count == before).await;
}
story!(ended_elections_leave_no_subscription: redis_rs, fred, postgres, etcd, kubernetes);
