//! The real runtime: tokio, and a clock that counts suspends.

use std::io;
use std::panic::catch_unwind;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::net::TcpStream;
use tokio::runtime::Handle;

use super::{Connection, NoRuntime, Runtime};
use crate::Instant;

/// Tokio's tasks and sockets. On Linux the clock is `CLOCK_BOOTTIME` and timers are timerfds on it,
/// so that a leader's claim expires while its machine is suspended, and its work ends right after a resume.
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
        clock::sleep_until(deadline).boxed()
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
        // Tokio answers this question only by a panic, which the panic hook prints once.
        let works = |driver: fn()| catch_unwind(driver).is_ok();
        if !works(|| drop(tokio::time::sleep(Duration::ZERO))) {
            return Err(NoRuntime::NoTimers);
        }
        #[cfg(unix)]
        if !works(|| drop(tokio::net::UnixStream::pair())) {
            return Err(NoRuntime::NoIo);
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
mod clock {
    use std::io;
    use std::os::fd::OwnedFd;

    use rustix::time::{
        ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec,
        clock_gettime, timerfd_create, timerfd_settime,
    };
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    use crate::Instant;

    const SECOND: u64 = 1_000_000_000;

    pub(super) fn now() -> Instant {
        let time = clock_gettime(ClockId::Boottime);
        // The boot clock starts at zero and reaches 584 years: neither part is negative.
        Instant::from_nanos(time.tv_sec.unsigned_abs() * SECOND + time.tv_nsec.unsigned_abs())
    }

    pub(super) async fn sleep_until(deadline: Instant) {
        while now() < deadline {
            if let Err(error) = wait_for_timer(deadline).await {
                // Out of file descriptors, most likely. A coarser timer is better than none: what
                // the caller does when it wakes depends only on the clock.
                tracing::warn!(%error, "no timerfd; falling back to the runtime's timer");
                tokio::time::sleep(deadline.since(now())).await;
            }
        }
    }

    async fn wait_for_timer(deadline: Instant) -> io::Result<()> {
        let timer: OwnedFd = timerfd_create(
            TimerfdClockId::Boottime,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        let nanos = deadline.as_nanos().max(1);
        let at = Timespec {
            tv_sec: i64::try_from(nanos / SECOND).unwrap_or(i64::MAX),
            tv_nsec: (nanos % SECOND).cast_signed(),
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
        timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME, &once)?;
        // The caveat of the deprecation, a descriptor that changes under tokio, does not apply to an
        // `OwnedFd`; the replacement is an unsafe function, which this workspace forbids.
        #[allow(deprecated, reason = "sound for an OwnedFd")]
        let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
        timer.readable().await?.retain_ready();
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
mod clock {
    use std::sync::OnceLock;
    use std::time::Instant as StdInstant;

    use crate::Instant;

    pub(super) fn now() -> Instant {
        static ORIGIN: OnceLock<StdInstant> = OnceLock::new();
        let elapsed = ORIGIN.get_or_init(StdInstant::now).elapsed();
        // A second ahead, so that no reading equals the value that stands for "not leading".
        Instant::from_nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
            + std::time::Duration::from_secs(1)
    }

    pub(super) async fn sleep_until(deadline: Instant) {
        while now() < deadline {
            tokio::time::sleep(deadline.since(now())).await;
        }
    }
}
