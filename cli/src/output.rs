//! The output of this program: lines to standard error, and text to standard output.
//!
//! **Problem**: a log that is full, broken or not read must neither end a command nor stop the
//! thread that renews its lease.
//!
//! **Guarantee**: a line never fails, and nobody waits for it: it is queued, and a thread of its own
//! writes it. Lines that find no room in the queue, or can't be written, are dropped, and the next
//! one that is written is preceded by their number. The end of this process waits for the queue,
//! but at most a second.
//!
//! **Not guaranteed**: lines of a process that is killed, or ends before they could be written.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::mem;
use std::slice;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::signal::SigSet;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::exit::Failure;

/// So many lines wait to be written.
const LINES_MOST: usize = 1_000;
const ENDS_WITHIN: Duration = Duration::from_secs(1);
/// Between two looks at whether standard output has a reader.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

static QUEUE: Mutex<Queue> = Mutex::new(Queue::new());
/// A line was queued, or the writer is done with one.
static CHANGED: Condvar = Condvar::new();

/// Says a line of this program's own.
pub(crate) fn say(text: &str) {
    enqueue(format!("tenure: {text}\n").as_bytes());
}

/// Text of others on one line: a terminal obeys control characters, and to a service manager each
/// line is a message of its own.
pub(crate) fn on_one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            shown.extend(character.escape_debug());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// The log's writer: a line for each write.
pub(crate) struct Log;

impl Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        enqueue(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// While it lives, panics are lines too; its end waits for lines that are not written yet.
pub(crate) struct Lines;

impl Lines {
    pub(crate) fn new() -> Self {
        // The usual hook would wait for the reader.
        std::panic::set_hook(Box::new(|panic| say(&panic.to_string())));
        Self
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let mut queue = locked();
        if queue.has_writer {
            drop(CHANGED.wait_timeout_while(queue, ENDS_WITHIN, |queue| !queue.is_written()));
            return;
        }
        // No thread could be made for them.
        let mut lost = 0;
        while let Some(next) = queue.pop() {
            write_next(&mut lost, &next, |text| can_be_written() && write_all(text));
        }
    }
}

/// Writes to standard output. False if its readers have gone: they need no more.
pub(crate) fn print(text: &[u8]) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::system(format!("the output: {error}"))),
    }
}

/// Ends once the readers of standard output have gone, also while nothing is printed.
pub(crate) async fn readers_gone() {
    let stdout = io::stdout();
    // Errors and the other side's end are told unasked.
    while ready(&mut PollFd::new(&stdout, PollFlags::empty())).is_empty() {
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

/// The state of a descriptor now.
fn ready(polled: &mut PollFd<'_>) -> PollFlags {
    let found = poll(slice::from_mut(polled), Some(&Timespec::default()));
    if found.is_ok() { polled.revents() } else { PollFlags::empty() }
}

fn can_be_written() -> bool {
    ready(&mut PollFd::new(&io::stderr(), PollFlags::OUT)) == PollFlags::OUT
}

fn locked() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn enqueue(line: &[u8]) {
    let mut queue = locked();
    queue.push(line.to_vec());
    if !queue.has_writer {
        let writer = thread::Builder::new().name("tenure-log".to_owned()).spawn(write_lines);
        queue.has_writer = writer.is_ok();
    }
    drop(queue);
    CHANGED.notify_all();
}

/// The writer.
fn write_lines() {
    // Signals are other threads' to take. Without SIGTTOU, a background process may write to a
    // terminal that is set to stop it for that.
    let _ = SigSet::all().thread_block();
    let mut lost = 0;
    loop {
        let mut queue = locked();
        queue.is_writing = false;
        CHANGED.notify_all();
        let next = loop {
            if let Some(next) = queue.pop() {
                break next;
            }
            queue = CHANGED.wait(queue).unwrap_or_else(PoisonError::into_inner);
        };
        queue.is_writing = true;
        drop(queue);
        write_next(&mut lost, &next, write_all);
    }
}

/// Writes a line after the number of those that were lost before it, or counts it among them.
fn write_next(lost: &mut u64, next: &Next, write: impl FnOnce(&[u8]) -> bool) {
    *lost += next.lost_before;
    let mut text = match *lost {
        0 => String::new(),
        lost => format!("tenure: lines lost here, since they could not be written: {lost}\n"),
    }
    .into_bytes();
    text.extend_from_slice(&next.line);
    *lost = if write(&text) { 0 } else { *lost + u64::from(!next.line.is_empty()) };
}

/// True once all of it is written.
fn write_all(mut text: &[u8]) -> bool {
    let mut stderr = io::stderr();
    while !text.is_empty() {
        match stderr.write(text) {
            Ok(0) => return false,
            Ok(written) => text = text.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Another process that has the same output has made it so.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let _ = poll(&mut [PollFd::new(&stderr, PollFlags::OUT)], None);
            }
            Err(_) => return false,
        }
    }
    true
}

/// Lines that are not written yet.
struct Queue {
    lines: VecDeque<Next>,
    /// The number of lines lost after the last one of them.
    lost: u64,
    has_writer: bool,
    /// True if the writer has taken one, and is not done with it.
    is_writing: bool,
}

/// A line, and how many were lost before it.
struct Next {
    lost_before: u64,
    line: Vec<u8>,
}

impl Queue {
    const fn new() -> Self {
        Self { lines: VecDeque::new(), lost: 0, has_writer: false, is_writing: false }
    }

    fn push(&mut self, line: Vec<u8>) {
        if self.lines.len() < LINES_MOST {
            self.lines.push_back(Next { lost_before: mem::take(&mut self.lost), line });
        } else {
            self.lost += 1;
        }
    }

    /// The next line; an empty one if lines were lost after the last.
    fn pop(&mut self) -> Option<Next> {
        let rest = || {
            let lost_before = mem::take(&mut self.lost);
            (lost_before > 0).then(|| Next { lost_before, line: Vec::new() })
        };
        self.lines.pop_front().or_else(rest)
    }

    fn is_written(&self) -> bool {
        self.lines.is_empty() && self.lost == 0 && !self.is_writing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_room_are_counted() {
        let mut queue = Queue::new();
        for number in 0..LINES_MOST + 3 {
            queue.push(format!("{number}\n").into_bytes());
        }
        assert_eq!(queue.pop().unwrap().line, b"0\n");
        queue.push(b"later\n".to_vec());
        queue.push(b"none\n".to_vec());
        let (mut lost, mut written) = (0, Vec::new());
        while let Some(next) = queue.pop() {
            write_next(&mut lost, &next, |text| {
                written.extend_from_slice(text);
                true
            });
        }
        let written = String::from_utf8(written).unwrap();
        let notice = "tenure: lines lost here, since they could not be written: ";
        let end = format!("\n999\n{notice}3\nlater\n{notice}1\n");
        assert!(written.starts_with("1\n2\n") && written.ends_with(&end), "{written}");
        assert!(queue.is_written());
    }

    #[test]
    fn lines_that_were_not_written_are_counted() {
        let (mut lost, mut written) = (0, Vec::new());
        for works in [true, false, false, true] {
            let next = Next { lost_before: 0, line: b"line\n".to_vec() };
            write_next(&mut lost, &next, |text| {
                written = text.to_vec();
                works
            });
        }
        let written = String::from_utf8(written).unwrap();
        assert!(written.ends_with(": 2\nline\n") && lost == 0, "{written}");
    }
}
