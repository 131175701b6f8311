//! Commands and hints that the driver finds at the same time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, Stream};
use tenure::store::{Key, Memory, Reply, Request, Store, StoreError, StoreTraits, Watched};
use tenure::{Candidate, Config, Elections};
use tokio::sync::Mutex;
use tokio::{join, time};

use super::stuck::Paused;
use super::support::{quick, soon, steady};

/// Far longer than a candidate needs that gives its lead back.
const ROUND_TRIP: Duration = Duration::from_millis(20);

/// A store that answers what handles ask after a round trip, and elections at once.
#[derive(Clone)]
struct Distant(Memory);

impl Store for Distant {
    fn traits(&self) -> StoreTraits {
        self.0.traits()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        if matches!(request, Request::Want { .. } | Request::Observe) {
            time::sleep(ROUND_TRIP).await;
        }
        self.0.call(key, request).await
    }
}

async fn leader(elections: &Elections, key: &str) -> Candidate {
    let candidate = elections.candidate(key).config(quick()).start().unwrap();
    candidate.elected().await.unwrap();
    candidate
}

/// The answers to a handover and to a question come in one turn, after the lead was given back: what
/// follows from the first is a renewal, from the second the end of the election.
#[tokio::test(start_paused = true)]
async fn a_renewal_of_an_election_that_ends_in_the_same_turn() {
    let runtime = Paused::new();
    let store = Distant(Memory::with_runtime(Arc::<Paused>::clone(&runtime)));
    let elections = Elections::with_runtime(store, runtime);
    let other = leader(&elections, "other").await;
    for round in 0..10 {
        let candidate = leader(&elections, "job").await;
        let asks_and_stops = async {
            candidate.incumbent().await.unwrap();
            candidate.stop().await
        };
        let ended = time::timeout(Duration::from_secs(10), async {
            join!(candidate.hand_over(None), candidate.resign(), asks_and_stops)
        });
        let (handed_over, resigned, stopped) = ended.await.expect("within the bound");
        assert!(handed_over.is_err() && resigned.is_ok(), "{round}: {handed_over:?} {resigned:?}");
        stopped.unwrap();
        assert!(other.is_leader(), "{round}");
    }
    time::sleep(Duration::from_secs(10)).await;
    assert!(other.is_leader(), "the driver of both still renews");
    other.stop().await.unwrap();
}

/// A store that carries out one call after the other.
#[derive(Clone)]
struct Serial(Memory, Arc<Mutex<()>>);

impl Store for Serial {
    fn traits(&self) -> StoreTraits {
        self.0.traits()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        let _turn = self.1.lock().await;
        time::sleep(Duration::from_millis(10)).await;
        self.0.call(key, request).await
    }
}

/// Their leases take the store ten seconds.
#[tokio::test(start_paused = true)]
async fn a_thousand_candidates_that_are_dropped_cost_no_other_lead() {
    let runtime = Paused::new();
    let store = Serial(Memory::with_runtime(Arc::<Paused>::clone(&runtime)), Arc::default());
    let elections = Elections::with_runtime(store, runtime);
    let start = |key: String, ttl| {
        let config = Config::builder(ttl).build().unwrap();
        elections.candidate(key).config(config).start().unwrap()
    };
    let other = start("other".to_owned(), Duration::from_millis(1_500));
    let tenure = other.elected().await.unwrap();
    let dropped = |number| start(format!("dropped-{number}"), Duration::from_secs(600));
    let dropped: Vec<_> = (0..1_000).map(dropped).collect();
    for candidate in &dropped {
        candidate.elected().await.unwrap();
    }
    drop(dropped);
    for tenth in 0..120 {
        time::sleep(Duration::from_millis(100)).await;
        assert!(tenure.is_current(), "after {tenth} tenths of a second");
    }
    other.stop().await.unwrap();
}

/// A store that hints without end.
#[derive(Clone)]
struct Hinting(Memory);

impl Store for Hinting {
    fn traits(&self) -> StoreTraits {
        self.0.traits()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        self.0.call(key, request).await
    }

    fn hints(&self, _: Watched) -> impl Stream<Item = Key> + Send + 'static {
        stream::repeat(Key::new("job").unwrap())
    }
}

/// In a runtime of one thread, which the driver must not keep.
#[tokio::test]
async fn other_tasks_run_though_hints_never_end() {
    let elections = Elections::new(Hinting(Memory::new()));
    let candidate = elections.candidate("job").config(steady()).start().unwrap();
    soon(candidate.elected()).await.unwrap();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(candidate.is_leader());
    soon(candidate.stop()).await.unwrap();
}
