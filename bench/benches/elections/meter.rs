//! The number of renewals over time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::process::thread_cpu;

/// Short beside the second in which the most renewals are looked for.
const EVERY: Duration = Duration::from_millis(100);
const SECOND: Duration = Duration::from_secs(1);

/// Reads a counter of renewals; none while the counter can't be read.
pub(crate) type Read = Box<dyn FnMut() -> Option<u64> + Send>;

/// Reads a counter ten times a second in a thread of its own.
pub(crate) struct Meter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    samples: Mutex<Vec<Sample>>,
    cpu_nanos: AtomicU64,
    ends: AtomicBool,
}

/// The number of renewals since the beginning, at that time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    pub(crate) renewals: u64,
}

impl Meter {
    pub(crate) fn start(mut read: Read) -> Self {
        // Opens the counter's connection, before descriptors are counted.
        read();
        let shared = Arc::new(Shared::default());
        let thread = thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.sample(read)
        });
        Self { shared, thread: Some(thread) }
    }

    /// The samples of that period.
    pub(crate) fn between(&self, from: Instant, to: Instant) -> Samples {
        let all = self.shared.samples.lock().unwrap_or_else(PoisonError::into_inner);
        Samples(all.iter().copied().filter(|sample| sample.at >= from && sample.at <= to).collect())
    }

    /// The CPU time of the meter's thread.
    pub(crate) fn cpu(&self) -> Duration {
        Duration::from_nanos(self.shared.cpu_nanos.load(Ordering::Relaxed))
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        // A meter that panicked has left its message.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Shared {
    fn sample(&self, mut read: Read) {
        let (mut last, mut renewals) = (None, 0);
        while !self.ends.load(Ordering::Relaxed) {
            if let Some(counter) = read() {
                // A server that was restarted counts from zero.
                renewals += match last {
                    Some(last) if counter >= last => counter - last,
                    Some(_) => counter,
                    None => 0,
                };
                last = Some(counter);
                let sample = Sample { at: Instant::now(), renewals };
                self.samples.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
            }
            let nanos = u64::try_from(thread_cpu().as_nanos()).unwrap_or(u64::MAX);
            self.cpu_nanos.store(nanos, Ordering::Relaxed);
            thread::sleep(EVERY);
        }
    }
}

/// The samples of a period, in order.
pub(crate) struct Samples(Vec<Sample>);

impl Samples {
    /// The number of renewals between the first sample and the last.
    pub(crate) fn renewals(&self) -> u64 {
        self.ends().map_or(0, |(first, last)| last.renewals - first.renewals)
    }

    /// Renewals a second.
    pub(crate) fn rate(&self) -> f64 {
        let Some((first, last)) = self.ends() else { return 0.0 };
        float(self.renewals()) / (last.at - first.at).as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// The most renewals in one second (up to a tenth longer), or between two samples that are
    /// further apart: a server that is paused carries out nothing, so that these renewals followed
    /// the pause.
    pub(crate) fn worst_second(&self) -> u64 {
        let mut worst = 0;
        let mut first = 0;
        for (last, sample) in self.0.iter().enumerate().skip(1) {
            while first + 1 < last && sample.at - self.0[first + 1].at >= SECOND {
                first += 1;
            }
            worst = worst.max(sample.renewals - self.0[first].renewals);
        }
        worst
    }

    /// The renewals of each second since the first sample.
    pub(crate) fn by_second(&self) -> Vec<u64> {
        let Some((start, _)) = self.ends() else { return Vec::new() };
        let mut seconds = Vec::new();
        for pair in self.0.windows(2) {
            let second = usize::try_from((pair[1].at - start.at).as_secs()).unwrap_or(usize::MAX);
            seconds.resize(seconds.len().max(second + 1), 0);
            seconds[second] += pair[1].renewals - pair[0].renewals;
        }
        seconds
    }

    fn ends(&self) -> Option<(Sample, Sample)> {
        Some((*self.0.first()?, *self.0.last()?))
    }
}

/// A count as a number to divide: exact below 2^53.
#[allow(clippy::cast_precision_loss, reason = "counts of a benchmark are below 2^53")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}
