//! A subscriber that keeps every event, and the spans in which events were.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// An event as a log would show it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) level: Level,
    pub(crate) target: String,
    /// `message=... field=...`
    pub(crate) text: String,
    /// The innermost span.
    pub(crate) span: Option<String>,
}

/// Keeps everything. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Everything>>);

#[derive(Default)]
struct Everything {
    entries: Vec<Entry>,
    spans: Vec<String>,
    entered: Vec<usize>,
}

impl Kept {
    pub(crate) fn all(&self) -> Vec<Entry> {
        self.0.lock().unwrap().entries.clone()
    }

    /// The lines that an application sees at level INFO.
    pub(crate) fn lines(&self) -> Vec<String> {
        let entries = self.all().into_iter();
        let shown = entries.filter(|entry| entry.level <= Level::INFO);
        shown.map(|entry| format!("{} {}: {}", entry.level, entry.target, entry.text)).collect()
    }

    pub(crate) fn has(&self, text: &str) -> bool {
        self.lines().iter().any(|line| line.contains(text))
    }

    /// True if a request of that kind was answered.
    pub(crate) fn is_answered(&self, request: &str) -> bool {
        let fields = format!("message=answered key=\"job\" request=\"{request}\"");
        self.all().iter().any(|entry| entry.text.starts_with(&fields))
    }

    pub(crate) fn spans(&self) -> Vec<String> {
        self.0.lock().unwrap().spans.clone()
    }
}

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("tenure") || metadata.target().starts_with("work")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let metadata = span.metadata();
        let mut fields = Line(format!("{} {}: ", metadata.target(), metadata.name()));
        span.record(&mut fields);
        let mut everything = self.0.lock().unwrap();
        everything.spans.push(fields.0);
        Id::from_u64(u64::try_from(everything.spans.len()).unwrap())
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        let metadata = event.metadata();
        let mut everything = self.0.lock().unwrap();
        let span = everything.entered.last().map(|place| everything.spans[*place].clone());
        let (level, target) = (*metadata.level(), metadata.target().to_owned());
        everything.entries.push(Entry { level, target, text: line.0, span });
    }

    fn enter(&self, id: &Id) {
        let place = usize::try_from(id.into_u64()).unwrap() - 1;
        self.0.lock().unwrap().entered.push(place);
    }

    fn exit(&self, _: &Id) {
        self.0.lock().unwrap().entered.pop();
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}
