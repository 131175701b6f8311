//! One life of a node's process: tasks that are paused together and end together.

use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use tokio::runtime::{Handle, RuntimeMetrics};
use tokio::task::{JoinHandle, LocalSet};

use super::node::Node;
use super::world::World;
use crate::engines::EngineError;
use crate::plan::FaultKind;

/// What runs on each node. It is called once in each life, and goes on in the tasks that it spawns.
pub(super) type Program = Rc<dyn Fn(&Rc<World>, &Arc<Node>) -> turmoil::Result>;

thread_local! {
    /// A task of the process that is being polled has panicked.
    static PANICKED: Cell<bool> = const { Cell::new(false) };
}

/// Spawns a task into the simulated process that calls this, in [`tokio::spawn`]'s place: the task
/// is paused when its process is, and ends when it crashes. A panic in it fails the run.
///
/// A task spawned by `tokio::spawn` itself would do neither, and ends the run with
/// [`EngineError::Escaped`].
///
/// # Panics
/// If called outside of a simulated process.
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    tokio::task::spawn_local(async move {
        match AssertUnwindSafe(future).catch_unwind().await {
            Ok(output) => output,
            Err(panic) => {
                PANICKED.set(true);
                resume_unwind(panic)
            }
        }
    })
}

/// Lives until it is crashed.
pub(super) async fn live(program: Program, world: Rc<World>, node: Arc<Node>) -> turmoil::Result {
    let _life = Life(Arc::clone(&node));
    let tasks = LocalSet::new();
    {
        let _inside = tasks.enter();
        program(&world, &node)?;
        spawn(std::future::pending::<()>());
    }
    Process { tasks, node, beside: Handle::current().metrics() }.await;
    Ok(())
}

/// Gone with the process.
struct Life(Arc<Node>);

impl Drop for Life {
    fn drop(&mut self) {
        // At the end of a run all processes are gone.
        if !self.0.is_alive() {
            self.0.took(FaultKind::Crash);
        }
    }
}

/// All tasks of a process: a garbage collection or a throttled container stops them together.
struct Process {
    tasks: LocalSet,
    node: Arc<Node>,
    /// Of the tasks on this machine that belong to no task set: nobody but the process can have spawned
    /// one, since turmoil itself spawns none but for connections of a machine to itself.
    beside: RuntimeMetrics,
}

impl Future for Process {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.node.poll_running(context));
        let polled = Pin::new(&mut self.tasks).poll(context);
        if PANICKED.take() {
            self.node.panicked();
        }
        // Whatever escapes is spawned while the process is polled, and can't be done before it is looked
        // for: both share one thread.
        if self.beside.num_alive_tasks() > 0 {
            self.node.breaks(EngineError::Escaped { node: self.node.index });
        }
        polled
    }
}
