//! Leader-only work, started in each of the ways in which applications do it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use futures_util::FutureExt;
use tenure::{Candidate, Tenure};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::node::Node;
use super::process::spawn;
use super::seat::Seat;
use super::sinks::Sinks;
use crate::engines::node::{self, NodeProcess, Resource};
use crate::plan::{Manner, Point};
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
    let (job, candidate) = (job(seat), candidate.clone());
    match seat.world.program.manner {
        Manner::WhileLeader => Working::WhileLeader(spawn(async move {
            let _ = candidate.run_while_leader(|tenure| Arc::clone(&job).guarded(tenure)).await;
        })),
        Manner::CancellationToken => Working::WhileLeader(spawn(async move {
            let work = |tenure| Arc::clone(&job).until_cancelled(tenure);
            let _ = candidate.run_while_leader(work).await;
        })),
        Manner::Until => {
            let (shut_down, asked) = oneshot::channel();
            let work = spawn(async move {
                // If the sender is dropped, the future still completes.
                let asked = asked.map(drop);
                let work = |tenure| Arc::clone(&job).guarded(tenure);
                let _ = candidate.run_until(asked, work).await;
            });
            Working::Until { shut_down, work }
        }
        Manner::Callbacks => {
            let same = Arc::clone(&job);
            candidate.on_elected(move |tenure| Arc::clone(&job).guarded(tenure));
            candidate.on_stepped_down(move |tenure, _| Arc::clone(&same).called_back(tenure));
            Working::Elsewhere
        }
    }
}

impl Resource<Node> for Arc<Sinks> {
    type Connection = ();

    async fn write(&self, (node, election): (&Arc<Node>, usize), tenure: &Tenure, (): &mut ()) {
        let (checked, token) = (node.true_now(), tenure.token().get());
        let step = self.step(election, token);
        node.reaches(Point::Guard);
        Sinks::write(self, (node, election), token, step, checked).await;
    }
}

type Job = node::Job<Node, Arc<Sinks>>;

fn job(seat: &Seat) -> Arc<Job> {
    let (node, election) = (Arc::clone(&seat.node), seat.election);
    Arc::new(Job {
        election,
        resource: Arc::clone(&seat.world.sinks),
        every: seat.world.work_every,
        config: seat.config(),
        runtime: Arc::clone(&seat.runtime),
        draws: (node.seed, (election as u64) << 48 | (node.index as u64) << 32),
        begun: AtomicU64::new(0),
        process: node,
    })
}

impl Job {
    /// Writes as guarded work does, until its tenure is cancelled. Then it ends at once.
    async fn until_cancelled(self: Arc<Self>, tenure: Tenure) {
        let works = async {
            let (who, token) = (self.process.who(), tenure.token().get());
            self.process.record(self.election, Event::WaitsToBeTold { who, token });
            let cancellation = tenure.cancellation_token();
            let works = async {
                loop {
                    if tenure.is_current() {
                        self.writes(&tenure, &mut ()).await;
                    } else {
                        self.sleep(self.every).await;
                    }
                }
            };
            tokio::select! {
                biased;
                () = cancellation.cancelled() => {}
                () = works => {}
            }
        };
        self.under_way(&tenure, works).await;
    }

    /// Runs after the end of a tenure, for as long as a cleanup.
    async fn called_back(self: Arc<Self>, tenure: Tenure) {
        let _under_way = CallingBack::begin(&self, &tenure);
        self.sleep(self.tidies()).await;
    }
}

/// A callback under way, until it ends or is dropped.
struct CallingBack<'a> {
    job: &'a Job,
    token: u64,
}

impl<'a> CallingBack<'a> {
    fn begin(job: &'a Job, tenure: &Tenure) -> Self {
        let (who, token) = (job.process.who(), tenure.token().get());
        job.process.record(job.election, Event::CallbackBegan { who, token });
        Self { job, token }
    }
}

impl Drop for CallingBack<'_> {
    fn drop(&mut self) {
        let (who, token) = (self.job.process.who(), self.token);
        self.job.process.record(self.job.election, Event::CallbackEnded { who, token });
    }
}
