//! Leader-only work: check, then write, repeatedly, and clean up at the end of the tenure.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure::runtime::Runtime;
use tenure::{Config, Tenure};

use super::NodeProcess;
use crate::plan::SimTime;
use crate::plan::draw::Draw;
use crate::trace::Event;

/// The resource of leaders on processes of that kind.
pub(crate) trait Resource<P>: Send + Sync + 'static {
    /// The state that a tenure's work keeps between writes.
    type Connection: Default + Send;

    /// Writes once, for the leader of an election on a process: its tenure was just checked to be
    /// current.
    fn write(
        &self,
        by: (&Arc<P>, usize),
        tenure: &Tenure,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = ()> + Send;
}

/// The work of a leader, and everything that it needs.
pub(crate) struct Job<P, R> {
    pub(crate) process: Arc<P>,
    pub(crate) election: usize,
    pub(crate) resource: R,
    pub(crate) every: Duration,
    pub(crate) config: Config,
    pub(crate) runtime: Arc<dyn Runtime>,
    /// The seed and the key of the durations of its cleanups.
    pub(crate) draws: (u64, u64),
    /// The number of cleanups.
    pub(crate) begun: AtomicU64,
}

impl<P: NodeProcess, R: Resource<P>> Job<P, R> {
    /// Checks that it leads, then writes, repeatedly. Takes a while to clean up at the end.
    pub(crate) async fn guarded(self: Arc<Self>, tenure: Tenure) {
        let tidies = self.tidies();
        let writes = async {
            let mut connection = R::Connection::default();
            while tenure.is_current() {
                self.writes(&tenure, &mut connection).await;
            }
            self.sleep(tidies).await;
        };
        self.under_way(&tenure, writes).await;
    }

    /// Writes once, and waits for the time of the next write.
    pub(crate) async fn writes(&self, tenure: &Tenure, connection: &mut R::Connection) {
        let next = self.runtime.now() + self.every;
        self.resource.write((&self.process, self.election), tenure, connection).await;
        self.runtime.sleep_until(next).await;
    }

    pub(crate) async fn sleep(&self, duration: Duration) {
        self.runtime.sleep_until(self.runtime.now() + duration).await;
    }

    /// Records when that work begins and ends. A process may be paused in the middle of a poll, so
    /// work that ends by itself has the time at which its last poll began too.
    pub(crate) async fn under_way(&self, tenure: &Tenure, work: impl Future<Output = ()>) {
        let mut under_way = UnderWay::begin(&*self.process, self.election, tenure);
        let mut work = pin!(work);
        let polled = poll_fn(|context| {
            let polled = self.process.true_now();
            work.as_mut().poll(context).map(|()| polled)
        });
        under_way.ends_by_itself(polled.await);
    }

    /// The duration of a cleanup: sometimes longer than the permitted time.
    pub(crate) fn tidies(&self) -> Duration {
        let id = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let most = 2 * self.config.drain_bound().max(self.config.stop_margin()).as_millis();
        let most = u64::try_from(most).unwrap_or(0);
        let (seed, key) = self.draws;
        Duration::from_millis(Draw::new(seed, "tidy", key | id).within(0..=most))
    }
}

/// Work under way, until it is dropped.
struct UnderWay<'a, P: NodeProcess> {
    process: &'a P,
    election: usize,
    tenure: &'a Tenure,
    /// The start of the poll in which it ended by itself.
    polled: Option<SimTime>,
}

impl<'a, P: NodeProcess> UnderWay<'a, P> {
    fn begin(process: &'a P, election: usize, tenure: &'a Tenure) -> Self {
        let (who, token) = (process.who(), tenure.token().get());
        process.record(election, Event::WorkBegan { who, token });
        Self { process, election, tenure, polled: None }
    }

    /// The work ends on its own. Whether it ended in time is judged by its present drain bound.
    fn ends_by_itself(&mut self, polled: SimTime) {
        self.polled = Some(polled);
        let drain_ends = self.process.clock().when(self.tenure.drain_until());
        let (who, token) = (self.process.who(), self.tenure.token().get());
        self.process.record(self.election, Event::DrainMoved { who, token, drain_ends });
    }
}

impl<P: NodeProcess> Drop for UnderWay<'_, P> {
    fn drop(&mut self) {
        let (who, token) = (self.process.who(), self.tenure.token().get());
        self.process.record(self.election, Event::WorkEnded { who, token, polled: self.polled });
    }
}
