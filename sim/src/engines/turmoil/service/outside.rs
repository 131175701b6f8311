//! Calls of a service to the outside of its process.

use std::fmt;
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::engines::node::NodeProcess;
use crate::engines::panics::message;
use crate::engines::turmoil::TICK;
use crate::engines::turmoil::landings::Landings;
use crate::engines::turmoil::node::Node;
use crate::plan::Point;
use crate::plan::draw::Draw;
use crate::trace::{Event, Who};

/// A process's way to what all nodes share: a database, a queue, the world.
#[derive(Clone)]
pub struct Outside {
    node: Arc<Node>,
    who: Who,
    takes: Duration,
    landings: Arc<Landings>,
    calls: Calls,
    /// The number of calls that the process has begun.
    begun: Arc<AtomicU64>,
}

impl Outside {
    pub(super) fn new(
        node: &Arc<Node>,
        takes: Duration,
        landings: &Arc<Landings>,
        calls: &Calls,
    ) -> Self {
        let who = node.who();
        let (node, landings, calls) = (Arc::clone(node), Arc::clone(landings), calls.clone());
        Self { node, who, takes, landings, calls, begun: Arc::default() }
    }

    /// Sends a request: `effect` is carried out when it arrives, and its result is the reply.
    ///
    /// It is sent as soon as it is polled, as by a client whose connection has a task of its own,
    /// and can't be taken back. On its way it takes as long as the plan's `takes_us`, in whole
    /// milliseconds; it arrives, whatever becomes of the process meanwhile. The reply takes another
    /// millisecond. A crashed process sends nothing, and reads no reply.
    ///
    /// A pause may come right before it is sent, and so after the check of leadership that the
    /// caller has just made. It stops the process inside of the poll: at its end the request is
    /// sent, before the tenure's end can cancel the work that sends it.
    ///
    /// # Panics
    /// A panic of `effect` is a failure of the run. It does not reach the caller, which gets no
    /// reply.
    pub async fn call<T: Send + 'static>(&self, effect: impl FnOnce() -> T + Send + 'static) -> T {
        if self.is_guarded() {
            self.node.reaches(Point::Guard);
        }
        if !self.node.is_alive() || self.node.who() != self.who {
            return pending().await;
        }
        let (node, who, calls) = (Arc::clone(&self.node), self.who, self.calls.clone());
        let began = node.true_now();
        let lands = move || {
            calls.landed();
            node.records_outside(Event::Called { who, began });
            // There is no reply: the run ends.
            catch_unwind(AssertUnwindSafe(effect))
                .map_err(|panic| node.panicked(message(&*panic).to_owned()))
        };
        let Ok(reply) = self.landings.send(&self.node, self.takes, lands).await else {
            return pending().await;
        };
        tokio::time::sleep(TICK).await;
        reply
    }

    /// True if a pause may come before this call. It comes before the first such call after some
    /// time: if that were any call, it would nearly always be the first one after a sleep, and
    /// never the write that follows a read.
    fn is_guarded(&self) -> bool {
        let begun = self.begun.fetch_add(1, Ordering::Relaxed);
        let life = (self.who.node as u64) << 8 | u64::from(self.who.life);
        Draw::new(self.node.seed, "guarded", life << 40 | begun).chance(1, 2)
    }
}

impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outside").field(&self.who).finish()
    }
}

/// The number of calls of a run that have landed.
#[derive(Clone, Default)]
pub(super) struct Calls(Arc<AtomicU64>);

impl Calls {
    fn landed(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
