//! The shared parts of a candidate's process: its clock, its reports, and the points at which it
//! waits.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io::{self, Write};
use std::pin::pin;
use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, mpsc};
use std::task::Poll;
use std::time::Duration;

use tenure::Candidate;
use tokio::sync::Notify;
use tokio::task::block_in_place;

use crate::engines::node::NodeProcess;
use crate::engines::real::clock::TrueTime;
use crate::engines::real::protocol::{Brief, Report};
use crate::plan::clock::Clock;
use crate::plan::{FaultKind, Point, RequestKind, SimTime};
use crate::trace::{Entry, Event, Who};

pub(super) struct Process {
    pub(super) who: Who,
    /// The clock of the candidate, with the errors that the plan gives it.
    pub(super) clock: Clock,
    /// Notified when the clock was set.
    pub(super) clock_stepped: Notify,
    /// True if the present end of a tenure is one that leaves the election.
    pub(super) is_leaving: AtomicBool,
    /// A wait that was too long or too short is reported once.
    pub(super) drifted: Once,
    time: TrueTime,
    /// The candidate whose `is_leader()` is sampled.
    candidate: Mutex<Option<Candidate>>,
    points: Vec<Point>,
    waiting: Mutex<HashMap<u64, mpsc::Sender<()>>>,
    tickets: AtomicU64,
}

impl NodeProcess for Process {
    fn who(&self) -> Who {
        self.who
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn true_now(&self) -> SimTime {
        self.now()
    }

    /// There is one election.
    fn record(&self, _: usize, event: Event) {
        self.record(event);
    }

    /// Stops at a point until the engine lets it pass; it may pause the process there. The thread
    /// is blocked: what follows the point is carried out next, whatever else the process learns
    /// meanwhile.
    fn stops_at(&self, point: Point, of: Option<RequestKind>) {
        if !self.points.contains(&point) {
            return;
        }
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        let (pass, passed) = mpsc::channel();
        lock(&self.waiting).insert(ticket, pass);
        self.report(&Report::Reached { ticket, point, of });
        // The sender is dropped only with the process.
        let _ = block_in_place(|| passed.recv());
    }
}

impl Process {
    pub(super) fn new(brief: &Brief) -> Self {
        let offset = Duration::from_millis(brief.node.clock_offset_ms);
        let clock = Clock::new(offset, brief.node.clock_rate_ppm);
        clock.step(SimTime::START, brief.stepped_ms);
        Self {
            who: brief.who,
            clock,
            clock_stepped: Notify::new(),
            is_leaving: AtomicBool::new(false),
            drifted: Once::new(),
            time: TrueTime::since(brief.began),
            candidate: Mutex::new(None),
            points: brief.points.clone(),
            waiting: Mutex::default(),
            tickets: AtomicU64::new(0),
        }
    }

    pub(super) fn time(&self) -> TrueTime {
        self.time
    }

    pub(super) fn now(&self) -> SimTime {
        self.time.now()
    }

    /// Asks the candidate, if there is one. Meanwhile it is not told to resign.
    pub(super) fn asks<T>(&self, question: impl FnOnce(Option<&Candidate>) -> T) -> T {
        question(lock(&self.candidate).as_ref())
    }

    /// Records that the candidate is asked to resign, and begins to: in between, `is_leader()` is
    /// not sampled.
    pub(super) async fn resigns<T>(
        &self,
        hold_off: Option<u64>,
        resignation: impl Future<Output = T>,
    ) -> T {
        let mut resignation = pin!(resignation);
        let begun = poll_fn(|context| {
            let asked = lock(&self.candidate);
            self.record(Event::ResignAsked { who: self.who, hold_off });
            let begun = resignation.as_mut().poll(context);
            drop(asked);
            Poll::Ready(begun)
        });
        match begun.await {
            Poll::Ready(done) => done,
            Poll::Pending => resignation.await,
        }
    }

    pub(super) fn has(&self, candidate: Option<Candidate>) {
        let old = std::mem::replace(&mut *lock(&self.candidate), candidate);
        drop(old);
    }

    /// Adds an event of this moment to the trace.
    pub(super) fn record(&self, event: Event) {
        self.record_at(self.now(), event);
    }

    pub(super) fn record_at(&self, at: SimTime, event: Event) {
        self.report(&Report::Happened(Entry { at, event }));
    }

    /// A fault of that kind has had an effect, if one is active.
    pub(super) fn took(&self, kind: FaultKind) {
        self.report(&Report::Took { at: self.now(), kind });
    }

    /// Writes a line at once: a process that is killed in the next moment has still reported it.
    #[expect(clippy::unused_self, reason = "reports are of this process")]
    pub(super) fn report(&self, report: &Report) {
        let line = format!("{}\n", serde_json::json!(report));
        if io::stdout().lock().write_all(line.as_bytes()).is_err() {
            // The engine has ended.
            exit(0);
        }
    }

    /// The engine lets the holder of that ticket pass.
    pub(super) fn passes(&self, ticket: u64) {
        if let Some(pass) = lock(&self.waiting).remove(&ticket) {
            // Its thread waits for this alone.
            let _ = pass.send(());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
