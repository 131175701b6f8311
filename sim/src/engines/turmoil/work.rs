//! Leader-only work, started in each of the ways in which applications do it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use tenure::runtime::Runtime;
use tenure::{Candidate, Config, Tenure};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::contender::Seat;
use super::node::Node;
use super::process::spawn;
use super::sinks::Sinks;
use crate::plan::draw::Draw;
use crate::plan::{Manner, Point, SimTime};
use crate::trace::Event;

/// The work of a candidate, for the code that ends it.
pub(super) enum Working {
    WhileLeader(JoinHandle<()>),
    Until {
        shut_down: oneshot::Sender<()>,
        work: JoinHandle<()>,
    },
    /// In tasks of the candidate's own, or of a user's service.
    Elsewhere,
}

impl Working {
    pub(super) async fn end(self) {
        match self {
            Self::WhileLeader(work) | Self::Until { work, .. } => {
                work.abort();
                let _ = work.await;
            }
            Self::Elsewhere => {}
        }
    }
}

/// Ends with the candidate: this work never ends while its tenure is current.
pub(super) fn works(seat: &Seat, candidate: &Candidate) -> Working {
    let job = Job::of(seat);
    let candidate = candidate.clone();
    match seat.world.program.manner {
        Manner::WhileLeader => Working::WhileLeader(spawn(async move {
            let _ = candidate.run_while_leader(|tenure| job.clone().guarded(tenure)).await;
        })),
        Manner::CancellationToken => Working::WhileLeader(spawn(async move {
            let _ = candidate.run_while_leader(|tenure| job.clone().until_cancelled(tenure)).await;
        })),
        Manner::Until => {
            let (shut_down, asked) = oneshot::channel();
            let work = spawn(async move {
                // If the sender is dropped, the future still completes.
                let asked = asked.map(drop);
                let work = |tenure| job.clone().guarded(tenure);
                let _ = candidate.run_until(asked, work).await;
            });
            Working::Until { shut_down, work }
        }
        Manner::Callbacks => {
            let same = job.clone();
            candidate.on_elected(move |tenure| job.clone().guarded(tenure));
            candidate.on_stepped_down(move |tenure, _| same.clone().called_back(tenure));
            Working::Elsewhere
        }
    }
}

/// The work of a leader, and everything that it needs.
#[derive(Clone)]
struct Job {
    node: Arc<Node>,
    election: usize,
    sinks: Arc<Sinks>,
    every: Duration,
    config: Config,
    runtime: Arc<dyn Runtime>,
    /// The number of times that it was started.
    begun: Arc<AtomicU64>,
}

impl Job {
    fn of(seat: &Seat) -> Self {
        Self {
            node: Arc::clone(&seat.node),
            election: seat.election,
            sinks: Arc::clone(&seat.world.sinks),
            every: seat.world.work_every,
            config: seat.config(),
            runtime: Arc::clone(&seat.runtime),
            begun: Arc::default(),
        }
    }

    /// Checks that it leads, then writes, repeatedly. Takes a while to clean up at the end.
    async fn guarded(self, tenure: Tenure) {
        let under_way = UnderWay::begin(&self, &tenure);
        let tidies = self.tidies();
        while tenure.is_current() {
            self.writes(&tenure).await;
        }
        self.runtime.sleep_until(self.runtime.now() + tidies).await;
        under_way.ends_by_itself();
    }

    /// Does the same until its tenure is cancelled. Then it ends at once.
    async fn until_cancelled(self, tenure: Tenure) {
        let under_way = UnderWay::begin(&self, &tenure);
        let (who, token) = (self.node.who(), tenure.token().get());
        self.node.record(self.election, Event::WaitsToBeTold { who, token });
        let cancellation = tenure.cancellation_token();
        let works = async {
            loop {
                if tenure.is_current() {
                    self.writes(&tenure).await;
                } else {
                    self.runtime.sleep_until(self.runtime.now() + self.every).await;
                }
            }
        };
        tokio::select! {
            biased;
            () = cancellation.cancelled() => {}
            () = works => {}
        }
        under_way.ends_by_itself();
    }

    /// Runs after the end of a tenure, for as long as a cleanup.
    async fn called_back(self, tenure: Tenure) {
        let _under_way = CallingBack::begin(&self, &tenure);
        self.runtime.sleep_until(self.runtime.now() + self.tidies()).await;
    }

    /// Writes once under a tenure that was just checked to be current.
    async fn writes(&self, tenure: &Tenure) {
        let (node, runtime) = (&self.node, &self.runtime);
        let (checked, next) = (node.true_now(), runtime.now() + self.every);
        let token = tenure.token().get();
        let step = self.sinks.step(self.election, token);
        node.reaches(Point::Guard);
        self.sinks.write((node, self.election), token, step, checked).await;
        runtime.sleep_until(next).await;
    }

    /// The duration of a cleanup: sometimes longer than the permitted time.
    fn tidies(&self) -> Duration {
        let id = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let most = 2 * self.config.drain_bound().max(self.config.stop_margin()).as_millis();
        let key = (self.election as u64) << 48 | (self.node.index as u64) << 32 | id;
        let most = u64::try_from(most).unwrap_or(0);
        Duration::from_millis(Draw::new(self.node.seed, "tidy", key).within(0..=most))
    }
}

/// Work under way, until it is dropped.
struct UnderWay {
    node: Arc<Node>,
    election: usize,
    tenure: Tenure,
    /// When the poll began in which it ended by itself.
    polled: Option<SimTime>,
}

impl UnderWay {
    fn begin(job: &Job, tenure: &Tenure) -> Self {
        let (node, election) = (Arc::clone(&job.node), job.election);
        let (who, token) = (node.who(), tenure.token().get());
        node.record(election, Event::WorkBegan { who, token });
        Self { node, election, tenure: tenure.clone(), polled: None }
    }

    /// The work ends on its own. Whether it ended in time is judged by its present drain bound.
    fn ends_by_itself(mut self) {
        self.polled = Some(self.node.true_now());
        let drain_ends = self.node.clock.when(self.tenure.drain_until());
        let (who, token) = (self.node.who(), self.tenure.token().get());
        self.node.record(self.election, Event::DrainMoved { who, token, drain_ends });
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let (who, token) = (self.node.who(), self.tenure.token().get());
        self.node.record(self.election, Event::WorkEnded { who, token, polled: self.polled });
    }
}

/// A callback under way, until it ends or is dropped.
struct CallingBack {
    node: Arc<Node>,
    election: usize,
    token: u64,
}

impl CallingBack {
    fn begin(job: &Job, tenure: &Tenure) -> Self {
        let (node, election, token) = (Arc::clone(&job.node), job.election, tenure.token().get());
        node.record(election, Event::CallbackBegan { who: node.who(), token });
        Self { node, election, token }
    }
}

impl Drop for CallingBack {
    fn drop(&mut self) {
        let (who, token) = (self.node.who(), self.token);
        self.node.record(self.election, Event::CallbackEnded { who, token });
    }
}
