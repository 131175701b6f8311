//! Elections over three members, while members fail.

use std::time::Duration;

use tenure::{Candidate, Config, Token};
use tenure_servers::{EtcdCluster, Flow, Proxy};

use super::support::{FAST, Watch, at, quick, renewed, soon, start};

fn cluster() -> EtcdCluster {
    EtcdCluster::start(3, &FAST).expect("three etcd servers")
}

/// Three candidates, each of which begins with another member.
struct Three {
    all: Vec<Candidate>,
    watch: Watch,
    highest: Option<Token>,
    config: Config,
}

impl Three {
    fn at(ports: &[u16], config: Config) -> Self {
        let all: Vec<_> = (0..3)
            .map(|number| {
                let mut ports = ports.to_vec();
                ports.rotate_left(number);
                start(at(&ports), &format!("candidate-{number}"), config).0
            })
            .collect();
        let watch = Watch::over(&all.iter().collect::<Vec<_>>());
        Self { all, watch, highest: None, config }
    }

    /// Waits until one leads by a lease that was granted or renewed from now on: no older lease
    /// lasts so long.
    async fn one_leads(&mut self) -> Candidate {
        tokio::time::sleep(self.config.ttl()).await;
        self.leader().await
    }

    async fn leader(&mut self) -> Candidate {
        let found = soon(async {
            loop {
                for one in &self.all {
                    if let Some(tenure) = one.tenure().filter(tenure::Tenure::is_current) {
                        return (one.clone(), tenure.token());
                    }
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        let (leader, token) = found.await;
        assert!(self.highest <= Some(token), "{token} after {:?}", self.highest);
        self.highest = Some(token);
        leader
    }

    /// The leader resigns, and another one follows.
    async fn hands_over(&mut self) {
        let leader = self.leader().await;
        let before = self.highest;
        soon(leader.resign()).await.unwrap();
        self.leader().await;
        assert!(self.highest > before);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_leads_though_members_come_and_go() {
    let mut cluster = cluster();
    let mut three = Three::at(&cluster.ports(), quick());
    three.one_leads().await;
    for number in 0..3 {
        cluster.member(number).kill().unwrap();
        three.one_leads().await;
        if number == 1 {
            three.hands_over().await;
        }
        cluster.member(number).rejoin().unwrap();
    }
    three.one_leads().await;
    three.hands_over().await;
    three.watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_leads_though_etcd_changes_its_leader() {
    let mut cluster = cluster();
    let mut three = Three::at(&cluster.ports(), quick());
    three.one_leads().await;
    for round in 0..3 {
        cluster.move_leader(round).unwrap();
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
    three.one_leads().await;
    let leader = cluster.leader(0).unwrap();
    cluster.member(leader).kill().unwrap();
    three.one_leads().await;
    three.hands_over().await;
    cluster.member(leader).rejoin().unwrap();
    three.one_leads().await;
    three.watch.nobody_overlapped();
}

/// It keeps its connections open and answers nothing, until another member takes over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_leads_though_etcds_leader_is_paused() {
    let mut cluster = cluster();
    let config = Config::builder(Duration::from_secs(10)).renew_interval(Duration::from_secs(1));
    let config = config.build().unwrap();
    let mut three = Three::at(&cluster.ports(), config);
    three.one_leads().await;
    for _ in 0..2 {
        let paused = cluster.leader(0).unwrap();
        cluster.member(paused).pause().unwrap();
        // Far shorter than a lease, also on a slow machine: before 3.4.31 a leader that was paused
        // for longer may end leases that were renewed at its successor.
        tokio::time::sleep(Duration::from_secs(2)).await;
        cluster.member(paused).resume().unwrap();
        three.one_leads().await;
    }
    three.watch.nobody_overlapped();
}

/// One of three endpoints is closed, and one accepts connections and is silent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_changes_from_a_silent_member() {
    let mut cluster = cluster();
    let ports = cluster.ports();
    let silent = Proxy::start(([127, 0, 0, 1], ports[0]).into()).await.unwrap();
    let config = Config::builder(Duration::from_secs(30))
        .renew_interval(Duration::from_secs(3))
        .request_timeout(Duration::from_secs(1))
        .least_retry(Duration::from_millis(100))
        .largest_retry(Duration::from_millis(500))
        .build()
        .unwrap();
    let leader = start(at(&[silent.port(), ports[1], ports[2]]), "leader", config).0;
    let tenure = soon(leader.elected()).await.unwrap();
    cluster.member(1).kill().unwrap();
    silent.set(Flow::BlackHole);
    // The first of them may have been answered before.
    let mut events = leader.events();
    for _ in 0..3 {
        renewed(&mut events).await;
    }
    assert!(tenure.is_current(), "it renews its lease over the third");
    soon(leader.stop()).await.unwrap();
}
