//! Leader-only work: take the resource over, then check and write, repeatedly.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure::runtime::Runtime;
use tenure::{Config, Tenure};

use super::process::Process;
use crate::engines::real::Target;
use crate::engines::real::protocol::{Brief, Place};
use crate::engines::real::resource::{NotWritten, Resource, Written};
use crate::plan::draw::Draw;
use crate::plan::{Point, SimTime};
use crate::trace::Event;

/// The work of a leader, and everything that it needs.
#[derive(Clone)]
pub(super) struct Job {
    process: Arc<Process>,
    runtime: Arc<dyn Runtime>,
    target: Target,
    resource: Place,
    every: Duration,
    config: Config,
    writes: Arc<AtomicU64>,
    seed: u64,
    /// The number of times that it was started.
    begun: Arc<AtomicU64>,
}

impl Job {
    pub(super) fn new(
        process: Arc<Process>,
        runtime: Arc<dyn Runtime>,
        brief: &Brief,
        config: Config,
    ) -> Self {
        Self {
            process,
            runtime,
            target: brief.target,
            resource: brief.resource.clone(),
            every: Duration::from_millis(brief.work.every_ms),
            config,
            writes: Arc::default(),
            seed: brief.seed,
            begun: Arc::default(),
        }
    }

    /// The work, which knows when each of its polls began: the process may be paused in the middle of one.
    pub(super) async fn guarded(self, tenure: Tenure) {
        let process = Arc::clone(&self.process);
        let polled = Arc::new(AtomicU64::new(0));
        let mut work = pin!(self.works(tenure, Arc::clone(&polled)));
        poll_fn(|context| {
            polled.store(process.now().as_nanos(), Ordering::Relaxed);
            work.as_mut().poll(context)
        })
        .await;
    }

    /// Writes until the tenure ends. Then takes a while to clean up.
    async fn works(self, tenure: Tenure, polled: Arc<AtomicU64>) {
        let under_way = UnderWay::begin(&self.process, &tenure);
        let mut resource = None;
        while tenure.is_current() {
            let next = self.runtime.now() + self.every;
            resource = self.writes(&tenure, resource).await;
            self.runtime.sleep_until(next).await;
        }
        self.runtime.sleep_until(self.runtime.now() + self.tidies()).await;
        under_way.ends_by_itself(SimTime::from_nanos(polled.load(Ordering::Relaxed)));
    }

    /// The duration of a cleanup: sometimes longer than the permitted time.
    fn tidies(&self) -> Duration {
        let id = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let most = 2 * self.config.drain_bound().max(self.config.stop_margin()).as_millis();
        let who = self.process.who;
        let key = (who.node as u64) << 48 | u64::from(who.life) << 32 | id;
        let most = u64::try_from(most).unwrap_or(0);
        Duration::from_millis(Draw::new(self.seed, "tidy", key).within(0..=most))
    }

    /// Writes once, to the part without a fence too if the fence refuses. The tenure takes the resource over first: `None`
    /// if that has to be repeated.
    async fn writes(&self, tenure: &Tenure, resource: Option<Resource>) -> Option<Resource> {
        let (who, token) = (self.process.who, tenure.token());
        let mut resource = if let Some(resource) = resource {
            resource
        } else {
            let mut resource = Resource::connect(self.target, &self.resource).await?;
            resource.take_over(token).await.ok()?;
            resource
        };
        let checked = self.process.now();
        if !tenure.is_current() {
            return Some(resource);
        }
        let number = self.writes.fetch_add(1, Ordering::Relaxed) + 1;
        let written = Written { who, token: token.get(), number, checked };
        let process = Arc::clone(&self.process);
        // In a task of its own: once checked, a write is carried out, whatever becomes of the work. A process that is
        // paused in between carries it out when it resumes.
        let write = tokio::spawn(async move {
            process.stops_at(Point::Guard, None);
            // Only the account of the server shows what was written.
            let known = match resource.write(written).await {
                Ok(()) => true,
                Err(NotWritten::Refused) => resource.write_unfenced(written).await.is_ok(),
                Err(NotWritten::Unknown) => false,
            };
            known.then_some(resource)
        });
        // A panic has been printed.
        write.await.ok().flatten()
    }
}

/// Work under way, until it is dropped.
struct UnderWay {
    process: Arc<Process>,
    tenure: Tenure,
    /// When the poll began in which it ended by itself.
    polled: Option<SimTime>,
}

impl UnderWay {
    fn begin(process: &Arc<Process>, tenure: &Tenure) -> Self {
        let (process, token) = (Arc::clone(process), tenure.token().get());
        process.record(Event::WorkBegan { who: process.who, token });
        Self { process, tenure: tenure.clone(), polled: None }
    }

    /// The work ends on its own. Whether it ended in time is judged by its present drain bound.
    fn ends_by_itself(mut self, polled: SimTime) {
        self.polled = Some(polled);
        let drain_ends = self.process.clock.when(self.tenure.drain_until());
        let (who, token) = (self.process.who, self.tenure.token().get());
        self.process.record(Event::DrainMoved { who, token, drain_ends });
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let (who, token) = (self.process.who, self.tenure.token().get());
        self.process.record(Event::WorkEnded { who, token, polled: self.polled });
    }
}
