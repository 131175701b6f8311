//! A log of leadership, on request: who led when, by which clock, and what was written under which
//! token.
//!
//! The metrics and the `tracing` events of this crate are for people who watch one process. This
//! log is for a check across machines: `tenure-sim audit` reads the logs of all candidates, and
//! reports whether two claims must have overlapped, whatever the true offsets of the machines'
//! clocks were (`docs/audit.md`).
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tenure::{Elections, store::Memory, trace::Log};
//!
//! # let folder = std::env::temp_dir().join(format!("tenure-trace-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let log = Log::create_in(&folder)?; // one new file for this process
//! let elections = Elections::new(Memory::new()).trace(log.clone());
//! let candidate = elections.candidate("nightly-report").start()?;
//!
//! let tenure = candidate.elected().await?;
//! let write = tenure.trace_write("reports"); // before the write
//! // ... the fenced write, under tenure.token() ...
//! write.accepted(); // or refused(), or ended(&result) with the result of a fence
//!
//! candidate.stop().await?;
//! log.flush(); // at the end of the program
//! # let text = std::fs::read_to_string(log.path())?;
//! # for kind in ["header", "elected", "write", "stepped-down"] {
//! #     assert!(text.contains(&format!("{{\"{kind}\":{{")), "no {kind} in {text}");
//! # }
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! # What is in a file
//!
//! One JSON object a line, with one field that names its kind:
//!
//! | kind | fields |
//! |---|---|
//! | `header` | `format`, `boot`, `host`, `pid`, and those of `clock`; the first line |
//! | `clock` | `at`: a reading of the candidate's clock. `wall`: a reading of the wall clock, in nanoseconds since 1970, taken between `at` and `at + within`. `drift_ppm`: the largest drift bound of the candidates |
//! | `elected`, `renewed` | `at`, `id`, `key`, `name`, `token`, `left`: the claim ends `left` nanoseconds after `at`, unless it is renewed |
//! | `stepped-down` | `at`, `id`, `key`, `token`, `reason` |
//! | `write` | `began`, `at`, `id`, `key`, `token`, `resource`, `outcome` (`accepted`, `refused` or `unknown`) |
//! | `gap` | `at`, `lines`: that many lines are missing |
//!
//! Readings are nanoseconds of the candidate's own clock ([`Runtime::now`]), which is
//! `CLOCK_BOOTTIME` on Linux. `boot` is the machine's boot id if the clock is known to be that of
//! the machine, and null otherwise: files with the same boot id share one clock. `id` counts the
//! candidates of the file. A transition's `at` is the reading with which the state machine decided
//! it: a claim stands from `elected` to `stepped-down`, or to its last known end.
//!
//! # Bounds
//!
//! A transition or a write puts one entry into a bounded queue and never waits: with a full queue
//! the entry is dropped, and the file says how many were (`gap`). One thread writes; each batch is
//! one write to the file, so a process that is killed loses only what is still in the queue.
//! Candidates without a log do nothing of this.
//!
//! **Not guaranteed**: that lines survive a crash of the machine, since nothing waits for the disk;
//! that lines are in the order of their readings; that old files are deleted. A candidate writes
//! about 180 bytes for each renewal.
//!
//! [`Runtime::now`]: crate::runtime::Runtime::now

mod line;
mod machine;
mod recorder;
mod write;
mod writer;

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use recorder::Recorder;
pub use write::Write;

use crate::runtime::Runtime;
use crate::store::Key;
use writer::Queue;

/// A file that candidates write their transitions to. Clones are the same file.
///
/// One file has one clock: candidates of different [runtimes](crate::runtime::Runtime) may share it
/// only if their clock is the machine's.
#[derive(Clone, Debug)]
pub struct Log(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// No candidate has joined: the clock is not known yet.
    New(File),
    Open(Arc<Queue>),
}

/// A failure to write to a log: the file can't be written, or the candidate's runtime has another
/// clock than the candidates that write to it already.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct TraceError(Problem);

#[derive(Debug, thiserror::Error)]
enum Problem {
    /// Or its thread can't be started.
    #[error("the log {} can't be written", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "the log {} has lines of another runtime's clock; give this candidate a log of its own",
        path.display()
    )]
    OtherClock { path: PathBuf },
}

impl Log {
    /// Creates the file.
    ///
    /// # Errors
    /// If it exists, or can't be created.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        let file = OpenOptions::new().append(true).create_new(true).open(&path)?;
        Ok(Self(Arc::new(Inner { path, state: Mutex::new(State::New(file)) })))
    }

    /// Creates a file for this process in an existing folder, named `host-pid-time.jsonl` after the
    /// host, the process and the time in nanoseconds since 1970.
    ///
    /// # Errors
    /// If it can't be created.
    pub fn create_in(folder: impl AsRef<Path>) -> io::Result<Self> {
        let name = format!("{}-{}-{}.jsonl", machine::host(), std::process::id(), machine::wall());
        Self::create(folder.as_ref().join(name))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Waits until every line so far has been handed to the operating system. For the end of a
    /// program, after [`stop`](crate::Candidate::stop): the thread that writes ends with the
    /// process. Blocks for a write to the file.
    pub fn flush(&self) {
        let queue = match &*self.state() {
            State::New(_) => return,
            State::Open(queue) => Arc::clone(queue),
        };
        queue.flush();
    }

    /// A candidate joins.
    pub(crate) fn join(
        &self,
        runtime: &Arc<dyn Runtime>,
        drift_ppm: u32,
        (key, name): (Key, Arc<str>),
    ) -> Result<Recorder, TraceError> {
        let mut state = self.state();
        let queue = match &*state {
            State::Open(queue) if queue.has_clock_of(runtime) => Arc::clone(queue),
            State::Open(_) => {
                let path = self.0.path.clone();
                return Err(TraceError(Problem::OtherClock { path }));
            }
            State::New(file) => {
                let queue = file.try_clone().and_then(|file| Queue::open(file, runtime, drift_ppm));
                let failed = |source| TraceError(Problem::Io { path: self.0.path.clone(), source });
                let queue = Arc::new(queue.map_err(failed)?);
                *state = State::Open(Arc::clone(&queue));
                queue
            }
        };
        drop(state);
        queue.allow_drift(drift_ppm);
        Ok(Recorder::new(queue, key, name))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
