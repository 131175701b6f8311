//! The real runtime: tokio, and a clock that counts suspends.

use std::io;
use std::net::SocketAddr;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::sleep::Sleep;
use super::timer::Timer;
use super::{Connection, NoRuntime, Runtime, clock, names};
use crate::Instant;
use crate::logging;

/// The idle time of a connection before TCP probes it. Devices on the way forget connections that
/// are idle for some minutes (a balancer of AWS after 350 s), and drop what is sent on them without
/// a word.
pub(crate) const KEEPALIVE_AFTER: Duration = Duration::from_secs(30);

/// An idle connection whose other end is gone ends after a minute.
const KEEPALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(KEEPALIVE_AFTER)
    .with_interval(Duration::from_secs(10))
    .with_retries(3);

/// Tokio's tasks and sockets. On Linux the clock is `CLOCK_BOOTTIME`, so that a leader's claim
/// expires while its machine is suspended. Timers use the same clock, so that work ends right after
/// a resume. All timers of a process share one thread, `tenure-timer`, and one file descriptor (a
/// timerfd). If that descriptor can't be opened, because the process has too many, timers are at
/// most a second late after a suspend, and the log says so once.
///
/// Hosts are looked up by threads of its own, never among tokio's blocking tasks: neither a silent
/// name server nor an application that fills the pool of those delays the end of the runtime or
/// another connection. Connections use TCP's keepalive, after 30 s without traffic.
///
/// On other systems the standard library's monotonic clock is used; whether it counts suspends
/// depends on the platform.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioRuntime;

impl Runtime for TokioRuntime {
    fn now(&self) -> Instant {
        clock::now()
    }

    fn suspended(&self) -> Duration {
        clock::suspended()
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        Sleep::until(deadline).boxed()
    }

    fn waker_from_outside(&self, waker: &Waker) -> Waker {
        Waker::from(Arc::new(FromOutside(waker.clone())))
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(task);
        } else {
            // What waits for its outcome learns that there is none.
            logging::error!("a task is dropped, since no tokio runtime runs here");
        }
    }

    fn addresses(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<String>>> {
        let host = host.to_owned();
        async move {
            let found = names::addresses(&host, 0).await?;
            Ok(found.iter().map(without_port).collect())
        }
        .boxed()
    }

    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Connection>> {
        let host = host.to_owned();
        async move {
            // Not by tokio, which would look it up among its blocking tasks.
            let addresses = names::addresses(&host, port).await?;
            let stream = TcpStream::connect(&addresses[..]).await?;
            stream.set_nodelay(true)?;
            SockRef::from(&stream).set_tcp_keepalive(&KEEPALIVE)?;
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
        Handle::try_current().map_err(|_| NoRuntime::ABSENT)?;
        if !has_timers() {
            return Err(NoRuntime::NO_TIMERS);
        }
        #[cfg(unix)]
        if !works(|| drop(tokio::net::UnixStream::pair())) {
            return Err(NoRuntime::new(
                "this tokio runtime has no I/O: build it with enable_io() or enable_all()",
            ));
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

/// The form for [`Runtime::connect`]: a link-local address has a number of its interface.
fn without_port(address: &SocketAddr) -> String {
    match address {
        SocketAddr::V6(v6) if v6.scope_id() != 0 => format!("{}%{}", v6.ip(), v6.scope_id()),
        address => address.ip().to_string(),
    }
}

pub(super) fn has_timers() -> bool {
    works(|| drop(tokio::time::sleep(Duration::ZERO)))
}

/// Tokio answers this question only by a panic, which the panic hook prints once.
fn works(driver: fn()) -> bool {
    catch_unwind(driver).is_ok()
}
