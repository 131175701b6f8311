//! A namespace for every row of the store contract; and rows that only Kubernetes has.

use std::sync::Arc;

use serde_json::json;
use tenure::store::cas::Election;
use tenure::store::kubernetes::{Kubernetes, KubernetesConfig};
use tenure::store::{Key, Reply};
use tenure_servers::KubeApiServer;
use tenure_sim::conformance::{Mishap, Row};

use super::support::{
    Place, acquire, after_watching, all, at, call, config, delete, granted, leases, recreate,
    server, shown,
};

/// There are no messages and no purge, and each election has a past of its own, which a restart
/// does not end.
const SKIPPED: [Row; 9] = [
    Row::Messages,
    Row::OwnMessages,
    Row::NoLeader,
    Row::LeastTtl,
    Row::PurgeSpares,
    Row::PurgedTokens,
    Row::WatchedForAll,
    Row::LongestTtl,
    Row::Restart,
];

/// Rows wait for ten of the shortest leases.
fn quick(config: KubernetesConfig) -> KubernetesConfig {
    config.unshared(true)
}

/// A namespace of a test's own.
pub(crate) fn place(server: &Arc<KubeApiServer>, row: Row) -> Place {
    let namespace: String = row.name().replace('_', "-").chars().take(60).collect();
    let namespace = namespace.trim_matches('-').to_owned();
    server.namespace(&namespace).unwrap();
    let (other, again) = (namespace.clone(), namespace.clone());
    Place::of(Arc::clone(server), move |server| Kubernetes::new(quick(config(server, &namespace))))
        .replaced(move |server, _| suffer(server, &again, Mishap::AllLost))
        .suffering(&Mishap::ALL, move |server, mishap| suffer(server, &other, mishap))
        .slowed(|server, is_slow| {
            if is_slow { server.pause() } else { server.resume() }.unwrap();
        })
        .skipping(&SKIPPED)
        .place()
}

/// Elections in a cluster to which nothing can be done but to ask it: names begin with the prefix.
pub(crate) fn by_kubeconfig(cluster: &KubernetesConfig, prefix: &str, row: Row) -> Place {
    const NEED_THE_SERVER: [Row; 4] =
        [Row::SlowServer, Row::Loss, Row::FirstRequest, Row::StampsDiffer];
    let name = row.name().replace('_', "-");
    let config = cluster.clone().prefix(format!("{prefix}-{name}")).unwrap();
    Place::of(config, |config| Kubernetes::new(quick(config.clone())))
        .skipping(&[&SKIPPED[..], &NEED_THE_SERVER].concat())
        .place()
}

fn suffer(server: &KubeApiServer, namespace: &str, mishap: Mishap) {
    for lease in all(server, namespace) {
        let name = lease["metadata"]["name"].as_str().unwrap();
        match mishap {
            Mishap::AllLost => delete(server, namespace, name),
            Mishap::OtherServer => recreate(server, namespace, &lease),
            Mishap::RecordsLost => {
                change(server, namespace, &lease, |election| election.tenant = None);
            }
            Mishap::PastLost => change(server, namespace, &lease, |election| election.past = None),
        }
    }
}

fn change(
    server: &KubeApiServer,
    namespace: &str,
    lease: &serde_json::Value,
    change: impl Fn(&mut Election),
) {
    let text = lease["metadata"]["annotations"]["tenure.dev/election"].as_str().unwrap();
    let mut election = Election::read(&Key::new("job").unwrap(), text.as_bytes()).unwrap();
    change(&mut election);
    let text = String::from_utf8(election.write().to_vec()).unwrap();
    let patch = json!({ "metadata": { "annotations": { "tenure.dev/election": text } } });
    let name = lease["metadata"]["name"].as_str().unwrap();
    server.admin("PATCH", &format!("{}/{name}", leases(namespace)), &patch).unwrap();
}

/// Candidates that have all watched one lease to its end: one of them is granted it, in each round.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_many_takes_a_lease_that_has_ended() {
    const CANDIDATES: u128 = 16;
    let rounds = std::env::var("TENURE_ROUNDS").map_or(10, |rounds| rounds.parse().unwrap());
    let server = server();
    server.namespace("many").unwrap();
    let stores: Vec<_> = (0..CANDIDATES).map(|_| at(&server, "many")).collect();
    let mut last = granted(&stores[0], acquire(1, None)).await;
    for round in 1..=rounds {
        let asks = (0..CANDIDATES).map(|one| acquire(round * CANDIDATES + one, Some(last)));
        let asks: Vec<_> = asks.collect();
        let seen = shown(&stores[0], asks[0].clone()).await;
        let asked = asks.iter().map(|asks| after_watching(asks, &seen));
        let asked = stores.iter().zip(asked).map(|(store, asks)| call(store, asks));
        let mut granted = Vec::new();
        for reply in futures_util::future::join_all(asked).await {
            if let Reply::Granted { token } = reply.unwrap() {
                granted.push(token);
            }
        }
        assert_eq!(granted.len(), 1, "round {round}: {granted:?}");
        assert!(granted[0] > last, "round {round}");
        last = granted[0];
    }
}
