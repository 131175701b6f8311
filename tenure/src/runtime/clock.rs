//! The host's clock.

use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::time::ClockId;

use crate::Instant;

/// The boot clock, which counts the time in which the machine is suspended.
#[cfg(target_os = "linux")]
pub(super) fn now() -> Instant {
    read(ClockId::Boottime)
}

/// The monotonic clock stops in a suspend, and the boot clock does not. The boot clock is read
/// first: a pause between the two readings makes the result too small, never too large.
#[cfg(target_os = "linux")]
pub(super) fn suspended() -> Duration {
    let boot = read(ClockId::Boottime);
    boot.since(read(ClockId::Monotonic))
}

#[cfg(target_os = "linux")]
fn read(clock: ClockId) -> Instant {
    const SECOND: u64 = 1_000_000_000;
    let time = rustix::time::clock_gettime(clock);
    // Both clocks start at zero and reach 584 years: neither part is negative.
    Instant::from_nanos(time.tv_sec.unsigned_abs() * SECOND + time.tv_nsec.unsigned_abs())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn suspended() -> Duration {
    Duration::ZERO
}

/// The standard library's clock.
#[cfg(not(target_os = "linux"))]
pub(super) fn now() -> Instant {
    use std::sync::OnceLock;
    use std::time::Instant as StdInstant;

    static ORIGIN: OnceLock<StdInstant> = OnceLock::new();
    let elapsed = ORIGIN.get_or_init(StdInstant::now).elapsed();
    // A second ahead, so that no reading equals the value that stands for "not leading".
    Instant::from_nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
        + Duration::from_secs(1)
}
