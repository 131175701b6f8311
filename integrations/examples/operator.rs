//! An operator: of its replicas, only the leader reconciles. It copies a text in each config map
//! with a label, by kube-rs.
//!
//! ```text
//! cargo run --release -p tenure-integrations --example operator NAMESPACE
//! ```
//!
//! It uses the cluster of the kubeconfig (`KUBECONFIG`, `~/.kube/config`), or the one that it runs
//! in. Beside the [rights of candidates](../../ops/kubernetes/leader.yaml) it needs `list`, `watch`
//! and `patch` on `configmaps`.

#![allow(clippy::print_stdout, reason = "the program prints its steps")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tenure::store::kubernetes::{Kubernetes, KubernetesConfig};
use tenure::{Candidate, Config, Tenure};

const LABEL: &str = "example.org/copies=yes";

/// A leader's means to reconcile.
struct Leader {
    maps: Api<ConfigMap>,
    tenure: Tenure,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let Some(namespace) = std::env::args().nth(1) else {
        anyhow::bail!("usage: operator NAMESPACE");
    };
    let maps: Api<ConfigMap> = Api::namespaced(Client::try_default().await?, &namespace);
    let store = Kubernetes::new(KubernetesConfig::new(&namespace)?);
    let candidate =
        Candidate::builder(store, "operator").config(Config::fast_failover()).start()?;
    let work = async |tenure: Tenure| {
        println!("leads with the token {}", tenure.token());
        let ends = tenure.cancellation_token().cancelled_owned();
        // Each leader begins with a watch and a queue of its own.
        Controller::new(maps.clone(), watcher::Config::default().labels(LABEL))
            .graceful_shutdown_on(ends)
            .run(
                reconcile,
                |_, _, _| Action::requeue(Duration::from_secs(5)),
                Arc::new(Leader { maps: maps.clone(), tenure }),
            )
            .for_each(async |done| match done {
                Ok((map, _)) => println!("reconciled {}", map.name),
                Err(error) => tracing::warn!(%error, "not reconciled"),
            })
            .await;
    };
    candidate.run_until(tenure::shutdown_signal()?, work).await?;
    Ok(())
}

/// Copies the text `from` to `to`.
async fn reconcile(map: Arc<ConfigMap>, leader: Arc<Leader>) -> Result<Action, kube::Error> {
    let text = |name: &str| map.data.as_ref().and_then(|data| data.get(name));
    // A check before a write only makes late writes rare: the version in the patch refuses one that
    // has come too late.
    if text("from") == text("to") || !leader.tenure.is_current() {
        return Ok(Action::await_change());
    }
    let patch = json!({
        "metadata": { "resourceVersion": map.resource_version() },
        "data": { "to": text("from") },
    });
    leader.maps.patch(&map.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(Action::await_change())
}
