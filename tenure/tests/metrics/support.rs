//! A store that can be cut off, and that can demand that its past is watched.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::store::contract::{Sight, Stamp, UnwatchedPast};
use tenure::store::{Key, Memory, Reply, Request, Shown, Store, StoreError, StoreTraits};
use tenure::{Candidate, Config, Instant};
use tokio::sync::Notify;

/// Far above the time of any test: tests assert progress, not speed.
const SOON: Duration = Duration::from_secs(60);

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("within the bound")
}

/// Waits until a condition holds.
pub(crate) async fn until(condition: impl Fn() -> bool) {
    let wait = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    soon(wait).await;
}

pub(crate) fn config(ttl_millis: u64) -> Config {
    Config::builder(Duration::from_millis(ttl_millis)).build().unwrap()
}

/// A lease that outlasts a pause of the machine, for a test that waits for its end later.
pub(crate) fn brief() -> Config {
    let config = config(8_000).to_builder();
    config.renew_interval(Duration::from_millis(300)).build().unwrap()
}

/// A lease of 30 s, which outlasts a pause of the machine, and is renewed often.
pub(crate) fn steady() -> Config {
    let config = config(30_000).to_builder();
    config.renew_interval(Duration::from_millis(300)).build().unwrap()
}

pub(crate) fn start(store: &Remote, key: &str, config: Config) -> Candidate {
    Candidate::builder(store.clone(), key).config(config).start().unwrap()
}

/// A store in memory behind a network that can be cut.
#[derive(Clone, Default)]
pub(crate) struct Remote(Arc<Network>);

#[derive(Default)]
struct Network {
    store: Memory,
    state: Mutex<State>,
    healed: Notify,
}

#[derive(Clone, Copy, Default)]
struct State {
    is_cut: bool,
    quarantine: Duration,
}

impl Remote {
    fn state(&self) -> State {
        *self.0.state.lock().unwrap()
    }

    pub(crate) fn cut(&self) {
        self.0.state.lock().unwrap().is_cut = true;
    }

    pub(crate) fn heal(&self) {
        self.0.state.lock().unwrap().is_cut = false;
        self.0.healed.notify_waiters();
    }

    /// From now on a candidate has to watch the past for that long.
    pub(crate) fn quarantine(&self, wait: Duration) {
        self.0.state.lock().unwrap().quarantine = wait;
    }
}

impl Store for Remote {
    fn traits(&self) -> StoreTraits {
        self.0.store.traits()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        loop {
            let healed = self.0.healed.notified();
            if !self.state().is_cut {
                break;
            }
            healed.await;
        }
        let longest = self.state().quarantine;
        let past = Some(UnwatchedPast { stamp: Stamp::from_bits(1), longest });
        let sight = Sight { last: None, record: None, past, now: Instant::ORIGIN };
        let shown = Shown { sight, profile: None };
        match request {
            Request::Acquire { asks, .. }
                if asks.stamp.is_none_or(|watch| watch.time < longest) =>
            {
                if longest.is_zero() {
                    self.0.store.call(key, request).await
                } else {
                    Ok(Reply::Not(shown))
                }
            }
            Request::Look { .. } if !longest.is_zero() => Ok(Reply::At(shown)),
            other => self.0.store.call(key, other).await,
        }
    }
}
