//! One timerfd for all sleeps of a tokio runtime.
//!
//! No task drives it. The runtime's I/O driver calls the waker that is registered for the timerfd; this waker is the
//! [`Timer`] itself, and passes the call on to the sleeps that are due. So nothing has to be spawned, stopped or
//! restarted, and a wake-up takes one step. The timer makes progress whenever the runtime's I/O does.
//!
//! **Not guaranteed**: that a sleep whose runtime does not run is woken. A current-thread runtime runs only within
//! `block_on`.

use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Handle, Id};
use tokio::task::unconstrained;

use super::clock;
use crate::Instant;

/// The timers of the runtimes that run. A runtime that ends wakes the wakers of its descriptors, and this removes
/// the entry.
static TIMERS: LazyLock<Mutex<HashMap<Id, Arc<Timer>>>> = LazyLock::new(Mutex::default);

/// How many sleeps are taken out under one lock.
const BATCH: usize = 64;

pub(super) struct Timer {
    runtime: Id,
    timerfd: AsyncFd<OwnedFd>,
    sleeps: Mutex<Sleeps>,
}

struct Sleeps {
    wakers: BTreeMap<Place, Waker>,
    next: u64,
    /// What the timerfd was last set to.
    armed: Instant,
    /// The runtime has ended.
    ended: bool,
}

/// A deadline, and a number that keeps sleeps with equal deadlines apart.
type Place = (Instant, u64);

/// A sleep's place at a timer, which it leaves when this is dropped.
pub(super) struct Entry {
    timer: Arc<Timer>,
    place: Place,
}

/// No code of others runs under a lock, and no panic leaves anything half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Timer {
    /// The timer of a runtime, made by the first sleep in it.
    ///
    /// # Errors
    /// If there are no descriptors left, or the runtime has ended.
    pub(super) fn of(runtime: &Handle) -> io::Result<Arc<Self>> {
        let id = runtime.id();
        let mut timers = lock(&TIMERS);
        if let Some(timer) = timers.get(&id) {
            return Ok(Arc::clone(timer));
        }
        let timer = Arc::new(Self::new(runtime)?);
        timers.insert(id, Arc::clone(&timer));
        drop(timers);
        timer.ring();
        Ok(timer)
    }

    fn new(runtime: &Handle) -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timerfd = timerfd_create(TimerfdClockId::Boottime, flags)?;
        let _runtime = runtime.enter();
        // The caveat of the deprecation, a descriptor that changes under tokio, does not apply to an
        // `OwnedFd`; the replacement is an unsafe function, which this workspace forbids.
        #[allow(deprecated, reason = "sound for an OwnedFd")]
        let timerfd = AsyncFd::with_interest(timerfd, Interest::READABLE)?;
        let sleeps =
            Sleeps { wakers: BTreeMap::new(), next: 0, armed: Instant::FAR_FUTURE, ended: false };
        Ok(Self { runtime: runtime.id(), timerfd, sleeps: Mutex::new(sleeps) })
    }

    /// Wakes `waker` once the clock has reached `deadline`, or the runtime has ended.
    pub(super) fn register(self: Arc<Self>, deadline: Instant, waker: &Waker) -> io::Result<Entry> {
        let waker = waker.clone();
        let mut sleeps = lock(&self.sleeps);
        if sleeps.ended {
            return Err(io::Error::other("the tokio runtime has ended"));
        }
        let place = (deadline, sleeps.next);
        sleeps.next += 1;
        sleeps.wakers.insert(place, waker);
        // An alarm that is over but was not passed on, because another waker has panicked in the I/O driver,
        // is set again.
        let armed = if deadline < sleeps.armed || sleeps.armed <= clock::now() {
            self.arm(&mut sleeps)
        } else {
            Ok(())
        };
        drop(sleeps);
        let entry = Entry { timer: self, place };
        armed.map(|()| entry)
    }

    /// Sets the timerfd to the earliest deadline.
    fn arm(&self, sleeps: &mut Sleeps) -> io::Result<()> {
        const SECOND: u64 = 1_000_000_000;
        let Some((&(at, _), _)) = sleeps.wakers.first_key_value() else {
            // It may ring once more, for a sleep that was dropped.
            sleeps.armed = Instant::FAR_FUTURE;
            return Ok(());
        };
        // Zero would disarm it.
        let nanos = at.as_nanos().max(1);
        let it_value = Timespec {
            tv_sec: i64::try_from(nanos / SECOND).unwrap_or(i64::MAX),
            tv_nsec: (nanos % SECOND).cast_signed(),
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
        timerfd_settime(&self.timerfd, TimerfdTimerFlags::ABSTIME, &once)?;
        sleeps.armed = at;
        Ok(())
    }

    /// Wakes the sleeps that are due, and sets the timerfd to the next deadline.
    fn ring(self: &Arc<Self>) {
        // First, so that an expiry from here on rings again.
        if self.listen().is_err() {
            return self.end();
        }
        loop {
            match self.take_due() {
                Ok(due) if due.is_empty() => return,
                Ok(due) => due.into_iter().for_each(wake),
                Err(_) => return self.end(),
            }
        }
    }

    /// Has the I/O driver ring when the timerfd expires the next time.
    fn listen(self: &Arc<Self>) -> io::Result<()> {
        let waker = Waker::from(Arc::clone(self));
        let mut context = Context::from_waker(&waker);
        let clear = poll_fn(|context| {
            self.timerfd.poll_read_ready(context).map_ok(|mut ready| ready.clear_ready())
        });
        // Without a task's budget: used up, it would have tokio ring again at once, without end.
        let mut clear = pin!(unconstrained(clear));
        while let Poll::Ready(cleared) = clear.as_mut().poll(&mut context) {
            cleared?;
        }
        Ok(())
    }

    /// The next sleeps that are due. If there are none, the timerfd is set to the next deadline.
    fn take_due(&self) -> io::Result<Vec<Waker>> {
        let mut sleeps = lock(&self.sleeps);
        let now = clock::now();
        let mut due = Vec::new();
        while due.len() < BATCH
            && let Some(first) = sleeps.wakers.first_entry()
            && first.key().0 <= now
        {
            due.push(first.remove());
        }
        if due.is_empty() {
            self.arm(&mut sleeps)?;
        }
        Ok(due)
    }

    /// The runtime has ended. Whatever still sleeps goes to the timer of another.
    fn end(&self) {
        let mut timers = lock(&TIMERS);
        let is_listed =
            timers.get(&self.runtime).is_some_and(|listed| std::ptr::eq(Arc::as_ptr(listed), self));
        let listed = if is_listed { timers.remove(&self.runtime) } else { None };
        drop(timers);
        let mut sleeps = lock(&self.sleeps);
        sleeps.ended = true;
        let wakers = std::mem::take(&mut sleeps.wakers);
        drop(sleeps);
        wakers.into_values().for_each(wake);
        drop(listed);
    }
}

impl Wake for Timer {
    fn wake(self: Arc<Self>) {
        self.ring();
    }
}

/// A panic in one waker costs the others nothing; the panic hook has printed it.
fn wake(waker: Waker) {
    let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
}

impl Entry {
    /// Whether this is an entry of that runtime's timer.
    pub(super) fn is_of(&self, runtime: &Handle) -> bool {
        self.timer.runtime == runtime.id()
    }

    /// Replaces the waker. False if the timer has rung for this entry or has ended.
    pub(super) fn set_waker(&self, waker: &Waker) -> bool {
        let waker = waker.clone();
        let mut sleeps = lock(&self.timer.sleeps);
        let before = sleeps.wakers.get_mut(&self.place).map(|at| std::mem::replace(at, waker));
        drop(sleeps);
        before.is_some()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let left = lock(&self.timer.sleeps).wakers.remove(&self.place);
        drop(left);
    }
}
