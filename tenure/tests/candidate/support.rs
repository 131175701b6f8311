//! A store that can be cut off, and time bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tenure::store::{Key, Memory, Reply, Request, Store, StoreError, StoreTraits};
use tenure::{Candidate, Config};
use tokio::sync::Notify;

/// Far above the time of any test: tests assert progress, not speed.
const SOON: Duration = Duration::from_secs(60);

/// A lease that a pause of the machine may cost: for a test that waits for its end, or that it does
/// not disturb.
pub(crate) fn quick() -> Config {
    Config::builder(Duration::from_secs(2)).build().unwrap()
}

/// A lease that outlasts a pause of the machine, for a test that waits for its end later.
pub(crate) fn brief() -> Config {
    let config = Config::builder(Duration::from_secs(8));
    config.renew_interval(Duration::from_millis(300)).build().unwrap()
}

/// Longer than any test: a successor within the test's bound shows a release.
pub(crate) fn long() -> Config {
    Config::builder(Duration::from_secs(600)).build().unwrap()
}

/// A lease that outlasts a pause of the machine, and is renewed often.
pub(crate) fn steady() -> Config {
    let config = Config::builder(Duration::from_secs(20));
    config.renew_interval(Duration::from_millis(300)).build().unwrap()
}

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("within the bound")
}

pub(crate) fn start(store: &Memory, name: &str) -> Candidate {
    Candidate::builder(store.clone(), "job").name(name).config(steady()).start().unwrap()
}

/// A store in memory behind a network that can be cut.
#[derive(Clone, Default)]
pub(crate) struct Remote(Arc<Network>);

#[derive(Default)]
struct Network {
    store: Memory,
    is_cut: AtomicBool,
    healed: Notify,
    /// Calls that were begun.
    asked: AtomicUsize,
    /// Wishes that were answered.
    wished: AtomicUsize,
    /// Calls that their caller dropped before they were answered.
    dropped: AtomicUsize,
}

impl Remote {
    pub(crate) fn cut(&self) {
        self.0.is_cut.store(true, Ordering::SeqCst);
    }

    pub(crate) fn heal(&self) {
        self.0.is_cut.store(false, Ordering::SeqCst);
        self.0.healed.notify_waiters();
    }

    pub(crate) fn asked(&self) -> usize {
        self.0.asked.load(Ordering::SeqCst)
    }

    pub(crate) fn wished(&self) -> usize {
        self.0.wished.load(Ordering::SeqCst)
    }

    pub(crate) fn dropped(&self) -> usize {
        self.0.dropped.load(Ordering::SeqCst)
    }
}

/// Counts a call unless it was answered.
struct Unanswered<'a>(&'a AtomicUsize);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Store for Remote {
    fn traits(&self) -> StoreTraits {
        self.0.store.traits()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        self.0.asked.fetch_add(1, Ordering::SeqCst);
        let unanswered = Unanswered(&self.0.dropped);
        loop {
            let healed = self.0.healed.notified();
            if !self.0.is_cut.load(Ordering::SeqCst) {
                break;
            }
            healed.await;
        }
        let is_wish = matches!(request, Request::Want { .. });
        let reply = self.0.store.call(key, request).await;
        self.0.wished.fetch_add(is_wish.into(), Ordering::SeqCst);
        std::mem::forget(unanswered);
        reply
    }
}
