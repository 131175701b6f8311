//! A user's service as the program of each node, in place of the engine's own leader-only work.
//!
//! Its candidate, the driver, the Redis store and all faults are the same as in other runs. The
//! service itself runs in a tokio runtime of its own for each life of a node ([`hosting`]), so it
//! may spawn tasks as in production.
//!
//! Not guaranteed: anything about sockets. The simulated network connects candidates with their
//! store, and nothing else.

mod hosting;
mod outside;

use std::pin::Pin;
use std::sync::Arc;

use tenure::Candidate;
use tokio_util::sync::CancellationToken;

pub(super) use hosting::Hosting;
pub use outside::Outside;

use crate::engines::EngineError;
use crate::judge::properties::{self, PropertyName};
use crate::judge::{Judging, Outcome};
use crate::plan::{Assumption, Plan};
use crate::trace::Who;

/// A service that runs on each node of a simulation, and what must be true of all its nodes
/// together.
///
/// One value is the service of one run. It has what its nodes share, such as a fake of the
/// database: nodes change that through [`Outside`], so that a request is on its way for a while,
/// and arrives even if its sender crashes.
///
/// What the service does must depend only on its calls: no real clock, no entropy, no order of a
/// hash map, no `select!` that is not `biased`. `tokio::time` is simulated.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use std::time::Duration;
/// use tenure_sim::Simulation;
/// use tenure_sim::simulation::{Process, Service};
///
/// /// Each leader adds its token to a list, which refuses older ones.
/// #[derive(Default)]
/// struct Log(Arc<Mutex<Vec<u64>>>);
///
/// impl Service for Log {
///     async fn serve(self: Arc<Self>, process: Process) {
///         let work = async |tenure: tenure::Tenure| {
///             let token = tenure.token().get();
///             while tenure.is_current() {
///                 let log = Arc::clone(&self.0);
///                 let append = move || {
///                     let mut log = log.lock().unwrap();
///                     if log.last().is_none_or(|last| *last <= token) {
///                         log.push(token);
///                     }
///                 };
///                 process.outside.call(append).await;
///                 tokio::time::sleep(Duration::from_millis(100)).await;
///             }
///         };
///         let _ = process.candidate.run_while_leader(work).await;
///     }
///
///     fn verify(&self) -> Result<(), String> {
///         let is_sorted = self.0.lock().unwrap().is_sorted();
///         if is_sorted { Ok(()) } else { Err("an older leader wrote last".to_owned()) }
///     }
/// }
///
/// Simulation::new().runs(3).service(Log::default).check();
/// ```
pub trait Service: Send + Sync + 'static {
    /// The name under which violations are reported.
    fn name(&self) -> &'static str {
        "service"
    }

    /// The assumptions of [`verify`](Self::verify): it is not called in runs whose plan breaks one
    /// of them. The default is right for resources that compare tokens.
    fn assumes(&self) -> &'static [Assumption] {
        &[Assumption::WallClock, Assumption::OneMemory]
    }

    /// Runs one life of a node's process, in a tokio runtime of its own. Called again when the
    /// process is restarted.
    ///
    /// A crash drops the future and all tasks that it has spawned. So does the end of the run. When
    /// it returns, its process exits: this is a crash too, and a supervisor restarts the process a
    /// second later.
    fn serve(self: Arc<Self>, process: Process) -> impl Future<Output = ()> + 'static;

    /// Checks what all nodes share, after each [call](Outside::call).
    ///
    /// # Errors
    /// A description of the violation.
    fn verify(&self) -> Result<(), String>;

    /// Checks it at the end of a run. Runs end in the recovery phase, with a leader.
    ///
    /// # Errors
    /// A description of the violation.
    fn finish(&self) -> Result<(), String> {
        Ok(())
    }
}

/// One life of a node's process.
#[derive(Debug)]
#[non_exhaustive]
pub struct Process {
    /// Its candidate, which campaigns already. Its settings are those of the plan. The engine asks
    /// it to resign at times.
    pub candidate: Candidate,
    /// The way to everything outside of the process.
    pub outside: Outside,
    /// Cancelled when the process is asked to end, as by SIGTERM. A process that has not returned
    /// by the end of that fault is killed.
    pub shutdown: CancellationToken,
    /// The node, and the number of its restarts.
    pub who: Who,
    /// A seed for random generators. It differs from life to life.
    pub seed: u64,
}

/// A service of any type, in one run.
pub(crate) trait Hosted: Send + Sync {
    fn name(&self) -> PropertyName;
    fn assumes(&self) -> &'static [Assumption];
    fn serve(self: Arc<Self>, process: Process) -> Pin<Box<dyn Future<Output = ()>>>;
    fn verify(&self) -> Result<(), String>;
    fn finish(&self) -> Result<(), String>;
}

impl<S: Service> Hosted for S {
    fn name(&self) -> PropertyName {
        PropertyName::new(Service::name(self))
    }

    fn assumes(&self) -> &'static [Assumption] {
        Service::assumes(self)
    }

    fn serve(self: Arc<Self>, process: Process) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(Service::serve(self, process))
    }

    fn verify(&self) -> Result<(), String> {
        Service::verify(self)
    }

    fn finish(&self) -> Result<(), String> {
        Service::finish(self)
    }
}

/// The properties that compare what only the engine's own work reports, and the one about candidates
/// that have not stopped: a service's may have.
pub(super) const OF_OWN_WORK: [PropertyName; 10] = [
    PropertyName::FENCED_WRITES,
    PropertyName::FENCED_READS,
    PropertyName::UNFENCED_IN_ORDER,
    PropertyName::NO_RELEASE_UNDER_WORK,
    PropertyName::DRAINED_BEFORE_THE_NEXT,
    PropertyName::DRAINS_WITHIN_BOUNDS,
    PropertyName::LOOKS_WITHIN,
    PropertyName::STAYS_OUT,
    PropertyName::TOLD_OF_THE_END,
    PropertyName::ASKS_IN_TIME,
];

/// The properties that judge runs of services.
pub(crate) fn judges_services() -> impl Iterator<Item = PropertyName> {
    properties::names_at(super::TICK).filter(|name| !OF_OWN_WORK.contains(name))
}

/// Carries out a plan with that service on each node, and judges the run.
pub(crate) fn run_service(
    plan: &Plan,
    judging: Judging<'_>,
    service: Arc<dyn Hosted>,
) -> Result<Outcome, EngineError> {
    let hosting = Hosting::new(plan, service);
    super::run_plan(plan, judging, &super::own_program(), None, Some(hosting))
}
