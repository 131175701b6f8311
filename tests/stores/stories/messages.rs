//! Messages to the leader, over every store that carries them, and the errors of the others.

use std::time::Duration;

use futures_util::StreamExt;
use tenure::store::{AnyStore, Memory, Message};
use tenure::{Candidate, Config, NotifyError};

use super::TestServer;
use crate::stores::support::{soon, start};

const TTL: Duration = Duration::from_secs(60);

fn config() -> Config {
    Config::builder(TTL).build().unwrap()
}

async fn leader(store: AnyStore, name: &str) -> (Candidate, tenure::Tenure) {
    let (candidate, _) = start(store, name, config());
    let tenure = soon(candidate.elected()).await.unwrap();
    (candidate, tenure)
}

/// Sends until one arrives: an inbox is known to the store a moment after it was opened.
async fn reaches(
    from: &Candidate,
    inbox: &mut (impl StreamExt<Item = Message> + Unpin),
) -> Message {
    soon(async {
        loop {
            from.notify_leader("wake up", "now").await.unwrap();
            let arrives = tokio::time::timeout(Duration::from_millis(50), inbox.next());
            if let Ok(message) = arrives.await {
                return message.expect("the tenure is current");
            }
        }
    })
    .await
}

/// Two candidates of one election, each with a connection of its own.
async fn reach_only_the_leader(one: AnyStore, other: AnyStore) {
    let (first, tenure) = leader(one, "first").await;
    let (second, _) = start(other, "second", config());
    let mut inbox = tenure.inbox();
    let message = reaches(&second, &mut inbox).await;
    assert_eq!((message.channel(), &message.payload()[..]), ("wake up", &b"now"[..]));
    reaches(&first, &mut inbox).await;

    // Open, and not read yet: messages that are sent from here on wait in it. The store knows it
    // once a message that was sent later has arrived in another inbox.
    let (mut waiting, mut later) = (tenure.inbox(), tenure.inbox());
    reaches(&second, &mut later).await;
    soon(second.notify_leader("not read", "yet")).await.unwrap();
    let unread =
        waiting.by_ref().filter(|message| std::future::ready(message.channel() == "not read"));
    assert!(soon(Box::pin(unread).next()).await.is_some());

    let error = second.notify_leader("", "now").await.unwrap_err();
    assert!(matches!(error, NotifyError::Limit(_)), "{error}");
    let error = second.notify_leader("x", vec![0; 4097]).await.unwrap_err();
    assert_eq!(error.to_string(), "payload has 4097 bytes; it must have 0 to 4096");

    // The inbox ends with its tenure, and messages to the next one do not reach it.
    soon(first.resign()).await.unwrap();
    let next = soon(second.elected()).await.unwrap();
    let mut next_inbox = next.inbox();
    reaches(&first, &mut next_inbox).await;
    let rest: Vec<Message> = soon(inbox.collect()).await;
    assert!(rest.is_empty(), "{rest:?}");

    soon(first.stop()).await.unwrap();
    soon(second.stop()).await.unwrap();
    let nobody = second.notify_leader("wake up", "now").await.unwrap_err();
    assert!(matches!(nobody, NotifyError::NobodyLeads), "{nobody}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_in_memory_reach_the_leader() {
    let store = AnyStore::new(Memory::new());
    reach_only_the_leader(store.clone(), store).await;
}

async fn messages_reach_the_leader(server: TestServer) {
    reach_only_the_leader(server.store(), server.store()).await;
}
// etcd carries none.
story!(messages_reach_the_leader: redis_rs, fred, postgres);

/// Before anything is asked of a server.
async fn refuses_messages(store: AnyStore) {
    use tenure::store::{Key, Request, Store, StoreErrorKind};
    let config = Config::builder(Duration::from_secs(30)).build().unwrap();
    let (candidate, _driver) =
        Candidate::builder(store.clone(), "job").config(config).build().unwrap();
    let error = candidate.notify_leader("wake up", "now").await.unwrap_err();
    assert!(matches!(error, NotifyError::Unsupported { .. }), "{error}");
    let message = Message::new("wake up", "now").unwrap();
    let job = Key::new("job").unwrap();
    let asked = store.call(&job, Request::Notify { message });
    assert_eq!(soon(asked).await.unwrap_err().kind(), StoreErrorKind::Unsupported);
}

#[tokio::test]
async fn etcd_refuses_messages() {
    refuses_messages(AnyStore::new(crate::stores::etcd::support::at(&[1]))).await;
}

#[tokio::test]
async fn sqlite_refuses_messages() {
    let folder = crate::stores::sqlite::support::Folder::new();
    refuses_messages(AnyStore::new(folder.store())).await;
    assert!(!folder.file.exists());
}
