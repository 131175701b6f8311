//! A watch for two candidates that lead at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tenure::Candidate;

/// A thread that checks all the time whether two candidates lead at once.
pub(crate) struct Watch {
    over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Watch {
    pub(crate) fn over(candidates: &[&Candidate]) -> Self {
        Self::over_each(vec![candidates.iter().map(|&one| one.clone()).collect()])
    }

    /// The same for each of several elections. Returns once the thread has checked them: on a busy
    /// machine it starts late, and would miss a short story altogether.
    pub(crate) fn over_each(elections: Vec<Vec<Candidate>>) -> Self {
        // The handles live in the thread, which ends before the test does.
        let over = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&over);
        let (began, begins) = mpsc::channel();
        let thread = thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                for candidates in &elections {
                    nobody_overlaps(candidates);
                }
                // The receiver waits for the first time alone.
                let _ = began.send(());
                thread::sleep(Duration::from_micros(200));
            }
        });
        begins.recv().expect("never two leaders");
        Self { over, thread: Some(thread) }
    }

    /// Ends the watch, and fails if two led at once.
    pub(crate) fn nobody_overlapped(mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().expect("never two leaders");
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

fn nobody_overlaps(candidates: &[Candidate]) {
    for one in candidates {
        // A tenure that is current before and after was current in between.
        let Some(tenure) = one.tenure() else { continue };
        let leading = candidates.iter().filter(|other| other.is_leader()).count();
        let key = one.key();
        assert!(leading <= 1 || !tenure.is_current(), "{leading} lead {key} at once");
    }
}
