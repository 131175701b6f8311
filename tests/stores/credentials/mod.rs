//! Passwords and certificates that change while a candidate leads. After the connection is cut it
//! leads on with the new ones; an attempt with wrong ones fails by name, and the leader recovers as
//! soon as they are right.

mod certificates;
mod passwords;

use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;
use tenure::store::{AnyStore, Request, Store, StoreErrorKind};
use tenure::{Candidate, Config, Tenure};
use tenure_servers::Proxy;

use crate::stores::support::{Falls, falls, job, renewed, soon, start};

/// Long enough for several attempts that fail, each of which a pause follows.
fn patient() -> Config {
    Config::builder(Duration::from_secs(30))
        .renew_interval(Duration::from_secs(1))
        .request_timeout(Duration::from_secs(1))
        .least_retry(Duration::from_millis(50))
        .largest_retry(Duration::from_millis(200))
        .build()
        .unwrap()
}

/// A folder of files, which others replace.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn remove(&self, name: &str) {
        std::fs::remove_file(self.path(name)).unwrap();
    }
}

/// A candidate that leads through a proxy.
struct Leader {
    candidate: Candidate,
    tenure: Tenure,
    falls: Falls,
    store: AnyStore,
    proxy: Proxy,
}

impl Leader {
    async fn elected(store: AnyStore, proxy: Proxy) -> Self {
        let (candidate, _) = start(store.clone(), "leader", patient());
        let tenure = soon(candidate.elected()).await.unwrap();
        let falls = falls(&candidate);
        Self { candidate, tenure, falls, store, proxy }
    }

    /// Ends its connections, and waits until an attempt to connect has failed in that way; no text
    /// shows a password.
    async fn fails(&self, kind: StoreErrorKind) -> String {
        self.proxy.cut();
        soon(async {
            loop {
                if let Err(error) = self.store.call(&job(), Request::Observe).await {
                    let shown = format!("{error} {error:?}");
                    assert!(!shown.contains("horse"), "{shown}");
                    if error.kind() == kind {
                        return error.to_string();
                    }
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
    }

    /// It reaches the server again, in the same tenure.
    async fn recovers(&self) {
        let mut events = Box::pin(self.candidate.events());
        // The first of them may have been answered before.
        for _ in 0..2 {
            renewed(&mut events).await;
        }
        assert!(self.tenure.is_current());
        assert_eq!(*self.falls.lock().unwrap(), []);
    }

    async fn stop(self) {
        soon(self.candidate.stop()).await.unwrap();
    }
}

async fn proxy_before(port: u16) -> Proxy {
    Proxy::start(([127, 0, 0, 1], port).into()).await.unwrap()
}
