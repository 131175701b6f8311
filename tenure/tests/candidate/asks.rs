//! Observations and inboxes: a caller that gives up must not affect a shared connection.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use tenure::store::Memory;
use tenure::{Candidate, Config, Elections, NotifyError};

use super::support::{Remote, quick, soon, start};

#[tokio::test]
async fn a_cancelled_observation_drops_no_call() {
    let store = Remote::default();
    // No request times out while the store is cut off.
    let config = Config::unreliable_network();
    let candidate = Candidate::builder(store.clone(), "job").config(config).start().unwrap();
    soon(candidate.elected()).await.unwrap();
    store.cut();
    for _ in 0..50 {
        let observation = candidate.incumbent();
        assert!(tokio::time::timeout(Duration::from_millis(1), observation).await.is_err());
    }
    store.heal();
    soon(candidate.incumbent()).await.unwrap();
    assert_eq!(store.dropped(), 0, "no call was dropped half way");

    store.cut();
    assert!(tokio::time::timeout(Duration::from_millis(1), candidate.incumbent()).await.is_err());
    drop(candidate);
    tokio::time::sleep(Duration::from_millis(50)).await;
    store.heal();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(store.dropped(), 0, "nor with the last handle");
}

#[tokio::test]
async fn a_dropped_driver_drops_no_call() {
    let store = Remote::default();
    let (candidate, driver) =
        Candidate::builder(store.clone(), "job").config(quick()).build().unwrap();
    store.cut();
    let mut driver = Box::pin(driver.run());
    assert!(driver.as_mut().now_or_never().is_none());
    drop(driver);
    assert_eq!(store.dropped(), 0, "its acquire is still under way");
    store.heal();
    drop(candidate);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(store.dropped(), 0, "and was answered");
}

#[tokio::test]
async fn an_inbox_receives_later_messages() {
    let candidate = start(&Memory::new(), "only");
    let tenure = soon(candidate.elected()).await.unwrap();
    let mut inbox = tenure.inbox();
    soon(candidate.notify_leader("wake", "up")).await.unwrap();
    let message = soon(inbox.next()).await.unwrap();
    assert_eq!((message.channel(), &message.payload()[..]), ("wake", &b"up"[..]));
}

#[tokio::test]
async fn a_process_without_a_candidate_notifies_the_leader() {
    let store = Memory::new();
    let elections = Elections::new(store.clone());
    let nobody = soon(elections.notify_leader("job", "wake", "up")).await.unwrap_err();
    assert!(matches!(nobody, NotifyError::NobodyLeads), "{nobody}");
    let candidate = start(&store, "only");
    let mut inbox = soon(candidate.elected()).await.unwrap().inbox();
    soon(elections.notify_leader("job", "wake", "up")).await.unwrap();
    let message = soon(inbox.next()).await.unwrap();
    assert_eq!((message.channel(), &message.payload()[..]), ("wake", &b"up"[..]));
    let no_key = soon(elections.notify_leader("", "wake", "up")).await.unwrap_err();
    assert!(matches!(no_key, NotifyError::Limit(_)), "{no_key}");
}

#[test]
fn a_message_needs_a_runtime() {
    let asked = Elections::new(Memory::new()).notify_leader("job", "wake", "up").now_or_never();
    assert!(matches!(asked, Some(Err(NotifyError::NoRuntime(_)))), "{asked:?}");
}
