//! Futures of every kind, dropped at every point at which they wait. The other elections on the
//! same connection keep their leads, no new connection is opened, and the candidate still works.

use std::time::Duration;

use futures_util::StreamExt;
use tenure::{Candidate, Config, Elections, Event, Tenure};
use tenure_servers::Flow;
use tenure_sim::engines::cut;

use super::TestServer;
use crate::stores::support::{Events, run, soon};

/// Requests take twice that: long enough that a future that waits for one is dropped before its
/// reply.
const ONE_WAY: Duration = Duration::from_millis(2);
/// Many times as long as a request takes.
const PATIENCE: Duration = Duration::from_millis(100);
/// No future of these stories waits more often than that.
const POLLS: u64 = 200;

/// On a busy machine no lead ends for want of a renewal, and no request is given up.
fn config() -> Config {
    let lasting = Config::builder(Duration::from_secs(30)).renew_interval(Duration::from_secs(2));
    lasting.request_timeout(Duration::from_secs(5)).build().unwrap()
}

/// A leader beside whose elections futures are dropped.
struct Bystander {
    candidate: Candidate,
    tenure: Tenure,
    events: Events,
}

impl Bystander {
    async fn of(elections: &Elections, key: &str) -> Self {
        let candidate = elections.candidate(key).config(config()).start().unwrap();
        let tenure = soon(candidate.elected()).await.unwrap();
        // Only from then on: on a busy machine, the first connection may take longer than a request
        // may.
        let events = candidate.events().boxed();
        Self { candidate, tenure, events }
    }

    async fn noticed_nothing(mut self) {
        assert!(self.tenure.is_current(), "it still leads");
        soon(self.candidate.stop()).await.unwrap();
        while let Some(event) = soon(self.events.next()).await {
            let stops = matches!(event, Event::SteppedDown { .. } | Event::Stopped);
            let leads = matches!(event, Event::Elected(_) | Event::Renewed(_));
            assert!(stops || leads, "{event:?}");
        }
    }
}

/// Drops what `begin` begins before its first poll, after the first, after the second, and so on,
/// until it is done once. How often it was dropped.
async fn at_every_await<T>(begin: impl AsyncFn(u64) -> Option<T>) -> u64 {
    for polls in 0..POLLS {
        if soon(begin(polls)).await.is_some() {
            return polls;
        }
    }
    panic!("not done after {POLLS} polls");
}

/// Drops a future after so many polls, or when nothing has woken it for long.
async fn is_done(polls: u64, future: impl Future) -> bool {
    matches!(tokio::time::timeout(PATIENCE, cut(polls, future)).await, Ok(Some(_)))
}

async fn dropped_futures_disturb_no_other_election(server: TestServer) {
    let proxy = server.proxy().await;
    proxy.set(Flow::Delay(ONE_WAY));
    let elections = Elections::new(server.store_at(proxy.port()));
    let bystanders =
        [Bystander::of(&elections, "beside").await, Bystander::of(&elections, "beside-too").await];
    // Leads one election, and waits in another one, which is led over a connection of its own.
    let builder = |key| elections.candidate(key).config(config()).hold_off(Duration::ZERO);
    let leader = builder("job").start().unwrap();
    let tenure = soon(leader.elected()).await.unwrap();
    let (incumbent, _) = run(Candidate::builder(server.store(), "taken").config(config()));
    soon(incumbent.elected()).await.unwrap();
    let waiting = builder("taken").start().unwrap();
    soon(waiting.incumbent()).await.unwrap().expect("a leader");
    let connections = proxy.connections();

    looks_and_messages(&leader).await;
    for polls in 0..4 {
        assert!(!is_done(polls, tenure.ended()).await);
        assert!(!is_done(polls, waiting.elected()).await);
        assert!(!is_done(polls, tenure.inbox().next()).await);
        assert!(!is_done(polls, waiting.run_while_leader(async |_| {})).await);
        // It may be renewed just then.
        is_done(polls, leader.events().next()).await;
    }
    assert!(tenure.is_current());
    hand_overs(&leader).await;
    work(&leader).await;
    ends(&elections).await;
    soon(leader.stop()).await.unwrap();
    soon(incumbent.stop()).await.unwrap();
    // It stays out of the election from the first dropped work on, until work is offered again.
    soon(waiting.run_while_leader(async |_| {})).await.expect("it has waited");
    soon(waiting.stop()).await.unwrap();

    for bystander in bystanders {
        bystander.noticed_nothing().await;
    }
    assert_eq!(proxy.connections(), connections, "no new connection was opened");
}
story!(dropped_futures_disturb_no_other_election);

async fn looks_and_messages(leader: &Candidate) {
    let dropped = at_every_await(async |polls| cut(polls, leader.incumbent()).await).await;
    assert!(dropped >= 2, "it waits for the store");
    at_every_await(async |polls| cut(polls, leader.notify_leader("wake up", "now")).await).await;
}

async fn hand_overs(leader: &Candidate) {
    let dropped = at_every_await(async |polls| {
        let resigned = cut(polls, leader.resign()).await;
        // Begun or not, it leads again.
        leader.elected().await.unwrap();
        resigned
    });
    assert!(dropped.await >= 2, "it waits for the lease to be handed back");
}

/// Work that is dropped under a current tenure costs only its own candidate the lead.
async fn work(leader: &Candidate) {
    let busy = async |_| tokio::time::sleep(Duration::from_millis(1)).await;
    at_every_await(async |polls| cut(polls, leader.run_if_leader(busy)).await.flatten()).await;
    at_every_await(async |polls| {
        let done = cut(polls, leader.run_while_leader(busy)).await;
        // Without an offer of work it might stay out.
        leader.run_while_leader(async |_| {}).await.unwrap();
        done
    })
    .await;
}

/// A stop ends the candidate, however early its future is dropped.
async fn ends(elections: &Elections) {
    let started = async || {
        let candidate = elections.candidate("ends").config(config()).start().unwrap();
        candidate.elected().await.unwrap();
        candidate
    };
    at_every_await(async |polls| {
        let candidate = started().await;
        let stopped = cut(polls, candidate.stop()).await;
        assert!(polls == 0 || !candidate.is_leader());
        stopped
    })
    .await;
    at_every_await(async |polls| {
        let candidate = started().await;
        let shutdown = tokio::time::sleep(Duration::from_millis(1));
        cut(polls, candidate.run_until(shutdown, async |tenure| tenure.ended().await)).await
    })
    .await;
}

/// Two drivers share a connection, and one of them is dropped half way, again and again.
async fn a_dropped_driver_costs_no_connection(server: TestServer) {
    let proxy = server.proxy().await;
    proxy.set(Flow::Delay(ONE_WAY));
    let store = server.store_at(proxy.port());
    let bystander = Bystander::of(&Elections::new(store.clone()), "beside").await;
    let connections = proxy.connections();
    for polls in 0..20 {
        let builder = Candidate::builder(store.clone(), "job").config(config());
        let (candidate, driver) = builder.build().unwrap();
        assert!(!is_done(polls, driver.run()).await);
        soon(candidate.elected()).await.expect_err("no election without a driver");
    }
    bystander.noticed_nothing().await;
    assert_eq!(proxy.connections(), connections, "no new connection was opened");
}
story!(a_dropped_driver_costs_no_connection);
