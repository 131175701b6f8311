//! Candidates in the election of all tests, and their events.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use tenure::store::{Store, StoreError};
use tenure::{Candidate, CandidateBuilder, Config, Event, StepDownReason, Tenure, Token};

use super::{SOON, soon};

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

/// Waits for an event of which `wanted` returns something.
pub(crate) async fn event<T>(
    events: &mut (impl Stream<Item = Event> + Unpin),
    wanted: impl Fn(&Event) -> Option<T>,
) -> T {
    let mut seen = Vec::new();
    let find = async {
        loop {
            let event = events.next().await.expect("the stream has not ended");
            if let Some(found) = wanted(&event) {
                return found;
            }
            seen.push(event);
        }
    };
    let found = tokio::time::timeout(SOON, find).await;
    found.unwrap_or_else(|_| panic!("no such event within {SOON:?}, but {seen:?}"))
}

/// Waits until the lease is renewed.
pub(crate) async fn renewed(events: &mut (impl Stream<Item = Event> + Unpin)) {
    event(events, |event| matches!(event, Event::Renewed(_)).then_some(())).await;
}

/// Waits until the candidate learns of a leader; returns that leader's token.
pub(crate) async fn learns_of_leader(events: &mut (impl Stream<Item = Event> + Unpin)) -> Token {
    event(events, |event| match event {
        Event::IncumbentChanged { token } => Some(*token),
        _ => None,
    })
    .await
}

/// Waits until the candidate steps down; returns the reason.
pub(crate) async fn steps_down(events: &mut (impl Stream<Item = Event> + Unpin)) -> StepDownReason {
    event(events, |event| match event {
        Event::SteppedDown { reason, .. } => Some(*reason),
        _ => None,
    })
    .await
}

/// Waits until the candidate watches a past before it may be granted anything; returns how long.
pub(crate) async fn watching(events: &mut (impl Stream<Item = Event> + Unpin)) -> Duration {
    event(events, |event| match event {
        Event::Watching { remaining } => Some(*remaining),
        _ => None,
    })
    .await
}

/// Waits until a request fails; returns its error.
pub(crate) async fn store_error(events: &mut (impl Stream<Item = Event> + Unpin)) -> StoreError {
    event(events, |event| match event {
        Event::StoreUnavailable { error } => Some(error.clone()),
        _ => None,
    })
    .await
}

/// Waits until one of two candidates leads with a token above that one.
pub(crate) async fn one_leads(pair: [&Candidate; 2], above: Option<Token>) -> Tenure {
    soon(async {
        loop {
            let tenures = pair.into_iter().filter_map(Candidate::tenure);
            let next = tenures.into_iter().find(|tenure| Some(tenure.token()) > above);
            if let Some(next) = next.filter(Tenure::is_current) {
                return next;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
}

/// The reason for each step-down of a candidate.
pub(crate) type Falls = Arc<Mutex<Vec<StepDownReason>>>;

pub(crate) fn falls(candidate: &Candidate) -> Falls {
    let falls = Falls::default();
    let reasons = Arc::clone(&falls);
    candidate.on_stepped_down(move |_, reason| {
        reasons.lock().unwrap().push(reason);
        async {}
    });
    falls
}
