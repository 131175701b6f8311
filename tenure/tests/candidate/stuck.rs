//! A store on which single keys hang, in virtual time: a stuck request costs its own election only.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use tenure::runtime::{Connection, Runtime};
use tenure::store::{Key, Memory, Reply, Request, Store, StoreError, StoreTraits};
use tenure::{Candidate, Elections, Instant, Tenure};
use tokio::time;

use super::support::quick;

const ANSWER: Duration = Duration::from_millis(2);

/// Tokio's paused clock.
#[derive(Debug)]
pub(super) struct Paused {
    began: time::Instant,
    drawn: AtomicU64,
}

/// The clock's first reading: renewals that are spread need a past.
const BOOTED: Duration = Duration::from_secs(3_600);

impl Paused {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { began: time::Instant::now(), drawn: AtomicU64::new(0) })
    }
}

impl Runtime for Paused {
    fn now(&self) -> Instant {
        Instant::ORIGIN + BOOTED + self.began.elapsed()
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        time::sleep_until(self.began + deadline.since(Instant::ORIGIN + BOOTED)).boxed()
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }

    fn connect(&self, _: &str, _: u16) -> BoxFuture<'static, io::Result<Connection>> {
        async { Err(io::ErrorKind::Unsupported.into()) }.boxed()
    }

    fn entropy(&self) -> io::Result<u128> {
        Ok(u128::from(self.drawn.fetch_add(1, Ordering::SeqCst)) << 64 | 0x9e37_79b9)
    }
}

/// A store in memory that answers nothing about keys that begin with "stuck", once it hangs.
#[derive(Clone)]
struct Hanging {
    store: Memory,
    hangs: Arc<AtomicBool>,
    /// The number of unanswered requests.
    hung: Arc<AtomicUsize>,
    in_call: usize,
}

impl Store for Hanging {
    fn traits(&self) -> StoreTraits {
        let mut traits = self.store.traits();
        (traits.renewals_in_call, traits.acquires_in_call) = (self.in_call, self.in_call);
        traits
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        if self.hangs.load(Ordering::SeqCst) && key.as_str().starts_with("stuck") {
            self.hung.fetch_add(1, Ordering::SeqCst);
            return std::future::pending().await;
        }
        time::sleep(ANSWER).await;
        self.store.call(key, request).await
    }
}

/// A hundred leaders keep their leads for a minute beside leaders whose keys hang, and observers of
/// those.
async fn leads_beside(stuck: usize, observers: usize, in_call: usize) {
    const HEALTHY: usize = 100;
    let runtime = Paused::new();
    let store = Memory::with_runtime(Arc::<Paused>::clone(&runtime));
    let (hangs, hung) = (Arc::default(), Arc::default());
    let store = Hanging { store, hangs, hung, in_call };
    let elections = Elections::with_runtime(store.clone(), runtime);
    let start = |kind: &str, index| {
        let key = format!("{kind}-{index}");
        elections.candidate(key).config(quick()).start().unwrap()
    };
    let stuck: Vec<Candidate> = (0..stuck).map(|index| start("stuck", index)).collect();
    let healthy: Vec<Candidate> = (0..HEALTHY).map(|index| start("healthy", index)).collect();
    for candidate in stuck.iter().chain(&healthy) {
        candidate.elected().await.unwrap();
    }
    let tenures: Vec<Tenure> = healthy.iter().map(|one| one.tenure().unwrap()).collect();
    store.hangs.store(true, Ordering::SeqCst);
    for index in 0..observers {
        let observer = elections.observe(format!("stuck-{}", index % stuck.len())).unwrap();
        tokio::spawn(observer.for_each(|_| std::future::ready(())));
    }
    for second in 0..60 {
        time::sleep(Duration::from_secs(1)).await;
        let lost = tenures.iter().filter(|tenure| !tenure.is_current()).count();
        assert_eq!(lost, 0, "of {HEALTHY} leads, after {second} s");
        if second % 10 == 0 {
            healthy[0].incumbent().await.unwrap().unwrap();
        }
    }
    assert!(store.hung.load(Ordering::SeqCst) > 10 * stuck.len());
    assert!(stuck.iter().all(|candidate| !candidate.is_leader()));
}

#[tokio::test(start_paused = true)]
async fn few_stuck_elections_cost_no_other_lead() {
    leads_beside(8, 0, 1).await;
}

#[tokio::test(start_paused = true)]
async fn many_stuck_elections_cost_no_other_lead() {
    leads_beside(200, 0, 1).await;
}

#[tokio::test(start_paused = true)]
async fn many_stuck_requests_cost_no_other_of_their_call() {
    leads_beside(200, 0, 10).await;
}

#[tokio::test(start_paused = true)]
async fn stuck_observers_cost_no_lead() {
    leads_beside(20, 100, 1).await;
}

#[tokio::test(start_paused = true)]
async fn stuck_requests_cost_no_other_of_their_call() {
    leads_beside(20, 20, 10).await;
}
