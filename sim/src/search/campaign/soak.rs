//! A campaign that lasts for a while instead of for a number of seeds, and also watches what this
//! process holds.
//!
//! The seeds are run in blocks. Between two blocks no run is under way: what the process holds
//! then, it keeps.
//!
//! Not seen: what other processes hold. The candidates of the real engine live for one run each.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Campaign, Seeds, Summary};

/// The least number of blocks with which a soak can tell growth. The first third of them is the
/// warm-up.
const LEAST_BLOCKS: usize = 9;
/// Memory may grow by this share from the second third of the blocks to the last one, in percent,
/// since an allocator does not give everything back;
const MEMORY_PERCENT: u64 = 5;
/// and by this much, in bytes.
const MEMORY_BYTES: u64 = 2 << 20;

/// A process's resources at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Its resident memory.
    #[serde(rename = "memory_bytes")]
    pub memory: u64,
    /// Its open file descriptors.
    pub descriptors: u64,
    /// Its threads.
    pub threads: u64,
}

impl Usage {
    /// The usage of this process.
    ///
    /// # Errors
    /// If the system has no `/proc`, as only Linux has.
    pub fn now() -> io::Result<Self> {
        let count = |folder| Ok::<_, io::Error>(fs::read_dir(folder)?.count() as u64);
        let status = fs::read_to_string("/proc/self/status")?;
        let memory =
            status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB"));
        let memory = memory.and_then(|memory| memory.trim().parse::<u64>().ok());
        let memory =
            memory.ok_or_else(|| io::Error::other("/proc/self/status has no VmRSS in kB"))?;
        Ok(Self {
            memory: memory << 10,
            // Without the one that reads the folder.
            descriptors: count("/proc/self/fd")? - 1,
            threads: count("/proc/self/task")?,
        })
    }
}

/// The resources held after each block of a campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Soak(Vec<Usage>);

impl Soak {
    /// The usage after each block, in order.
    pub fn blocks(&self) -> &[Usage] {
        &self.0
    }

    /// True if there are enough blocks to tell growth.
    pub fn is_long_enough(&self) -> bool {
        self.0.len() >= LEAST_BLOCKS
    }

    /// The growth, in words: of what is held after each block, the least of the last third is more
    /// than the least of the second third. The least, because a rise that goes away again is no
    /// growth.
    pub fn growth(&self) -> Vec<String> {
        if !self.is_long_enough() {
            return Vec::new();
        }
        let third = self.0.len() / 3;
        let (middle, last) = (&self.0[third..2 * third], &self.0[2 * third..]);
        let grown = |what: &str, of: fn(&Usage) -> u64, may: fn(u64) -> u64| {
            let floor = |blocks: &[Usage]| blocks.iter().map(of).min().unwrap_or(0);
            let (before, after) = (floor(middle), floor(last));
            (after > before + may(before)).then(|| format!("{what} grew from {before} to {after}"))
        };
        let memory = |before| before * MEMORY_PERCENT / 100 + MEMORY_BYTES;
        [
            grown("memory in bytes", |one| one.memory, memory),
            grown("file descriptors", |one| one.descriptors, |_| 0),
            grown("threads", |one| one.threads, |_| 0),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Campaign {
    /// Carries out blocks of that many seeds, from its first seed on, until that time is over or a
    /// run has failed; at least one block. `progress` is called after each run.
    ///
    /// # Errors
    /// If what this process holds can't be read.
    pub fn soak(
        &self,
        lasting: Duration,
        block: u64,
        progress: impl Fn() + Sync,
    ) -> io::Result<Summary> {
        let began = Instant::now();
        let (mut soak, mut sum) = (Soak::default(), None::<Summary>);
        for number in 0.. {
            let first = self.seeds.first.saturating_add(block.saturating_mul(number));
            let seeds = Seeds::range(first, block.min(u64::MAX - first));
            let summary = Self { seeds, ..self.clone() }.run(&progress);
            let sum = match &mut sum {
                Some(sum) => {
                    sum.add_later(summary);
                    sum
                }
                none => none.insert(summary),
            };
            soak.0.push(Usage::now()?);
            if sum.failed.is_some() || began.elapsed() >= lasting {
                break;
            }
        }
        let mut sum = sum.unwrap_or_else(|| Summary::new(self));
        sum.soak = Some(soak);
        sum.took(began.elapsed(), self.jobs);
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soak(memory_mib: &[u64], descriptors: &[u64]) -> Soak {
        let usage = |(memory, descriptors): (&u64, &u64)| Usage {
            memory: memory << 20,
            descriptors: *descriptors,
            threads: 3,
        };
        Soak(memory_mib.iter().zip(descriptors).map(usage).collect())
    }

    const STEADY: [u64; 9] = [10, 60, 61, 60, 61, 62, 61, 62, 60];

    #[test]
    fn what_stays_after_each_block_has_grown() {
        assert_eq!(soak(&STEADY, &[9; 9]).growth(), [""; 0]);
        let leaks: Vec<u64> = (0..9).map(|block| 60 + 3 * block).collect();
        let grown = soak(&leaks, &[9; 9]).growth();
        assert_eq!(grown, ["memory in bytes grew from 72351744 to 81788928"]);
        let grown = soak(&STEADY, &[9, 9, 9, 9, 9, 9, 10, 10, 10]).growth();
        assert_eq!(grown, ["file descriptors grew from 9 to 10"]);
        // A rise that goes away again.
        assert_eq!(soak(&STEADY, &[9, 9, 9, 9, 9, 9, 12, 12, 9]).growth(), [""; 0]);
    }

    #[test]
    fn a_short_soak_tells_nothing() {
        let short = soak(&STEADY[..8], &[1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(!short.is_long_enough());
        assert_eq!(short.growth(), [""; 0]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_descriptor_and_a_thread_are_counted() {
        use std::sync::{Arc, Barrier};

        // Tests of this process may run in parallel, and hold what they like: many of each stand
        // out.
        let before = Usage::now().unwrap();
        let files: Vec<_> =
            (0..500).map(|_| fs::File::open("/proc/self/status").unwrap()).collect();
        let end = Arc::new(Barrier::new(201));
        let threads: Vec<_> = (0..200)
            .map(|_| {
                let end = Arc::clone(&end);
                std::thread::spawn(move || end.wait())
            })
            .collect();
        let after = Usage::now().unwrap();
        end.wait();
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(after.descriptors > before.descriptors + 250, "{before:?} {after:?}");
        assert!(after.threads > before.threads + 100, "{before:?} {after:?}");
        assert!(after.memory > 1 << 20, "{after:?}");
        drop(files);
    }

    #[test]
    fn blocks_follow_each_other_until_the_time_is_over() {
        let campaign = Campaign {
            faults: crate::plan::Scope::Model.kinds(),
            seeds: Seeds::range(5, 1),
            ..super::super::summary::tests::campaign()
        };
        let sum = campaign.soak(Duration::ZERO, 3, || {}).unwrap();
        assert_eq!((sum.runs, sum.seeds.as_slice()), (3, &[Seeds::range(5, 3)][..]));
        let time = Duration::from_secs(1);
        let sum = campaign.soak(time, 3, || {}).unwrap();
        let blocks = sum.soak.as_ref().unwrap().blocks().len() as u64;
        assert!(blocks > 1, "{blocks}");
        assert_eq!(
            (sum.runs, sum.seeds.as_slice()),
            (3 * blocks, &[Seeds::range(5, 3 * blocks)][..])
        );
        assert!(sum.wall >= time, "{:?}", sum.wall);
    }
}
