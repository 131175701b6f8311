//! Elections over a file.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::Stream;
use tenure::store::sqlite::{Sqlite, SqliteError};
use tenure::store::{Key, Reply, Request, Store, StoreError, StoreTraits, Watched};
use tenure::{Candidate, Config, Elections, StepDownReason};

use super::support::{
    Folder, Watch, config, learns_of_leader, renewed, run, soon, start, steps_down, store_error,
    watching, why,
};

/// Long enough for a woken candidate to be granted the lease before the one that has resigned asks
/// again.
const HOLD_OFF: Duration = Duration::from_secs(6);

fn quick() -> Config {
    Config::builder(Duration::from_secs(9)).build().unwrap()
}

/// Leases that outlast requests on a busy machine, and that are renewed often.
fn steady() -> Config {
    Config::builder(Duration::from_secs(10)).renew_interval(Duration::from_secs(1)).build().unwrap()
}

/// Leases of a minute: a takeover within seconds has not waited for the end of one.
fn patient() -> Config {
    Config::builder(Duration::from_secs(60)).build().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaders_hand_over_at_once() {
    let folder = Folder::new();
    let start = |name: &str| {
        let builder = Candidate::builder(folder.store(), "job").name(name).config(patient());
        run(builder.hold_off(HOLD_OFF))
    };
    let (one, _) = start("one");
    let mut token = soon(one.elected()).await.unwrap().token();
    let (two, mut events) = start("two");
    let known = learns_of_leader(&mut events);
    assert_eq!(known.await, token);
    let watch = Watch::over(&[&one, &two]);
    for (leader, other) in [(&one, &two), (&two, &one), (&one, &two)] {
        // The other one campaigns again by then: the release decides, and not the end of a
        // hold-off.
        tokio::time::sleep(HOLD_OFF + Duration::from_secs(1)).await;
        let led = leader.tenure().expect("leads");
        soon(leader.resign()).await.unwrap();
        assert!(!leader.is_leader() && !led.is_current());
        let next = soon(other.elected()).await.unwrap();
        assert!(next.token() > token);
        token = next.token();
    }
    let incumbent = soon(one.incumbent()).await.unwrap().unwrap();
    assert_eq!((incumbent.token, &*incumbent.name), (token, "two"));
    watch.nobody_overlapped();
}

/// Counts what waiting candidates ask.
#[derive(Clone)]
struct Counting {
    store: Sqlite,
    asked: Arc<AtomicU64>,
}

impl Store for Counting {
    fn traits(&self) -> StoreTraits {
        self.store.traits()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        if matches!(request, Request::Acquire { .. } | Request::Look { .. }) {
            self.asked.fetch_add(1, Ordering::Relaxed);
        }
        self.store.call(key, request).await
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        self.store.hints(watched)
    }
}

/// They wait for leaders that renew their leases many times.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_waiting_candidates_ask_rarely() {
    let folder = Folder::new();
    let many = |store: Counting| -> Vec<Candidate> {
        let elections = Elections::new(store);
        let start = |i| elections.candidate(format!("shard:{i}")).config(steady()).start().unwrap();
        (0..100).map(start).collect()
    };
    let counting = || Counting { store: folder.store(), asked: Arc::default() };
    let leaders = many(counting());
    for leader in &leaders {
        soon(leader.elected()).await.unwrap();
    }
    let waits = counting();
    let began = Instant::now();
    let standbys = many(waits.clone());
    tokio::time::sleep(Duration::from_secs(6)).await;
    let lead = |all: &[Candidate]| all.iter().filter(|one| one.is_leader()).count();
    assert_eq!((lead(&leaders), lead(&standbys)), (100, 0));
    // At first, by the hint of the subscription, and once for each renewal of the leader, one a
    // second. Of one that a busy machine delays, they look after 20 ms, and after as long again, so
    // no more than 7 times in a second.
    let asked = waits.asked.load(Ordering::Relaxed);
    let most = 100 * (2 + 7 * (began.elapsed().as_secs() + 1));
    assert!(asked <= most, "{asked} acquires and looks");
    // All of them are woken by the same looks.
    for leader in &leaders {
        soon(leader.stop()).await.unwrap();
    }
    for standby in &standbys {
        soon(standby.elected()).await.unwrap();
    }
}

/// Damage to one election does not keep all the others busy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_beside_a_damaged_election_is_as_quiet() {
    let folder = Folder::new();
    let (leader, _) = start(folder.store(), "leader", patient());
    soon(leader.elected()).await.unwrap();
    damage_another_election(&folder);
    let waits = Counting { store: folder.store(), asked: Arc::default() };
    let elections = Elections::new(waits.clone());
    let standby = elections.candidate("job").config(patient()).start().unwrap();
    // Its first looks are over: the next one is far off.
    let mut before = 0;
    soon(async {
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let asked = waits.asked.load(Ordering::Relaxed);
            if asked > 0 && asked == before {
                break;
            }
            before = asked;
        }
    })
    .await;
    let key = Key::new("damaged").unwrap();
    for _ in 0..100 {
        waits.store.call(&key, Request::Observe).await.unwrap_err();
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(waits.asked.load(Ordering::Relaxed) <= before + 1);
    // It is still woken.
    soon(leader.stop()).await.unwrap();
    soon(standby.elected()).await.unwrap();
}

/// Nor does it end their wake-ups, if candidates wait for it too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_a_damaged_election_wakes_the_others() {
    let folder = Folder::new();
    let (leader, _) = start(folder.store(), "leader", patient());
    soon(leader.elected()).await.unwrap();
    damage_another_election(&folder);
    let elections = Elections::new(folder.store());
    let waits = |key| elections.candidate(key).config(patient()).start().unwrap();
    let (_damaged, standby) = (waits("damaged"), waits("job"));
    soon(standby.first_attempt()).await.unwrap();
    soon(leader.stop()).await.unwrap();
    soon(standby.elected()).await.unwrap();
}

fn damage_another_election(folder: &Folder) {
    folder.execute(
        "PRAGMA ignore_check_constraints = on;
         INSERT INTO elections
             (key, token, holder, number, released, ttl, quarantine, written, name, metadata)
             SELECT 'damaged', 0, holder, number, 1, ttl, quarantine, written, name, metadata
             FROM elections",
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_lead_is_lost_without_a_fault() {
    let folder = Folder::new();
    let (one, mut events) = start(folder.store(), "one", steady());
    soon(one.elected()).await.unwrap();
    let (two, _) = start(folder.store(), "two", steady());
    let watch = Watch::over(&[&one, &two]);
    // Longer than one lease.
    tokio::time::sleep(Duration::from_secs(12)).await;
    assert!(one.is_leader() && !two.is_leader());
    soon(one.stop()).await.unwrap();
    let ends = steps_down(&mut events);
    assert_eq!(ends.await, StepDownReason::Resigned, "the first end is the last");
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_file_never_makes_two_leaders() {
    let folder = Folder::new();
    let (one, mut one_events) = start(folder.store(), "one", quick());
    let first = soon(one.elected()).await.unwrap();
    // Its next renewal is far off: it would make the new file, and be told there that its lease is
    // gone.
    renewed(&mut one_events).await;
    folder.delete();
    // Its file is a new one, which does not know the first leader.
    let (two, mut events) = start(folder.distrustful(), "two", quick());
    let watch = Watch::over(&[&one, &two]);
    let wait = watching(&mut events);
    assert!(wait.await > quick().ttl() / 2);
    soon(first.ended()).await;
    let next = soon(two.elected()).await.unwrap();
    assert!(next.token() > first.token());
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_candidate_that_starts_before_its_folder_leads() {
    let folder = Folder::new();
    let inner = folder.folder.path().join("data");
    let store = Sqlite::new(config(&inner.join("elections.db")).trust_empty_store(true));
    let (candidate, mut events) = start(store, "early", quick());
    let error = store_error(&mut events).await;
    assert!(matches!(why(&error), SqliteError::NoFolder { .. }), "{error}");
    std::fs::create_dir(&inner).unwrap();
    soon(candidate.elected()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_elections_share_what_one_needs() {
    let folder = Folder::new();
    let elections = Elections::new(folder.store());
    let config = Config::builder(Duration::from_secs(60)).build().unwrap();
    let all: Vec<_> = (0..100)
        .map(|i| elections.candidate(format!("shard:{i}")).config(config).start().unwrap())
        .collect();
    for candidate in &all {
        soon(candidate.elected()).await.unwrap();
    }
    let (first, rest) = all.split_first().unwrap();
    soon(first.stop()).await.unwrap();
    assert!(!first.is_leader() && rest.iter().all(tenure::Candidate::is_leader));
}
