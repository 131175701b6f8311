//! The program of a kubeconfig that gives tokens, as those of cloud providers.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tenure::Candidate;
use tenure::store::kubernetes::{Kubernetes, KubernetesConfig};
use tenure_servers::KubeApiServer;

use super::support::{falls, server, soon};

/// Tokens last so long, and one is asked for in half of that time.
const LASTS: u32 = 12;
/// The time that the program takes: longer than a request may.
const TAKES: u32 = 3;

/// A kubeconfig whose program notes each of its runs.
fn kubeconfig(server: &KubeApiServer, folder: &Path) -> KubernetesConfig {
    let token = server.admin_token();
    let script = format!(
        "echo >> '{}'; sleep {TAKES}; echo '{{\"status\": {{\"token\": \"{token}\", \"expirationTimestamp\": \"'$(date \
         -u -d '+{LASTS} seconds' +%Y-%m-%dT%H:%M:%SZ)'\"}}}}'",
        folder.join("runs").display()
    );
    let exec = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
        "command": "sh", "args": ["-c", script],
    });
    let path = server.kubeconfig(token).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let line = text.lines().find(|line| line.contains("token:")).unwrap();
    fs::write(&path, text.replace(line.trim_start(), &format!("exec: {exec}"))).unwrap();
    KubernetesConfig::new("default").unwrap().kubeconfig(path).trust_empty_store(true)
}

/// Each renewal has its token at once, whatever the next one takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_program_costs_no_lead() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let store = Kubernetes::new(kubeconfig(&server, folder.path()));
    let candidate = Candidate::builder(store, "slow-login").start().unwrap();
    let falls = falls(&candidate);
    let tenure = soon(candidate.elected()).await.unwrap();
    let runs = || fs::read_to_string(folder.path().join("runs")).unwrap().lines().count();
    soon(async {
        while runs() < 3 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    assert!(tenure.is_current(), "{:?}", falls.lock().unwrap());
    soon(candidate.stop()).await.unwrap();
}
