//! A fenced write, from its beginning to its end.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::Recorder;
use super::line::Outcome;
use crate::fence::FenceError;
use crate::{Instant, Token};

/// A write under way to a resource that compares tokens, made by
/// [`Tenure::trace_write`](crate::Tenure::trace_write) before the write. Dropping it says that the
/// write's outcome is unknown.
///
/// The resource carries the write out at some moment between the two readings of the clock. A
/// take-over is a write too.
#[must_use = "dropped at once it says that the outcome is unknown; end it after the write"]
pub struct Write(Option<Open>);

struct Open {
    recorder: Arc<Recorder>,
    token: Token,
    resource: Box<str>,
    began: Instant,
}

impl Write {
    /// Without a recorder, nothing is read or kept.
    pub(crate) fn begin(recorder: Option<&Arc<Recorder>>, token: Token, resource: &str) -> Self {
        Self(recorder.map(|recorder| {
            let (recorder, resource) = (Arc::clone(recorder), resource.into());
            let began = recorder.now();
            Open { recorder, token, resource, began }
        }))
    }

    /// The resource has carried the write out.
    pub fn accepted(mut self) {
        self.end(Outcome::Accepted);
    }

    /// The resource has refused the write, and nothing was written.
    pub fn refused(mut self) {
        self.end(Outcome::Refused);
    }

    /// The write has ended with that result of a [fence](crate::fence).
    pub fn ended<T, E: Error + 'static>(mut self, result: &Result<T, FenceError<E>>) {
        self.end(match result {
            Ok(_) => Outcome::Accepted,
            Err(
                FenceError::Superseded { .. }
                | FenceError::Lost { .. }
                | FenceError::Misused { .. }
                | FenceError::ReadOnly { .. },
            ) => Outcome::Refused,
            Err(FenceError::Unknown { .. }) => Outcome::Unknown,
        });
    }

    fn end(&mut self, outcome: Outcome) {
        if let Some(Open { recorder, token, resource, began }) = self.0.take() {
            recorder.wrote(token, began, resource, outcome);
        }
    }
}

impl Drop for Write {
    fn drop(&mut self) {
        self.end(Outcome::Unknown);
    }
}

impl fmt::Debug for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Write").field("is_traced", &self.0.is_some()).finish()
    }
}
