//! A line on standard error that tells how far a command is, if that is a terminal.

use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the line is written.
const EVERY: Duration = Duration::from_millis(200);

/// So that the whole line fits 60 columns.
const BAR: u64 = 20;

/// What is counted, and how much of it is done. Threads count at the same time.
pub(crate) struct Progress {
    /// Before the count, such as the name of an engine.
    about: &'static str,
    unit: &'static str,
    done: AtomicU64,
    began: Instant,
    /// When the line was written last; `None` if nobody sees it.
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
    let (bar, count, time) = match of.filter(|&of| of >= done && of > 0) {
        None => (String::new(), format!("{done} {unit}"), format!("{seconds} s")),
        Some(of) => {
            let full = BAR * done / of;
            let bar: String = (0..BAR).map(|at| if at < full { '#' } else { '.' }).collect();
            let left = seconds * (of - done) / done.max(1);
            (format!("{bar} "), format!("{done}/{of} {unit}"), format!("{left} s to go"))
        }
    };
    let about = if about.is_empty() { String::new() } else { format!("{about} ") };
    let detail = if detail.is_empty() { String::new() } else { format!(", {detail}") };
    format!("{about}{bar}{count}, {time}{detail}")
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
        let widest = line("turmoil", "runs", (999_999, Some(1_000_000)), second * 99, "");
        assert!(widest.len() <= 60, "{widest}");
    }
}
