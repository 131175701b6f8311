//! A subscriber of the log that panics at times, as one does whose writer fails.
//!
//! It is that of one life of a process, whose tasks have it while they are polled. No panic hook
//! runs: the engine takes any other panic for one of the process.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber, dispatcher};

/// One of so many calls panics. A prime: calls of one kind follow each other in a pattern.
const EVERY: u64 = 7;

/// The log of a process.
pub(super) struct Log(Option<Dispatch>);

impl Log {
    pub(super) fn new(panics: bool) -> Self {
        Self(panics.then(|| Dispatch::new(Failing::default())))
    }

    /// Calls code of the process.
    pub(super) fn within<T>(&self, call: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(log) => dispatcher::with_default(log, call),
            None => call(),
        }
    }
}

#[derive(Default)]
struct Failing {
    calls: AtomicU64,
}

impl Failing {
    fn called(&self) {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        if number % EVERY == EVERY - 1 {
            resume_unwind(Box::new("the log's writer fails"));
        }
    }
}

impl Subscriber for Failing {
    /// Only the library's lines: turmoil logs within its tasks too.
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("tenure")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        self.called();
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.called();
    }

    fn enter(&self, _: &Id) {
        self.called();
    }

    fn exit(&self, _: &Id) {
        self.called();
    }
}
