//! A candidate that takes part in an election: the recording of its events, its work, and how it
//! hands over and leaves.

use std::cell::Cell;
use std::rc::Rc;

use futures_util::{Stream, StreamExt};
use tenure::Candidate;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::cancels::cancels;
use super::process::spawn;
use super::seat::Seat;
use super::work::{Working, works};
use crate::engines::calls::of_driver::traced;
use crate::engines::node::NodeProcess;
use crate::engines::{EngineError, cut};
use crate::plan::FaultKind;
use crate::plan::draw::Draw;
use crate::trace::{Event, Reason};

pub(super) struct TakingPart {
    candidate: Candidate,
    working: Working,
    resigns: mpsc::UnboundedSender<()>,
    /// To whom it hands over.
    hands_over: mpsc::UnboundedSender<String>,
    /// Tasks that hold the candidate while they wait for it.
    waiting: Vec<JoinHandle<()>>,
    /// The engine's requests to the candidate.
    asked: Rc<Asked>,
    /// Completes when the candidate's last event has been recorded.
    stopped: oneshot::Receiver<()>,
}

/// The engine's requests to a candidate. A service may resign without being asked.
#[derive(Default)]
struct Asked {
    resigning: Cell<bool>,
    leaving: Cell<bool>,
    handing_over: Cell<bool>,
}

/// The way in which a candidate leaves its election.
#[derive(Clone, Copy)]
enum Leaving {
    /// By `stop()`.
    Stops,
    /// Its work is dropped, and so are all handles.
    IsDropped,
}

impl TakingPart {
    pub(super) fn begin(seat: &Seat, candidate: Candidate) -> Self {
        let (resigns, wanted) = mpsc::unbounded_channel();
        let (has_stopped, stopped) = oneshot::channel();
        let asked = Rc::new(Asked::default());
        spawn(report(seat.clone(), candidate.events(), Rc::clone(&asked), has_stopped));
        let (hands_over, meant) = mpsc::unbounded_channel();
        let resigning = resigning(seat.clone(), candidate.clone(), Rc::clone(&asked), wanted);
        let handing_over = handing_over(candidate.clone(), Rc::clone(&asked), meant);
        let mut waiting = vec![spawn(resigning), spawn(handing_over)];
        if seat.world.program.cancels {
            waiting.push(spawn(cancels(seat.clone(), candidate.downgrade())));
        }
        let working = match &seat.world.hosting {
            Some(hosting) => {
                hosting.begins(&seat.node, candidate.clone(), &seat.world.landings);
                Working::Elsewhere
            }
            None => works(seat, &candidate),
        };
        Self { candidate, working, resigns, hands_over, waiting, asked, stopped }
    }

    pub(super) fn resigns(&self) {
        // A process that is just ending no longer receives orders.
        let _ = self.resigns.send(());
    }

    pub(super) fn hands_over(&self, to: String) {
        self.asked.handing_over.set(true);
        let _ = self.hands_over.send(to);
    }

    /// Leaves the election for good, and waits until the driver has removed the candidate. While it
    /// hands over, it first looks for the leader, and stops in the poll in which it is told: what
    /// follows from both answers may reach the driver in one turn.
    pub(super) async fn leaves(self, seat: &Seat) {
        let Self { candidate, working, resigns, hands_over, waiting, asked, stopped } = self;
        drop(hands_over);
        let looks = asked.handing_over.get();
        if looks {
            // The handover asks first.
            tokio::task::yield_now().await;
            let _ = candidate.incumbent().await;
        }
        asked.leaving.set(true);
        seat.node.took(FaultKind::Leave);
        let who = seat.node.who();
        seat.record(Event::ResignAsked { who, hold_off: None });
        let key = (seat.node.index as u64) << 48 | seat.node.draw();
        let ways: &[_] =
            if looks { &[Leaving::Stops] } else { &[Leaving::Stops, Leaving::IsDropped] };
        let leaving = Draw::new(seat.node.seed, "leaves", key).pick(ways);
        match (leaving, working) {
            (_, Working::Until { shut_down, work }) => {
                // The receiving task may have ended.
                let _ = shut_down.send(());
                let _ = work.await;
                seat.world.replaces(seat.election, seat.node.index, None);
                seat.record(Event::Withdrawn { who, done: true });
                drop((resigns, candidate));
                let _ = stopped.await;
            }
            (Leaving::Stops, _) => {
                if seat.world.program.cancels {
                    cut(seat.node.draw() % 2, candidate.stop()).await;
                }
                // The properties judge whether `stop` gave up.
                let done = candidate.stop().await.is_ok();
                seat.world.replaces(seat.election, seat.node.index, None);
                seat.record(Event::Withdrawn { who, done });
                let _ = stopped.await;
            }
            (Leaving::IsDropped, working) => {
                for task in waiting {
                    task.abort();
                    let _ = task.await;
                }
                working.end().await;
                seat.world.replaces(seat.election, seat.node.index, None);
                drop((resigns, candidate));
                let _ = stopped.await;
                seat.record(Event::Withdrawn { who, done: true });
            }
        }
    }
}

/// Records the candidate's events in the trace.
async fn report(
    seat: Seat,
    mut events: impl Stream<Item = tenure::Event> + Unpin,
    asked: Rc<Asked>,
    has_stopped: oneshot::Sender<()>,
) {
    let node = &seat.node;
    while let Some(event) = events.next().await {
        if let tenure::Event::Lagged(_) = event {
            // A trace with gaps can't be judged.
            let why = "a reporter lagged behind its candidate".into();
            node.breaks(EngineError::Simulation(why));
        }
        let who = node.who();
        let Some(event) = traced(who, &event, |shows| node.clock.when(shows)) else { continue };
        let resigns = matches!(event, Event::SteppedDown { reason: Reason::Resigned, .. });
        if let Event::SteppedDown { reason: Reason::HandedOver, .. } = event {
            node.took(FaultKind::HandOver);
        }
        let resigns = resigns && !asked.leaving.get();
        let by_itself = resigns && seat.is_of_a_service() && !asked.resigning.get();
        if by_itself {
            seat.record(Event::ResignAsked { who, hold_off: Some(0) });
        } else if resigns {
            node.took(FaultKind::Resign);
        }
        seat.record(event);
        if by_itself {
            seat.record(Event::Withdrawn { who, done: true });
        }
    }
    // Only a candidate that leaves has a receiver.
    let _ = has_stopped.send(());
}

/// Tries each handover: the one that is meant may be down, or away.
async fn handing_over(
    candidate: Candidate,
    asked: Rc<Asked>,
    mut meant: mpsc::UnboundedReceiver<String>,
) {
    while let Some(to) = meant.recv().await {
        let _ = candidate.hand_over(Some(&to)).await;
        asked.handing_over.set(false);
    }
}

async fn resigning(
    seat: Seat,
    candidate: Candidate,
    asked: Rc<Asked>,
    mut wanted: mpsc::UnboundedReceiver<()>,
) {
    let hold_off = u64::try_from(seat.config().renew_interval().as_nanos()).ok();
    while wanted.recv().await.is_some() {
        asked.resigning.set(true);
        seat.record(Event::ResignAsked { who: seat.node.who(), hold_off });
        if seat.world.program.cancels {
            // Dropped before or right after it was sent, then sent again: one resignation, or two.
            cut(seat.node.draw() % 2, candidate.resign()).await;
        }
        // The properties judge whether `resign` gave up.
        let done = candidate.resign().await.is_ok();
        seat.record(Event::Withdrawn { who: seat.node.who(), done });
        asked.resigning.set(false);
    }
}
