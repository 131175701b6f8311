//! The machine, its clocks, and the process.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs};

use crate::Instant;
use crate::runtime::{Runtime, TokioRuntime};

/// A reading of a candidate's clock beside one of the wall clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClockReading {
    pub(super) at: Instant,
    /// The wall clock was read within that time after `at`.
    pub(super) within: Duration,
    pub(super) wall: u64,
}

impl ClockReading {
    /// The closest of a few: a thread may be paused between the readings.
    pub(super) fn of(runtime: &dyn Runtime) -> Self {
        const TRIES: usize = 5;
        let read = || {
            let (at, wall) = (runtime.now(), wall());
            Self { at, within: runtime.now().since(at), wall }
        };
        let first = read();
        (1..TRIES).map(|_| read()).fold(
            first,
            |best, next| {
                if next.within < best.within { next } else { best }
            },
        )
    }
}

/// The wall clock, in nanoseconds since 1970. Zero before 1970.
pub(super) fn wall() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The host's name; `unknown-host` where it can't be read.
pub(super) fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| env::var("HOSTNAME").ok()).unwrap_or_default();
    let known = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-');
    let name: String = name.trim().chars().filter(known).take(64).collect();
    if name.is_empty() { "unknown-host".to_owned() } else { name }
}

/// The boot that all processes of the machine share a clock in, if that runtime's clock is this
/// clock: the boot id, with the offset of the process's time namespace if it is in one of its own.
pub(super) fn boot(runtime: &Arc<dyn Runtime>) -> Option<String> {
    if !is_of_the_machine(&**runtime) {
        return None;
    }
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let ahead = fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
    let ahead = ahead.lines().find_map(|line| line.strip_prefix("boottime")).unwrap_or_default();
    let ahead: Vec<&str> = ahead.split_whitespace().filter(|part| *part != "0").collect();
    let boot = boot.trim();
    Some(if ahead.is_empty() { boot.to_owned() } else { format!("{boot}+{}", ahead.join(".")) })
}

/// True if a runtime's clock is the one that all processes of this machine read.
pub(super) fn is_of_the_machine(runtime: &dyn Runtime) -> bool {
    let before = TokioRuntime.now();
    let now = runtime.now();
    before <= now && now <= TokioRuntime.now()
}
