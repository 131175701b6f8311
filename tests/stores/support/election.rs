//! Candidates in the election of all tests, and what becomes of them.

use std::sync::{Arc, Mutex};

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use tenure::store::Store;
use tenure::{Candidate, CandidateBuilder, Config, Event, StepDownReason};

use super::SOON;

pub(crate) type Events = BoxStream<'static, Event>;

/// A candidate, and its events from the very first on.
pub(crate) fn start(store: impl Store, name: &str, config: Config) -> (Candidate, Events) {
    run(Candidate::builder(store, "job").name(name).config(config))
}

/// The same, built in another way.
pub(crate) fn run(builder: CandidateBuilder) -> (Candidate, Events) {
    let (candidate, driver) = builder.build().unwrap();
    let events = candidate.events().boxed();
    tokio::spawn(driver.run());
    (candidate, events)
}

/// Waits for an event that `wanted` knows.
pub(crate) async fn event<T>(
    events: &mut (impl Stream<Item = Event> + Unpin),
    wanted: impl Fn(&Event) -> Option<T>,
) -> T {
    let mut seen = Vec::new();
    let find = async {
        loop {
            let event = events.next().await.expect("the stream goes on");
            if let Some(found) = wanted(&event) {
                return found;
            }
            seen.push(event);
        }
    };
    let found = tokio::time::timeout(SOON, find).await;
    found.unwrap_or_else(|_| panic!("no such event within {SOON:?}, but {seen:?}"))
}

/// Why a candidate has stepped down, each time.
pub(crate) type Falls = Arc<Mutex<Vec<StepDownReason>>>;

pub(crate) fn falls(candidate: &Candidate) -> Falls {
    let falls = Falls::default();
    let told = Arc::clone(&falls);
    candidate.on_stepped_down(move |_, reason| {
        told.lock().unwrap().push(reason);
        async {}
    });
    falls
}
