//! Callbacks: the application's code, which must not delay or disturb elections.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use tenure::store::{Memory, StoreErrorKind};
use tenure::{Candidate, Elections, Event};
use tokio::sync::mpsc;

use super::support::{Remote, quick, soon, start, steady};

/// Waits until its lease was renewed several times from now on.
async fn renews(candidate: &Candidate) {
    let mut events = candidate.events();
    let mut renewals = 0;
    while renewals < 3 {
        let event = soon(events.next()).await.unwrap();
        renewals += u32::from(matches!(event, Event::Renewed(_)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn blocking_callbacks_cost_no_other_lead() {
    let store = Remote::default();
    // Nobody is elected before the callbacks are registered.
    store.cut();
    let elections = Elections::new(store.clone());
    let candidate = |key| elections.candidate(key).config(steady()).start().unwrap();
    let (blocks, other) = (candidate("blocks"), candidate("other"));
    let (begins, mut begun) = mpsc::unbounded_channel();
    let (go_on, waits) = std::sync::mpsc::channel();
    let waits = Arc::new(Mutex::new(waits));
    let block = |what| {
        let (begins, waits) = (begins.clone(), Arc::clone(&waits));
        move || {
            let _ = begins.send(what);
            // Until the test lets it go on.
            let _ = waits.lock().unwrap().recv();
        }
    };
    let (elected, over, failed) = (block("elected"), block("stepped down"), block("failed"));
    blocks.on_elected(move |_| {
        elected();
        async {}
    });
    blocks.on_stepped_down(move |_, _| {
        over();
        async {}
    });
    store.heal();
    let tenure = soon(other.elected()).await.unwrap();
    assert_eq!(soon(begun.recv()).await, Some("elected"));
    renews(&other).await;
    go_on.send(()).unwrap();
    // The resignation waits for the callback that blocks.
    let resigns = blocks.clone();
    let resigning = tokio::spawn(async move { resigns.resign().await });
    assert_eq!(soon(begun.recv()).await, Some("stepped down"));
    renews(&other).await;
    go_on.send(()).unwrap();
    soon(resigning).await.unwrap().unwrap();
    assert!(tenure.is_current(), "renewed through both");
    blocks.on_store_error(move |_| failed());
    store.cut();
    // It may have been elected once more before the cut.
    while soon(begun.recv()).await != Some("failed") {
        go_on.send(()).unwrap();
    }
}

#[tokio::test]
async fn callbacks_of_the_builder_miss_no_election() {
    let (called, mut calls) = mpsc::unbounded_channel();
    let report = |what| {
        let called = called.clone();
        move || {
            let _ = called.send(what);
        }
    };
    let (first, late, over) = (report("first"), report("late"), report("over"));
    let builder = Candidate::builder(Memory::new(), "only").config(steady());
    let builder = builder.on_elected(move |_| {
        first();
        async {}
    });
    let builder = builder.on_stepped_down(move |_, _| {
        over();
        async {}
    });
    let candidate = builder.start().unwrap();
    soon(candidate.elected()).await.unwrap();
    candidate.on_elected(move |_| {
        late();
        async {}
    });
    soon(candidate.stop()).await.unwrap();
    drop((called, candidate));
    let mut seen = Vec::new();
    while let Some(what) = soon(calls.recv()).await {
        seen.push(what);
    }
    assert_eq!(seen, ["first", "over"]);
}

#[tokio::test]
async fn callbacks_of_the_builder_learn_of_errors() {
    let (store, (failed, mut failures)) = (Remote::default(), mpsc::unbounded_channel());
    store.cut();
    let builder = Candidate::builder(store, "only").config(quick());
    let builder = builder.on_store_error(move |error| {
        let _ = failed.send(error.kind());
    });
    let _candidate = builder.start().unwrap();
    assert_eq!(soon(failures.recv()).await, Some(StoreErrorKind::Timeout));
}

#[tokio::test]
async fn callbacks_may_register_callbacks() {
    let candidate = start(&Memory::new(), "only");
    let (called, mut calls) = mpsc::unbounded_channel();
    let weak = candidate.downgrade();
    candidate.on_elected(move |_| {
        let called = called.clone();
        if let Some(candidate) = weak.upgrade() {
            candidate.on_stepped_down(move |_, _| {
                let _ = called.send(());
                async {}
            });
        }
        async {}
    });
    soon(candidate.elected()).await.unwrap();
    // An observation goes through the driver, which has spawned the callback before.
    soon(candidate.incumbent()).await.unwrap();
    tokio::task::yield_now().await;
    soon(candidate.stop()).await.unwrap();
    assert_eq!(soon(calls.recv()).await, Some(()));
}

#[tokio::test]
async fn weak_handles_do_not_stay_in_the_election() {
    let store = Memory::new();
    let first = start(&store, "first");
    let weak = first.downgrade();
    let own = weak.clone();
    first.on_elected(move |_| {
        let still_there = own.upgrade().is_some();
        async move { assert!(still_there) }
    });
    soon(first.elected()).await.unwrap();
    drop(first);
    assert!(weak.upgrade().is_none());
    let second = start(&store, "second");
    soon(second.elected()).await.unwrap();
}

#[tokio::test]
async fn a_stopped_candidate_drops_its_callbacks() {
    let candidate = start(&Memory::new(), "only");
    // A cycle: the candidate keeps the callback, and the callback the candidate.
    let (own, weak) = (candidate.clone(), candidate.downgrade());
    candidate.on_elected(move |_| {
        let _ = own.is_leader();
        async {}
    });
    soon(candidate.stop()).await.unwrap();
    drop(candidate);
    soon(async {
        while weak.upgrade().is_some() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Metadata that counts how often it is dropped.
struct Owner(Arc<AtomicU32>, &'static [u8]);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        self.1
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn metadata_is_dropped_by_its_builder() {
    let dropped = Arc::new(AtomicU32::new(0));
    let metadata = bytes::Bytes::from_owner(Owner(Arc::clone(&dropped), b"10.0.0.7:8080"));
    let builder = Candidate::builder(Memory::new(), "job").metadata(metadata).config(steady());
    let candidate = builder.start().unwrap();
    assert_eq!(dropped.load(Ordering::SeqCst), 1, "before the driver gets a turn");
    soon(candidate.elected()).await.unwrap();
    let incumbent = soon(candidate.incumbent()).await.unwrap().unwrap();
    assert_eq!(&incumbent.metadata[..], b"10.0.0.7:8080");
}
