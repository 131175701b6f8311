//! The process of a candidate: the shipped driver and store, by the public interface alone.

mod process;
mod runtime;
mod sampler;
mod taking_part;
mod work;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::IntoRawFd;
use std::process::exit;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use serde_json::json;
use tenure::Elections;
use tenure::runtime::Runtime;
use tenure::store::etcd::{Etcd, EtcdConfig};
use tenure::store::kubernetes::{Kubernetes, KubernetesConfig};
use tenure::store::mysql::{Mysql, MysqlConfig};
use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure::store::redis::{Fred, Redis, RedisConfig};
use tenure::store::sqlite::{Sqlite, SqliteConfig};
use tenure::store::{AnyStore, Credentials, Secret};
use tenure::tls::TlsConfig;
use tenure_servers::RedisSentinels;
use tokio::sync::mpsc;

use super::protocol::{Access, Brief, Order, Place};
use super::server::replicated::SENTINELS;
use super::steps::kubernetes::NAMESPACE;
use super::{Target, login};
use crate::engines::node::Recording;
use process::Process;
use runtime::NodeRuntime;

/// Runs one candidate, as the engine's orders on standard input say, until that ends. Does not
/// return unless the brief on the first line can't be followed.
///
/// # Errors
/// The reason why not.
pub fn candidate() -> Result<(), Box<dyn std::error::Error>> {
    let mut lines = BufReader::new(io::stdin()).lines();
    let first = lines.next().ok_or("standard input is empty: it must begin with a brief")??;
    let brief: Brief = serde_json::from_str(&first)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(live(brief, lines))
}

async fn live(
    brief: Brief,
    lines: impl Iterator<Item = io::Result<String>> + Send + 'static,
) -> Result<(), Box<dyn std::error::Error>> {
    let process = Arc::new(Process::new(&brief));
    let (orders, ordered) = mpsc::unbounded_channel();
    sampler::start(&process)?;
    let reader = Arc::clone(&process);
    thread::Builder::new().name("orders".to_owned()).spawn(move || {
        for line in lines {
            let order = line.ok().and_then(|line| serde_json::from_str(&line).ok());
            match order {
                Some(Order::Pass { ticket }) => reader.passes(ticket),
                // The receiver lives as long as the process.
                Some(order) => drop(orders.send(order)),
                None => exit(1),
            }
        }
        // The engine has ended, or needs this process no longer.
        exit(0)
    })?;
    let runtime: Arc<dyn Runtime> = Arc::new(NodeRuntime::of(&process, &brief.store));
    let store = store(&brief, &runtime).ok_or("the store of the brief is not one of that kind")?;
    let store = AnyStore::new(Recording::new(store, Arc::clone(&process)));
    let elections = Elections::with_runtime(store, Arc::clone(&runtime));
    taking_part::attend(process, runtime, elections, brief, ordered).await
}

/// The store in the place that the brief names; `None` if that can't be one of the target's.
fn store(brief: &Brief, runtime: &Arc<dyn Runtime>) -> Option<AnyStore> {
    const HOST: &str = "127.0.0.1";
    let trusts = brief.trust_empty_store;
    let runtime = Arc::clone(runtime);
    let first = || brief.store.routes().first();
    let credentials = || Credentials::new(login::USER, Secret::new(login::PASSWORD));
    let tls = match &brief.access.authority {
        Some(authority) => Some(TlsConfig::with_ca(authority).ok()?),
        None => None,
    };
    let postgres = || {
        let config = PostgresConfig::new(HOST, first()?.server, login::USER).database("postgres");
        let config = config.credentials(credentials()).trust_empty_store(trusts);
        Some(match tls.clone() {
            Some(tls) => config.tls(tls),
            None => config,
        })
    };
    let mysql = || {
        let config = MysqlConfig::new(HOST, first()?.by, login::USER, "app");
        let config = config.credentials(credentials()).trust_empty_store(trusts);
        Some(match tls.clone() {
            Some(tls) => config.tls(tls),
            None => config,
        })
    };
    let redis = |port| {
        let config = RedisConfig::new(HOST, port).credentials(credentials());
        let config = config.trust_empty_store(trusts);
        match tls.clone() {
            Some(tls) => config.tls(tls),
            None => config,
        }
    };
    Some(match brief.target {
        Target::Redis => AnyStore::new(Redis::with_runtime(redis(first()?.server), runtime)),
        Target::RedisSentinel => {
            let sentinels = brief.store.routes().iter().take(SENTINELS);
            let sentinels = sentinels.map(|route| (HOST, route.server));
            let config = RedisConfig::sentinel(RedisSentinels::NAME, sentinels).ok()?;
            AnyStore::new(Redis::with_runtime(config.trust_empty_store(trusts), runtime))
        }
        Target::RedisCluster => {
            let nodes = brief.store.routes().iter().map(|route| (HOST, route.server));
            let config = RedisConfig::cluster(nodes).ok()?;
            AnyStore::new(Redis::with_runtime(config.trust_empty_store(trusts), runtime))
        }
        // This one and the clients of MariaDB, etcd and Kubernetes have sockets of their own.
        Target::Fred => AnyStore::new(Fred::new(redis(first()?.by))),
        Target::Postgres => AnyStore::new(Postgres::with_runtime(postgres()?, runtime)),
        Target::Mariadb => AnyStore::new(Mysql::new(mysql()?)),
        Target::Etcd | Target::EtcdCluster => {
            let members = brief.store.routes().iter().map(|route| (HOST, route.by));
            let config = EtcdConfig::cluster(members).ok()?.trust_empty_store(trusts);
            let config = match &brief.access.authority {
                Some(authority) => config.tls(TlsConfig::with_ca(authority).ok()?),
                None => config,
            };
            let election_timeout = Duration::from_millis(brief.target.etcd_election_ms());
            AnyStore::new(Etcd::new(config.election_timeout(election_timeout).ok()?))
        }
        Target::Kubernetes => AnyStore::new(kubernetes(brief)?),
        Target::Sqlite => {
            let Place::File(path) = &brief.store else { return None };
            AnyStore::new(Sqlite::new(SqliteConfig::new(path).trust_empty_store(trusts)))
        }
    })
}

fn kubernetes(brief: &Brief) -> Option<Kubernetes> {
    let Access { authority: Some(authority), token: Some(token) } = &brief.access else {
        return None;
    };
    let by = brief.store.routes().first()?.by;
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        "clusters": [{ "name": "c", "cluster": {
            "server": format!("https://127.0.0.1:{by}"),
            "certificate-authority": in_memory(authority)?,
        } }],
        "users": [{ "name": "u", "user": { "token": token } }],
    });
    let kubeconfig = in_memory(&text.to_string())?;
    // Plans have leases of less than 3 s.
    let config = KubernetesConfig::new(NAMESPACE).ok()?.kubeconfig(kubeconfig).unshared(true);
    Some(Kubernetes::new(config.trust_empty_store(brief.trust_empty_store)))
}

/// The path of a file that is gone with this process.
fn in_memory(text: &str) -> Option<String> {
    let mut file = File::from(memfd_create("candidate", MemfdFlags::empty()).ok()?);
    file.write_all(text.as_bytes()).ok()?;
    Some(format!("/proc/self/fd/{}", file.into_raw_fd()))
}
