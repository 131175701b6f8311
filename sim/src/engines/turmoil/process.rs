//! One life of a node's process: tasks that are paused together and end together.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::runtime::{Handle, RuntimeMetrics};
use tokio::task::{JoinHandle, LocalSet};

use super::log::Log;
use super::node::Node;
use super::world::World;
use crate::engines::{EngineError, panics};
use crate::plan::FaultKind;

/// The program of each node. It is called once in each life, and continues in the tasks that it
/// spawns.
pub(super) type Program = Rc<dyn Fn(&Rc<World>, &Arc<Node>) -> turmoil::Result>;

/// Spawns a task into the calling simulated process, in [`tokio::spawn`]'s place: the task is
/// paused with its process, and ends when the process crashes. A panic in it fails the run.
///
/// A task spawned by `tokio::spawn` itself is not paused and does not crash, so it ends the run
/// with [`EngineError::Escaped`].
///
/// # Panics
/// If called outside of a simulated process.
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    tokio::task::spawn_local(future)
}

/// Runs until it is crashed.
pub(super) async fn live(program: Program, world: Rc<World>, node: Arc<Node>) -> turmoil::Result {
    let _life = Life(Arc::clone(&node));
    let tasks = LocalSet::new();
    let log = Log::new(world.program.log_panics);
    {
        let _inside = tasks.enter();
        log.within(|| program(&world, &node))?;
        spawn(std::future::pending::<()>());
    }
    Process { tasks, node, log, beside: Handle::current().metrics() }.await;
    Ok(())
}

/// Dropped with the process.
struct Life(Arc<Node>);

impl Drop for Life {
    fn drop(&mut self) {
        // At the end of a run all processes are dropped.
        if !self.0.is_alive() {
            self.0.took(FaultKind::Crash);
        }
    }
}

/// All tasks of a process: a garbage collection or a throttled container stops them together.
struct Process {
    tasks: LocalSet,
    node: Arc<Node>,
    log: Log,
    /// The tasks on this machine that belong to no task set. Only the process can have spawned one,
    /// because turmoil itself spawns tasks only for connections of a machine to itself.
    beside: RuntimeMetrics,
}

impl Future for Process {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.node.poll_running(context));
        let Self { tasks, log, .. } = &mut *self;
        let polled = log.within(|| Pin::new(tasks).poll(context));
        if let Some(what) = panics::take() {
            self.node.panicked(what);
        }
        // An escaped task is spawned while the process is polled, and can't complete before this
        // check: both share one thread.
        if self.beside.num_alive_tasks() > 0 {
            self.node.breaks(EngineError::Escaped { node: self.node.index });
        }
        polled
    }
}
