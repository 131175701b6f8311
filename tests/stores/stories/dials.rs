//! The dials of a server that is away: as rare for many elections as for one.

use std::time::Duration;

use tenure::store::StoreErrorKind;
use tenure::{Candidate, Elections};

use super::TestServer;
use crate::stores::support::soon;

const ELECTIONS: usize = 200;
const OUTAGE: Duration = Duration::from_secs(5);
/// Pauses that double from 100 ms to 2.5 s, of which half is taken on average, leave room for
/// eight.
const DIALS: u64 = 80;

async fn all_lead(candidates: &[Candidate]) {
    soon(async {
        while !candidates.iter().all(Candidate::is_leader) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

async fn many_elections_dial_as_rarely_as_one(mut server: TestServer) {
    // It accepts connections also while the server is away, and ends them at once.
    let proxy = server.proxy().await;
    let elections = Elections::new(server.store_at(proxy.port()));
    let start = |number| {
        elections.candidate(format!("job-{number}")).config(server.steady).start().unwrap()
    };
    let candidates: Vec<_> = (0..ELECTIONS).map(start).collect();
    all_lead(&candidates).await;
    server.process().kill();
    let before = proxy.connections();
    tokio::time::sleep(OUTAGE).await;
    let dials = proxy.connections() - before;
    let most = DIALS * server.connections;
    assert!((1..=most).contains(&dials), "{dials} dials in {OUTAGE:?}");
    // And the application learns why before its request times out, unless a dial takes longer on a
    // busy machine.
    let is_told_why = async {
        while candidates[0].incumbent().await.unwrap_err().kind() == StoreErrorKind::Timeout {}
    };
    soon(is_told_why).await;
    server.process().restart();
    all_lead(&candidates).await;
}
story!(many_elections_dial_as_rarely_as_one);
