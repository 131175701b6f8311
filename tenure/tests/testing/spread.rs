//! The renewals of processes that were started in the same moment, and whose clocks show the same.

use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::select_all;
use futures_util::{Stream, StreamExt};
use tenure::testing::World;
use tenure::{Config, Event};
use tokio::time::Instant;

use super::support::soon;

const PROCESSES: usize = 40;

/// The next renewals' times, in tenths of their interval since `began`.
async fn tenths(
    renewals: impl Stream<Item = Event>,
    began: Instant,
    interval: Duration,
) -> [usize; 10] {
    let mut tenths = [0; 10];
    let is_renewal = |event: &Event| std::future::ready(matches!(event, Event::Renewed(_)));
    let mut renewals = std::pin::pin!(renewals.filter(is_renewal).take(PROCESSES));
    while renewals.next().await.is_some() {
        let since = began.elapsed().as_nanos() * 10 / interval.as_nanos();
        tenths[usize::try_from(since).unwrap() % 10] += 1;
    }
    tenths
}

#[tokio::test]
async fn processes_renew_at_different_times() {
    let (world, interval) = (World::new().unwrap(), Config::default().renew_interval());
    let process = |number: usize| world.process().candidate(format!("job-{number}"));
    let candidates: Vec<_> =
        (0..PROCESSES).map(|number| process(number).start().unwrap()).collect();
    soon(join_all(candidates.iter().map(tenure::Candidate::elected))).await;
    let began = Instant::now();
    for _ in 0..2 {
        let events = select_all(candidates.iter().map(|one| Box::pin(one.events())));
        let tenths = soon(tenths(events, began, interval)).await;
        let most = tenths.iter().max().unwrap();
        assert!(*most <= PROCESSES / 5, "{tenths:?}");
    }
}
