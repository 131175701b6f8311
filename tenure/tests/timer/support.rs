//! Runtimes, and the descriptors of this process.

use std::fs;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tenure::runtime::{Runtime as _, TokioRuntime};
use tokio::runtime::{Builder, Runtime};

/// Far above the time of any test: tests assert progress, not speed.
pub(crate) const SOON: Duration = Duration::from_secs(20);
pub(crate) const MOMENT: Duration = Duration::from_millis(30);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// One test at a time, since all tests of a process share its descriptors.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

pub(crate) fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// The targets of the open descriptors.
fn descriptors() -> Vec<String> {
    let links = fs::read_dir("/proc/self/fd").unwrap();
    // The descriptor by which they are read is gone by the time that it is looked at.
    let targets = links.filter_map(|link| fs::read_link(link.unwrap().path()).ok());
    targets.map(|target| target.to_string_lossy().into_owned()).collect()
}

pub(crate) fn open() -> usize {
    descriptors().len()
}

pub(crate) fn timerfds() -> usize {
    descriptors().iter().filter(|target| target.contains("timerfd")).count()
}

pub(crate) fn timer_threads() -> usize {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    // Another thread may end meanwhile.
    let names = threads.filter_map(|thread| fs::read(thread.unwrap().path().join("comm")).ok());
    names.filter(|name| name.starts_with(b"tenure-timer")).count()
}

pub(crate) fn sleep(time: Duration) -> BoxFuture<'static, ()> {
    TokioRuntime.sleep_until(TokioRuntime.now() + time)
}

pub(crate) fn made_in(runtime: &Runtime, time: Duration) -> BoxFuture<'static, ()> {
    let _runtime = runtime.enter();
    sleep(time)
}

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("within the bound")
}

/// Polls once, and says whether it is over.
pub(crate) async fn poll_once(future: &mut (impl Future + Unpin)) -> bool {
    poll_fn(|context| Poll::Ready(Pin::new(&mut *future).poll(context).is_ready())).await
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits on a thread without a runtime.
pub(crate) fn block_on(mut future: BoxFuture<'_, ()>) {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    while future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        thread::park_timeout(SOON);
    }
}
