//! The real runtime: tokio, and a clock that counts suspends.

use std::io;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::net::TcpStream;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::sleep::Sleep;
use super::timer::Timer;
use super::{Connection, NoRuntime, Runtime, clock};
use crate::Instant;

/// Tokio's tasks and sockets. On Linux the clock is `CLOCK_BOOTTIME`, so that a leader's claim expires while its
/// machine is suspended. Timers use the same clock, so that work ends right after a resume. All timers of a process share
/// one thread, `tenure-timer`, and one file descriptor (a timerfd). If that descriptor can't be opened, because the process
/// has too many, timers are at most a second late after a suspend, and the log says so once.
///
/// On other systems the standard library's monotonic clock is used; whether it counts suspends depends on the
/// platform.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioRuntime;

impl Runtime for TokioRuntime {
    fn now(&self) -> Instant {
        clock::now()
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        Sleep::until(deadline).boxed()
    }

    fn waker_from_outside(&self, waker: &Waker) -> Waker {
        Waker::from(Arc::new(FromOutside(waker.clone())))
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }

    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Connection>> {
        let address = (host.to_owned(), port);
        async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Connection)
        }
        .boxed()
    }

    fn entropy(&self) -> io::Result<u128> {
        let mut bits = [0; 16];
        getrandom::fill(&mut bits)?;
        Ok(u128::from_le_bytes(bits))
    }

    fn available(&self) -> Result<(), NoRuntime> {
        Handle::try_current().map_err(|_| NoRuntime::Absent)?;
        if !has_timers() {
            return Err(NoRuntime::NoTimers);
        }
        #[cfg(unix)]
        if !works(|| drop(tokio::net::UnixStream::pair())) {
            return Err(NoRuntime::NoIo);
        }
        Ok(())
    }
}

/// Wakes a task from a thread that no runtime uses, if the caller's thread may be one.
struct FromOutside(Waker);

impl Wake for FromOutside {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let inside = Handle::try_current().map(|runtime| runtime.runtime_flavor());
        match Timer::get() {
            Ok(timer) if matches!(inside, Ok(RuntimeFlavor::MultiThread)) => {
                timer.wake(self.0.clone());
            }
            Ok(_) | Err(_) => self.0.wake_by_ref(),
        }
    }
}

pub(super) fn has_timers() -> bool {
    works(|| drop(tokio::time::sleep(Duration::ZERO)))
}

/// Tokio answers this question only by a panic, which the panic hook prints once.
fn works(driver: fn()) -> bool {
    catch_unwind(driver).is_ok()
}
