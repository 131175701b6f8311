//! A line on standard error that tells how far a command is, if that is a terminal.

use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The line's update interval.
const EVERY: Duration = Duration::from_millis(200);

/// The columns of the whole line, at most.
const WIDTH: usize = 60;
/// The columns of its bar, at most and at least.
const BAR: (usize, usize) = (20, 5);

/// A count of what is done. Threads count at the same time.
pub(crate) struct Progress {
    /// Before the count, such as the name of an engine.
    about: &'static str,
    unit: &'static str,
    done: AtomicU64,
    began: Instant,
    /// The last write of the line; `None` if nobody sees it.
    written: Option<Mutex<Instant>>,
}

impl Progress {
    pub(crate) fn new(about: &'static str, unit: &'static str) -> Self {
        let began = Instant::now();
        let written = stderr().is_terminal().then(|| Mutex::new(began));
        Self { about, unit, done: AtomicU64::new(0), began, written }
    }

    /// One more of `of` is done, or of an unknown number.
    pub(crate) fn add(&self, of: Option<u64>) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.set(done, of, "");
    }

    pub(crate) fn set(&self, done: u64, of: Option<u64>, detail: &str) {
        let Some(written) = &self.written else { return };
        // Another thread writes just now.
        let Ok(mut written) = written.try_lock() else { return };
        if written.elapsed() >= EVERY {
            *written = Instant::now();
            let line = line(self.about, self.unit, (done, of), self.began.elapsed(), detail);
            // Nobody misses the line.
            let _ = write!(stderr(), "\r\x1b[2K{line}");
        }
    }
}

/// The terminal's line is empty again.
impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(written) = &self.written {
            let _held = written.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = write!(stderr(), "\r\x1b[2K");
        }
    }
}

fn line(
    about: &str,
    unit: &str,
    (done, of): (u64, Option<u64>),
    elapsed: Duration,
    detail: &str,
) -> String {
    let seconds = elapsed.as_secs();
    let about = if about.is_empty() { String::new() } else { format!("{about} ") };
    let detail = if detail.is_empty() { String::new() } else { format!(", {detail}") };
    let Some(of) = of.filter(|&of| of >= done && of > 0) else {
        return format!("{about}{done} {unit}, {}{detail}", time(seconds));
    };
    let left = u128::from(seconds) * u128::from(of - done) / u128::from(done.max(1));
    let left = time(u64::try_from(left).unwrap_or(u64::MAX));
    let text = format!("{}/{of} {unit}, {left} to go{detail}", rounded(done, of));
    let room = WIDTH.saturating_sub(about.len() + text.len() + 1).min(BAR.0);
    if room < BAR.1 {
        return format!("{about}{text}");
    }
    let full = u128::from(done) * room as u128 / u128::from(of);
    let bar: String = (0..room).map(|at| if (at as u128) < full { '#' } else { '.' }).collect();
    format!("{about}{bar} {text}")
}

/// The number without the digits that are less than a hundredth of all.
fn rounded(done: u64, of: u64) -> u64 {
    done - done % 10_u64.pow(of.ilog10().saturating_sub(2))
}

/// A time in the unit in which it has few digits.
fn time(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        172_800.. => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_what_is_left() {
        let second = Duration::from_secs(30);
        let half = line("turmoil", "runs", (50, Some(100)), second, "");
        assert_eq!(half, "turmoil ##########.......... 50/100 runs, 30 s to go");
        assert_eq!(line("", "stops", (7, None), second, "2 nodes"), "7 stops, 30 s, 2 nodes");
    }

    #[test]
    fn figures_are_round_and_the_line_fits() {
        let minutes = Duration::from_secs(300);
        let half = line("model", "runs", (16_438, Some(50_000)), minutes, "");
        assert_eq!(half, "model ######.............. 16400/50000 runs, 10 min to go");
        for engine in ["model", "turmoil", "real-redis-sentinel"] {
            for done in [0, 1, 999, 5_000_000, 9_999_999, 10_000_000] {
                let line = line(engine, "runs", (done, Some(10_000_000)), minutes, "");
                assert!(line.len() <= WIDTH && line.contains("/10000000 runs, "), "{line}");
            }
        }
    }
}
