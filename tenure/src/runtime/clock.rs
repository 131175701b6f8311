//! The host's clock.

use crate::Instant;

/// The boot clock, which counts the time in which the machine is suspended.
#[cfg(target_os = "linux")]
pub(super) fn now() -> Instant {
    const SECOND: u64 = 1_000_000_000;
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    // The boot clock starts at zero and reaches 584 years: neither part is negative.
    Instant::from_nanos(time.tv_sec.unsigned_abs() * SECOND + time.tv_nsec.unsigned_abs())
}

/// The standard library's clock.
#[cfg(not(target_os = "linux"))]
pub(super) fn now() -> Instant {
    use std::sync::OnceLock;
    use std::time::{Duration, Instant as StdInstant};

    static ORIGIN: OnceLock<StdInstant> = OnceLock::new();
    let elapsed = ORIGIN.get_or_init(StdInstant::now).elapsed();
    // A second ahead, so that no reading equals the value that stands for "not leading".
    Instant::from_nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
        + Duration::from_secs(1)
}
