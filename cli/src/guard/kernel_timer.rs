//! A timer of the kernel that kills this process.

use std::time::Duration;

use nix::sys::signal::{SigEvent, SigevNotify, Signal};
use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
use nix::time::ClockId;
use tenure::Instant;

/// SIGKILL by the kernel at an instant of the boot clock, also if this process is stopped by then.
/// It is not inherited by children.
pub(super) struct KernelTimer(Timer);

impl KernelTimer {
    /// Made once, so that moving it needs nothing that could run out.
    pub(super) fn new() -> nix::Result<Self> {
        let kill = SigevNotify::SigevSignal { signal: Signal::SIGKILL, si_value: 0 };
        Timer::new(ClockId::CLOCK_BOOTTIME, SigEvent::new(kill)).map(Self)
    }

    pub(super) fn arm(&mut self, at: Instant) -> nix::Result<()> {
        // Zero would disarm it.
        let at = Duration::from_nanos(at.as_nanos().max(1));
        let expiration = Expiration::OneShot(TimeSpec::from_duration(at));
        self.0.set(expiration, TimerSetTimeFlags::TFD_TIMER_ABSTIME)
    }

    pub(super) fn disarm(&mut self) -> nix::Result<()> {
        let never = Expiration::OneShot(TimeSpec::from_duration(Duration::ZERO));
        self.0.set(never, TimerSetTimeFlags::empty())
    }
}
