//! A namespace for every row of the store contract; and rows that only Kubernetes has.

use std::sync::Arc;

use serde_json::json;
use tenure::store::Key;
use tenure::store::cas::Election;
use tenure::store::kubernetes::Kubernetes;
use tenure_servers::KubeApiServer;
use tenure_sim::conformance::{Mishap, Row};

use super::support::{Place, all, config, delete, leases, recreate};

/// A namespace of a test's own. It has no messages and no purge, and each election has a past of its own, which a restart
/// does not end.
pub(crate) fn place(server: &Arc<KubeApiServer>, row: Row) -> Place {
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
    let namespace: String = row.name().replace('_', "-").chars().take(60).collect();
    let namespace = namespace.trim_matches('-').to_owned();
    server.namespace(&namespace).unwrap();
    let (other, again) = (namespace.clone(), namespace.clone());
    Place::of(Arc::clone(server), move |server| Kubernetes::new(config(server, &namespace)))
        .replaced(move |server, _| suffer(server, &again, Mishap::AllLost))
        .suffering(&Mishap::ALL, move |server, mishap| suffer(server, &other, mishap))
        .slowed(|server, is_slow| {
            if is_slow { server.pause() } else { server.resume() }.unwrap();
        })
        .skipping(&SKIPPED)
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
