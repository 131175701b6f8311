//! The queue to a file, and the thread that empties it.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use super::line::{self, Line};
use super::machine::{self, ClockReading};
use crate::Instant;
use crate::logging;
use crate::runtime::Runtime;

/// The most entries that wait, half a megabyte in all. More are dropped and counted.
const WAITING: usize = 8192;
/// The size at which a batch of lines is written, in bytes.
const BATCH: usize = 64 << 10;
/// The interval of clock comparisons, while lines are written.
const CLOCK_EVERY: Duration = Duration::from_secs(10);

enum Message {
    Line(Line),
    /// A candidate with a larger drift bound has joined.
    Clock,
    Flush(SyncSender<()>),
}

/// The way of lines to the thread. Dropping the last one ends the thread, after what still waits.
pub(super) struct Queue {
    runtime: Arc<dyn Runtime>,
    messages: SyncSender<Message>,
    shared: Arc<Shared>,
    next_id: AtomicU64,
}

#[derive(Debug)]
struct Shared {
    /// Lines that were dropped since the last gap was written.
    lost: AtomicU64,
    drift_ppm: AtomicU32,
}

impl Queue {
    /// Writes the header, and starts the thread.
    pub(super) fn open(file: File, runtime: &Arc<dyn Runtime>, drift_ppm: u32) -> io::Result<Self> {
        let (messages, receiver) = sync_channel(WAITING);
        let shared = Arc::new(Shared { lost: AtomicU64::new(0), drift_ppm: drift_ppm.into() });
        let mut writer = Writer {
            file,
            text: String::new(),
            lines: 0,
            clock_due: Instant::ORIGIN,
            runtime: Arc::clone(runtime),
            shared: Arc::clone(&shared),
            has_failed: false,
            is_broken: false,
        };
        writer.header()?;
        thread::Builder::new()
            .name("tenure-trace".to_owned())
            .spawn(move || writer.run(&receiver))?;
        Ok(Self { runtime: Arc::clone(runtime), messages, shared, next_id: AtomicU64::new(0) })
    }

    /// True if lines of that runtime can be compared with those of the file.
    pub(super) fn has_clock_of(&self, runtime: &Arc<dyn Runtime>) -> bool {
        let is_of_the_machine = machine::is_of_the_machine;
        Arc::ptr_eq(&self.runtime, runtime)
            || is_of_the_machine(&*self.runtime) && is_of_the_machine(&**runtime)
    }

    pub(super) fn allow_drift(&self, drift_ppm: u32) {
        if self.shared.drift_ppm.fetch_max(drift_ppm, Ordering::Relaxed) < drift_ppm {
            // With a full queue, the next line about the clock says it.
            let _ = self.messages.try_send(Message::Clock);
        }
    }

    pub(super) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn now(&self) -> Instant {
        self.runtime.now()
    }

    /// Hands a line to the thread, or drops and counts it.
    pub(super) fn put(&self, line: Line) {
        match self.messages.try_send(Message::Line(line)) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.shared.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn flush(&self) {
        let (done, flushed) = sync_channel(1);
        if self.messages.send(Message::Flush(done)).is_ok() {
            // Fails only if the thread is gone.
            let _ = flushed.recv();
        }
    }
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("shared", &self.shared).finish_non_exhaustive()
    }
}

struct Writer {
    file: File,
    text: String,
    /// The batch's lines that say what happened.
    lines: u64,
    clock_due: Instant,
    runtime: Arc<dyn Runtime>,
    shared: Arc<Shared>,
    has_failed: bool,
    is_broken: bool,
}

impl Writer {
    fn header(&mut self) -> io::Result<()> {
        let clock = self.read_clock();
        let (boot, drift_ppm) = (machine::boot(&self.runtime), self.drift_ppm());
        line::header(&mut self.text, boot.as_deref(), &machine::host(), clock, drift_ppm);
        self.write_out()
    }

    fn run(mut self, queue: &Receiver<Message>) {
        while let Ok(first) = queue.recv() {
            self.batch(first, queue);
        }
    }

    /// Writes what waits.
    fn batch(&mut self, first: Message, queue: &Receiver<Message>) {
        let mut flushed = Vec::new();
        if self.runtime.now() >= self.clock_due {
            self.clock();
        }
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                Message::Line(line) => {
                    line.write(&mut self.text);
                    self.lines += 1;
                }
                Message::Clock => self.clock(),
                Message::Flush(done) => flushed.push(done),
            }
            next = if self.text.len() < BATCH { queue.try_recv().ok() } else { None };
        }
        let lost = self.shared.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            line::gap(&mut self.text, self.runtime.now(), lost);
        }
        if let Err(error) = self.write_out() {
            self.shared.lost.fetch_add(lost + self.lines, Ordering::Relaxed);
            if !std::mem::replace(&mut self.has_failed, true) {
                logging::error!(%error, "the log of leadership can't be written; lines are lost");
            }
        }
        self.lines = 0;
        for done in flushed {
            // The caller waits.
            let _ = done.send(());
        }
    }

    fn clock(&mut self) {
        let (clock, drift_ppm) = (self.read_clock(), self.drift_ppm());
        line::clock(&mut self.text, clock, drift_ppm);
    }

    fn read_clock(&mut self) -> ClockReading {
        let clock = ClockReading::of(&*self.runtime);
        self.clock_due = clock.at + CLOCK_EVERY;
        clock
    }

    fn drift_ppm(&self) -> u32 {
        self.shared.drift_ppm.load(Ordering::Relaxed)
    }

    /// Appends the batch. A part that fitted is taken back, so that the file has whole lines only;
    /// where that fails, nothing is written any more.
    fn write_out(&mut self) -> io::Result<()> {
        let written = if self.is_broken {
            Err((0, io::Error::other("the file ends with half a line")))
        } else {
            append(&mut self.file, self.text.as_bytes())
        };
        self.text.clear();
        written.map_err(|(part, error)| {
            self.is_broken |= part > 0 && take_back(&self.file, part).is_err();
            error
        })
    }
}

/// Appends the whole text, or says how many bytes of it were appended before an error.
fn append(file: &mut impl io::Write, text: &[u8]) -> Result<(), (u64, io::Error)> {
    let mut rest = text;
    while !rest.is_empty() {
        let error = match file.write(rest) {
            Ok(0) => io::ErrorKind::WriteZero.into(),
            Ok(some) => {
                rest = &rest[some..];
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => error,
        };
        return Err(((text.len() - rest.len()) as u64, error));
    }
    Ok(())
}

/// Takes back what was appended last. A file that is shorter than that was truncated meanwhile, as
/// a rotation of logs does.
fn take_back(file: &File, bytes: u64) -> io::Result<()> {
    file.set_len(file.metadata()?.len().saturating_sub(bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Mutex;

    use futures_util::future::BoxFuture;

    use super::super::line::Who;
    use super::*;
    use crate::Token;
    use crate::runtime::{Connection, TokioRuntime};
    use crate::store::Key;

    /// A clock that can be held, and with it the thread that writes.
    #[derive(Debug, Default)]
    struct Held(Mutex<()>);

    impl Runtime for Held {
        fn now(&self) -> Instant {
            let _held = self.0.lock();
            TokioRuntime.now()
        }

        fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
            TokioRuntime.sleep_until(deadline)
        }

        fn spawn(&self, task: BoxFuture<'static, ()>) {
            TokioRuntime.spawn(task);
        }

        fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Connection>> {
            TokioRuntime.connect(host, port)
        }

        fn entropy(&self) -> io::Result<u128> {
            TokioRuntime.entropy()
        }
    }

    fn renewal() -> Line {
        let who = Arc::new(Who { id: 0, key: Key::new("job").unwrap(), name: "one".into() });
        let at = Instant::from_nanos(7);
        Line::Renewed { who, at, token: Token::FIRST, until: at }
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        let path = std::env::temp_dir().join(format!("tenure-gap-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        let held = Arc::new(Held::default());
        let runtime: Arc<dyn Runtime> = Arc::clone(&held) as Arc<dyn Runtime>;
        let queue = Queue::open(file, &runtime, 10_000).unwrap();
        let guard = held.0.lock().unwrap();
        let lines = 2 * WAITING;
        (0..lines).for_each(|_| queue.put(renewal()));
        drop(guard);
        queue.flush();
        let text = fs::read_to_string(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let written = text.lines().filter(|line| line.contains("renewed")).count();
        let gap = text.lines().find(|line| line.contains("gap")).unwrap();
        assert!(gap.ends_with(&format!("\"lines\":{}}}}}", lines - written)), "{written}: {gap}");
        // One may have been on its way out of the queue.
        assert!((WAITING..=WAITING + 1).contains(&written), "{written}");
    }

    /// Has room for that many bytes, and takes three at a time.
    struct Room(Vec<u8>, usize);

    impl io::Write for Room {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            let fits = text.len().min(3).min(self.1 - self.0.len());
            self.0.extend(&text[..fits]);
            if fits > 0 { Ok(fits) } else { Err(io::ErrorKind::StorageFull.into()) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_part_that_fits_is_known() {
        let mut room = Room(Vec::new(), 10);
        append(&mut room, b"1234567").unwrap();
        let (part, error) = append(&mut room, b"abcdefg").unwrap_err();
        assert_eq!((part, error.kind()), (3, io::ErrorKind::StorageFull));
        assert_eq!(room.0, b"1234567abc");
        let (part, _) = append(&mut room, b"x").unwrap_err();
        assert_eq!(part, 0);
    }

    #[test]
    fn a_part_is_taken_back_also_from_a_file_that_was_truncated() {
        let path = std::env::temp_dir().join(format!("tenure-part-{}", std::process::id()));
        fs::write(&path, "a line\nhal").unwrap();
        let file = File::options().append(true).open(&path).unwrap();
        take_back(&file, 3).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a line\n");
        fs::write(&path, "f").unwrap();
        take_back(&file, 3).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_full_disk_loses_lines_and_no_more() {
        let runtime: Arc<dyn Runtime> = Arc::new(TokioRuntime);
        let full = File::options().append(true).open("/dev/full").unwrap();
        assert!(Queue::open(full, &runtime, 0).is_err(), "the header can't be written");
        let path = std::env::temp_dir().join(format!("tenure-full-{}", std::process::id()));
        let shared = Arc::new(Shared { lost: AtomicU64::new(0), drift_ppm: 0.into() });
        let (_queue, waiting) = sync_channel(1);
        let mut writer = Writer {
            // Not open for writing: each write fails, as on a full disk.
            file: File::create(&path).and_then(|_| File::open(&path)).unwrap(),
            text: String::new(),
            lines: 0,
            clock_due: Instant::FAR_FUTURE,
            runtime,
            shared: Arc::clone(&shared),
            has_failed: false,
            is_broken: false,
        };
        writer.batch(Message::Line(renewal()), &waiting);
        writer.batch(Message::Line(renewal()), &waiting);
        assert_eq!(shared.lost.load(Ordering::Relaxed), 2);
        writer.file = File::options().append(true).open(&path).unwrap();
        writer.batch(Message::Line(renewal()), &waiting);
        let text = fs::read_to_string(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(text.ends_with("\"lines\":2}}\n") && text.lines().count() == 2, "{text}");
    }
}
