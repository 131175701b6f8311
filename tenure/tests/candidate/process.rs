//! A candidate whose clock the test moves.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tenure::store::Memory;
use tenure::{Candidate, Config, Elections, Event, StepDownReason};

use super::moved_clock::Clock;
use super::support::soon;

pub(crate) const HOLD_OFF: Duration = Duration::from_secs(30);
pub(crate) const TICK: Duration = Duration::from_nanos(1);

/// Longer than any test: a successor within the test's bound shows a release.
pub(crate) fn long() -> Config {
    Config::builder(Duration::from_secs(60)).build().unwrap()
}

/// A candidate with a clock that the test moves, and the store for others.
pub(crate) struct Process {
    pub(crate) clock: Clock,
    store: Memory,
    pub(crate) candidate: Candidate,
}

impl Process {
    pub(crate) fn of(store: &Memory, keeps_lead: bool) -> Self {
        let (clock, store) = (Clock::new(), store.clone());
        let elections = Elections::with_runtime(store.clone(), Arc::new(clock.clone()));
        let builder = elections.candidate("job").config(long()).hold_off(HOLD_OFF);
        let builder = builder.keep_lead_without_work(keeps_lead);
        Self { clock, store, candidate: builder.start().unwrap() }
    }

    pub(crate) fn new() -> Self {
        Self::of(&Memory::new(), false)
    }

    /// Moves the clock, until the driver has done what is due.
    pub(crate) async fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.settle().await;
    }

    pub(crate) async fn settle(&self) {
        // The driver carries a question out after its commands, and then looks at its timers.
        for _ in 0..3 {
            soon(self.candidate.incumbent()).await.unwrap();
        }
    }

    /// A candidate of another process.
    pub(crate) fn other(&self) -> Candidate {
        let builder = Candidate::builder(self.store.clone(), "job").name("second");
        builder.config(long()).start().unwrap()
    }
}

/// The reason of the next end of a tenure.
pub(crate) async fn reason(events: &mut (impl Stream<Item = Event> + Unpin)) -> StepDownReason {
    loop {
        if let Event::SteppedDown { reason, .. } = soon(events.next()).await.unwrap() {
            return reason;
        }
    }
}
