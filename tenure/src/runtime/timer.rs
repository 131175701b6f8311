//! One thread of the process that wakes tasks: when their time has come, or at once, from outside
//! of their runtime.
//!
//! The thread is no worker of an async runtime, and is not woken by one's I/O, because blocking
//! code of an application would then delay elections although other workers are idle. A worker of
//! tokio that polls for I/O and timers, and finds one task, runs that task without waking another
//! worker: if the task blocks, no I/O and no timer is noticed until something else wakes one. And a
//! task that is woken by code on a worker waits for that very worker, even if the code goes on to
//! block (`tokio::runtime::Builder::disable_lifo_slot` describes it, and can't be used by a
//! library). A task that is woken from outside is run by any worker, and that worker first sees to
//! it that another one looks for I/O.
//!
//! **Not guaranteed**: that a sleep whose runtime does not run is woken. A current-thread runtime
//! runs only within `block_on`. After a fork, the child has no such thread.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::{io, thread};

use super::alarm::Alarm;
use super::clock;
use crate::Instant;

/// The most wakers taken out under one lock.
const BATCH: usize = 64;

pub(super) struct Timer {
    alarm: Alarm,
    sleeps: Mutex<Sleeps>,
}

struct Sleeps {
    wakers: BTreeMap<Place, Waker>,
    next: u64,
    /// The time of the alarm.
    armed: Instant,
}

/// A deadline, and a number that keeps sleeps with equal deadlines apart.
type Place = (Instant, u64);

/// A sleep's place at the timer, which it leaves when this is dropped.
pub(super) struct Entry {
    timer: &'static Timer,
    place: Place,
}

impl Timer {
    /// The timer of this process. Its thread starts with the first call.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn get() -> io::Result<&'static Self> {
        static TIMER: OnceLock<Arc<Timer>> = OnceLock::new();
        static STARTING: Mutex<()> = Mutex::new(());

        if let Some(timer) = TIMER.get() {
            return Ok(timer);
        }
        let _alone = lock(&STARTING);
        if TIMER.get().is_none() {
            let sleeps = Sleeps { wakers: BTreeMap::new(), next: 0, armed: Instant::FAR_FUTURE };
            let timer = Arc::new(Self { alarm: Alarm::new(), sleeps: Mutex::new(sleeps) });
            let runs = Arc::clone(&timer);
            thread::Builder::new().name("tenure-timer".to_owned()).spawn(move || runs.run())?;
            let _ = TIMER.set(timer);
        }
        TIMER.get().map(|timer| &**timer).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Wakes `waker` once the clock has reached `deadline`.
    pub(super) fn register(&'static self, deadline: Instant, waker: &Waker) -> Entry {
        Entry { timer: self, place: self.insert(deadline, waker.clone()) }
    }

    /// Wakes it at once.
    pub(super) fn wake(&self, waker: Waker) {
        self.insert(Instant::ORIGIN, waker);
    }

    fn insert(&self, deadline: Instant, waker: Waker) -> Place {
        let mut sleeps = lock(&self.sleeps);
        let place = (deadline, sleeps.next);
        sleeps.next += 1;
        sleeps.wakers.insert(place, waker);
        if deadline < sleeps.armed {
            self.alarm.set(deadline);
            sleeps.armed = deadline;
        }
        place
    }

    fn run(&self) {
        loop {
            self.alarm.wait();
            loop {
                let due = self.take_due();
                if due.is_empty() {
                    break;
                }
                due.into_iter().for_each(wake);
            }
        }
    }

    /// The next wakers that are due. If there are none, the alarm is set to the next deadline.
    fn take_due(&self) -> Vec<Waker> {
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
            let next = sleeps.wakers.first_key_value().map(|(&(at, _), _)| at);
            sleeps.armed = next.unwrap_or(Instant::FAR_FUTURE);
            self.alarm.set(sleeps.armed);
        }
        due
    }
}

/// No code of others runs under the lock, and no panic leaves anything half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A panic in one waker costs the others nothing; the panic hook has printed it.
fn wake(waker: Waker) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        // Dropping it could panic too.
        std::mem::forget(payload);
    }
}

impl Entry {
    /// Replaces the waker. False if the timer has taken this entry out.
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
