//! Futures that are dropped before they complete: a dropped future must not affect other callers.

use std::time::Duration;

use futures_util::StreamExt;
use tenure::{Candidate, WeakCandidate};

use super::seat::Seat;
use crate::engines::cut;
use crate::engines::node::NodeProcess;
use crate::plan::draw::Draw;
use crate::trace::Event;

/// The most polls of a future before it is dropped.
const POLLS_MOST: u64 = 6;

/// The future to be dropped.
#[derive(Clone, Copy)]
enum Given {
    Look,
    Message,
    Elected,
    Event,
    Ended,
    Inbox,
    Work,
    /// None: the future is awaited.
    Nothing,
}

const ALL: [Given; 8] = [
    Given::Look,
    Given::Message,
    Given::Elected,
    Given::Event,
    Given::Ended,
    Given::Inbox,
    Given::Work,
    Given::Nothing,
];

/// Starts futures one after the other and drops them, until the candidate has ended.
pub(super) async fn cancels(seat: Seat, candidate: WeakCandidate) {
    let most = u64::try_from(seat.config().ttl().as_millis() / 4).unwrap_or(u64::MAX);
    loop {
        let mut draw = Draw::new(seat.node.seed, "cancels", draw_key(&seat));
        let pause = Duration::from_millis(draw.within(1..=most));
        seat.runtime.sleep_until(seat.runtime.now() + pause).await;
        let Some(candidate) = candidate.upgrade() else { return };
        let polls = draw.within(0..=POLLS_MOST);
        // A future that nothing wakes would never be dropped.
        let patience = Duration::from_millis(draw.within(1..=most));
        let given = draw.pick(&ALL);
        if let Given::Nothing = given {
            observe(&seat, &candidate).await;
            continue;
        }
        let late = seat.runtime.sleep_until(seat.runtime.now() + patience);
        tokio::select! {
            biased;
            () = give_up(&seat, &candidate, given, polls) => {}
            () = late => {}
        }
    }
}

async fn observe(seat: &Seat, candidate: &Candidate) {
    seat.record(Event::LookBegan { who: seat.node.who() });
    let _looking = Looking(seat);
    // The properties judge whether its answer was in time.
    let _ = candidate.incumbent().await;
}

/// An observation in progress, until its candidate ends.
struct Looking<'a>(&'a Seat);

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        self.0.record(Event::LookEnded { who: self.0.node.who() });
    }
}

fn draw_key(seat: &Seat) -> u64 {
    (seat.node.index as u64) << 48 | seat.node.draw()
}

/// Polls a future that many times, then drops it, or its output.
async fn give_up(seat: &Seat, candidate: &Candidate, what: Given, polls: u64) {
    let work = |_| seat.runtime.sleep_until(seat.runtime.now() + Duration::from_millis(2));
    match (what, candidate.tenure()) {
        (Given::Look, _) => drop(cut(polls, candidate.incumbent()).await),
        (Given::Message, _) => drop(cut(polls, candidate.notify_leader("wake up", "now")).await),
        (Given::Elected, _) => drop(cut(polls, candidate.elected()).await),
        (Given::Event, _) => drop(cut(polls, candidate.events().next()).await),
        (Given::Inbox, Some(tenure)) => drop(cut(polls, tenure.inbox().next()).await),
        (Given::Ended, Some(tenure)) => _ = cut(polls, tenure.ended()).await,
        (Given::Work, _) => _ = cut(polls, candidate.run_if_leader(work)).await,
        (Given::Ended | Given::Inbox, None) | (Given::Nothing, _) => {}
    }
}
