//! Lets one thread wait until a point on the host's clock that other threads may change meanwhile.

#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::clock;
use crate::Instant;

/// The longest wait without a timerfd. Such a wait does not count a suspend, so this is also how
/// late it can be after a resume.
const SLICE: Duration = Duration::from_secs(1);

pub(super) struct Alarm {
    /// Counts suspends.
    #[cfg(target_os = "linux")]
    timerfd: Option<OwnedFd>,
    set_to: Mutex<Instant>,
    changed: Condvar,
}

impl Alarm {
    /// Set to no time yet.
    pub(super) fn new() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            timerfd: timerfd::open(),
            set_to: Mutex::new(Instant::FAR_FUTURE),
            changed: Condvar::new(),
        }
    }

    /// Replaces the time until which the thread waits.
    pub(super) fn set(&self, at: Instant) {
        #[cfg(target_os = "linux")]
        if let Some(timerfd) = &self.timerfd {
            return timerfd::set(timerfd, at);
        }
        *self.set_to.lock().unwrap_or_else(PoisonError::into_inner) = at;
        self.changed.notify_one();
    }

    /// Waits until the time that the alarm is set to. May return earlier.
    pub(super) fn wait(&self) {
        #[cfg(target_os = "linux")]
        if let Some(timerfd) = &self.timerfd {
            return timerfd::wait(timerfd);
        }
        let set_to = self.set_to.lock().unwrap_or_else(PoisonError::into_inner);
        let slice = set_to.since(clock::now()).min(SLICE);
        drop(self.changed.wait_timeout(set_to, slice));
    }
}

#[cfg(target_os = "linux")]
mod timerfd {
    use std::os::fd::OwnedFd;
    use std::thread;
    use std::time::Duration;

    use rustix::io::{Errno, read};
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };

    use crate::{Instant, logging};

    /// The interval of clock readings if the application has closed the descriptor.
    const BROKEN: Duration = Duration::from_millis(5);

    /// `None` if the process has no descriptor left, which the log says.
    pub(super) fn open() -> Option<OwnedFd> {
        let opened = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC);
        opened
            .inspect_err(|error| {
                logging::warn!(
                    %error,
                    "no timerfd for this process: its timers may be a second late after a suspend of the machine"
                );
            })
            .ok()
    }

    pub(super) fn set(timerfd: &OwnedFd, at: Instant) {
        const SECOND: u64 = 1_000_000_000;
        // Zero would disarm it.
        let nanos = at.as_nanos().max(1);
        let it_value = Timespec {
            tv_sec: i64::try_from(nanos / SECOND).unwrap_or(i64::MAX),
            tv_nsec: (nanos % SECOND).cast_signed(),
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
        // Fails only if the application has closed the descriptor. Waiting then ends by itself,
        // again and again.
        let _ = timerfd_settime(timerfd, TimerfdTimerFlags::ABSTIME, &once);
    }

    /// Blocks until it expires. A time that is set meanwhile counts at once.
    pub(super) fn wait(timerfd: &OwnedFd) {
        // After a signal the caller looks at the clock, and waits again.
        if read(timerfd, &mut [0_u8; 8]).is_err_and(|error| error != Errno::INTR) {
            thread::sleep(BROKEN);
        }
    }
}
