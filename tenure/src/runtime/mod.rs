//! The outside that the driver and the adapters need: a clock, timers, tasks, connections, and
//! randomness.
//!
//! Nothing in this crate calls an async runtime directly: it goes through a [`Runtime`], so that
//! the simulator can run the shipped driver and adapters, byte for byte, under clocks and networks
//! of its own. (Stated exceptions: the clients `fred` and `mysql_async` own their sockets, `etcd-client` its tasks, and
//! the SQLite store a thread.)

mod alarm;
mod clock;
mod names;
#[cfg(feature = "testing")]
mod paused;
mod sleep;
mod timer;
mod tokio;

use std::fmt;
use std::io;
use std::task::Waker;
use std::time::Duration;

use ::tokio::io::{AsyncRead, AsyncWrite};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::Instant;

#[cfg(feature = "testing")]
pub(crate) use self::paused::PausedRuntime;
#[cfg(any(feature = "fred", feature = "mysql"))]
pub(crate) use self::tokio::KEEPALIVE_AFTER;
pub use self::tokio::TokioRuntime;

/// A candidate's clock, timers, tasks and connections. [`TokioRuntime`] has the real ones.
pub trait Runtime: fmt::Debug + Send + Sync + 'static {
    /// Reads the clock. It must never go back, and must count the time in which the machine is
    /// suspended: a monotonic clock that stops in a suspend lets a leader believe in a lease that
    /// has ended.
    fn now(&self) -> Instant;

    /// For how long the machine was suspended so far, as far as the runtime can tell. A waiting
    /// candidate begins its watches anew when this grows: a clock that runs through a suspend may
    /// have been set by another, worse one meanwhile. By default never.
    fn suspended(&self) -> Duration {
        Duration::ZERO
    }

    /// Completes once the clock has reached `deadline`: soon after, never before.
    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()>;

    /// Wakes the same task as `waker`, wherever the caller runs, in such a way that any thread of
    /// the runtime can run the task. For wake-ups by the application's code, which may block its
    /// thread afterwards. By default `waker` itself, for runtimes of one thread.
    fn waker_from_outside(&self, waker: &Waker) -> Waker {
        waker.clone()
    }

    /// Runs a task in the background. A panic in it must not reach the caller.
    fn spawn(&self, task: BoxFuture<'static, ()>);

    /// The addresses of a host, in the order in which to try them. [`connect`](Self::connect) takes
    /// each in place of the host. By default the host alone, whose address `connect` finds then.
    ///
    /// Neither may hold up other tasks or the end of the program while a name server is silent.
    fn addresses(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<String>>> {
        std::future::ready(Ok(vec![host.to_owned()])).boxed()
    }

    /// Opens a byte stream to `host`:`port`, unencrypted, without delaying small writes. What keeps
    /// an idle connection known to the network, such as TCP's keepalive, belongs here too.
    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Connection>>;

    /// 128 random bits. Fails only if the operating system can't provide them.
    fn entropy(&self) -> io::Result<u128>;

    /// Checks that tasks, timers and connections work where this is called.
    ///
    /// # Errors
    /// If they don't.
    fn available(&self) -> Result<(), NoRuntime> {
        Ok(())
    }
}

const PARTS: u32 = 1_000;

/// A random number of thousandths; all of them if there is no randomness.
pub(crate) fn thousandths(runtime: &dyn Runtime) -> u32 {
    let random = runtime.entropy().ok().map(|random| random % u128::from(PARTS));
    random.and_then(|part| u32::try_from(part).ok()).unwrap_or(PARTS)
}

/// A random part of it; the whole if there is no randomness.
pub(crate) fn part_of(runtime: &dyn Runtime, whole: Duration) -> Duration {
    whole / PARTS * thousandths(runtime)
}

/// A candidate was started where no async runtime runs, or one without what elections need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoRuntime(&'static str);

impl NoRuntime {
    pub(crate) const ABSENT: Self = Self::new(
        "no tokio runtime here: call this inside one; a candidate can also be built, and its driver spawned elsewhere",
    );
    /// Its builder did not enable timers.
    pub(crate) const NO_TIMERS: Self =
        Self::new("this tokio runtime has no timers: build it with enable_time() or enable_all()");

    /// With a text that says what is missing, and what to do.
    pub const fn new(text: &'static str) -> Self {
        Self(text)
    }
}

/// A byte stream to a server.
pub type Connection = Box<dyn ByteStream>;

/// Any stream of bytes that an adapter can speak over.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> ByteStream for T {}
