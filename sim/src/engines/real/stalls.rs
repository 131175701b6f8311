//! Stalls of the machine: times in which a process got no processor, or the disk was not written,
//! though no fault of the plan was the reason.
//!
//! A stall is a pause that nobody ordered. Promises that rest on prompt processes are not judged
//! from its beginning on.

use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::TICK;
use super::clock::TrueTime;
use crate::plan::{Plan, SimTime};
use crate::trace::{Entry, Event};

/// A thread that sleeps for a millisecond, and wakes up later than this, was stalled.
pub(super) const STALL: Duration = TICK.saturating_mul(4);
const EVERY: Duration = Duration::from_millis(1);
const DISK_EVERY: Duration = Duration::from_millis(20);

pub(super) struct Stalls {
    /// Those of candidates' processes: the node, the beginning and the end.
    nodes: Vec<(usize, SimTime, SimTime)>,
    /// Those of this process, which runs the network, and of the disk.
    own: Arc<Mutex<Vec<SimTime>>>,
    is_over: Arc<AtomicBool>,
}

impl Stalls {
    /// Watches this process and the disk until it is dropped.
    pub(super) fn watch(time: TrueTime) -> io::Result<Self> {
        let (own, is_over) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<AtomicBool>::default());
        let watch = |every: Duration, act: fn(&mut File) -> io::Result<()>| {
            let (found, ends) = (Arc::clone(&own), Arc::clone(&is_over));
            let mut file = tempfile::tempfile()?;
            thread::spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    let began = time.now();
                    thread::sleep(every);
                    // A disk that can't be written fails the servers too, which is reported there.
                    let _ = act(&mut file);
                    if time.now().since(began) > every + STALL {
                        found.lock().unwrap_or_else(PoisonError::into_inner).push(began);
                    }
                }
            });
            Ok::<(), io::Error>(())
        };
        watch(EVERY, |_| Ok(()))?;
        watch(DISK_EVERY, |file| {
            file.write_all(b"a")?;
            file.sync_data()
        })?;
        Ok(Self { nodes: Vec::new(), own, is_over })
    }

    /// A process reports a time in which it did not run.
    pub(super) fn of(&mut self, node: usize, from: SimTime, until: SimTime) {
        self.nodes.push((node, from, until));
    }

    /// The stalls that no pause of the plan explains, as events at their beginnings. A write that
    /// took longer than the plan says was stalled as well.
    pub(super) fn unexplained(
        &self,
        entries: &[Entry],
        plan: &Plan,
        was_paused: impl Fn(usize, SimTime, SimTime) -> bool,
    ) -> Vec<Entry> {
        let most = Duration::from_micros(plan.work.takes_us);
        let late = entries.iter().filter_map(|entry| match entry.event {
            Event::Wrote { who, checked, .. } if entry.at.since(checked) > most => {
                Some((who.node, checked, entry.at))
            }
            _ => None,
        });
        let of_nodes = self.nodes.iter().copied().chain(late);
        let of_nodes = of_nodes.filter(|&(node, from, until)| !was_paused(node, from, until));
        let of_nodes = of_nodes.map(|(node, from, _)| (Some(node), from));
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let all = of_nodes.chain(own.iter().map(|from| (None, *from)));
        all.map(|(node, at)| Entry { at, event: Event::Stalled { node } }).collect()
    }
}

impl Drop for Stalls {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}
