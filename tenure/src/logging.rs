//! The log: its lines and spans, and their targets. `docs/operations.md` lists them, and they are
//! stable.
//!
//! The subscriber of the log and the recorder of metrics are the application's, are reached through
//! a global from wherever this library runs, and may panic: tracing-subscriber does if neither its
//! writer nor stderr takes a line. No other module calls them past [`guarded`].
//!
//! **What is guaranteed**: such a panic costs the line, span or value, and nothing else.
//!
//! **What is not**: the same in a program whose panics abort (`panic = "abort"`). A subscriber that
//! blocks still blocks what reports to it, and so does a recorder.

use std::any::Any;
use std::fmt;
use std::mem::{self, ManuallyDrop};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::thread;

use crate::Token;

/// The target of what happens to candidates, and to the store as they see it.
pub(crate) const LIFE: &str = "tenure";

/// The target of single requests.
pub(crate) const REQUEST: &str = "tenure::request";

/// The span in which the work and the callbacks of a tenure run.
pub(crate) fn tenure_span(key: &impl fmt::Debug, token: Token, name: &str) -> Span {
    // Without a parent: the driver's task has nothing to do with the work.
    Span::new(|| tracing::info_span!(target: LIFE, parent: None, "tenure", ?key, %token, name))
}

/// The span of a call to the store. Requests that leave together share one, which has the key of
/// the first.
pub(crate) fn request_span(key: &impl fmt::Debug, request: &'static str, requests: usize) -> Span {
    Span::new(
        || tracing::debug_span!(target: REQUEST, parent: None, "request", ?key, request, requests),
    )
}

macro_rules! error_line {
    ($($line:tt)+) => {{ $crate::logging::guarded(|| tracing::error!($($line)+)); }};
}
macro_rules! warn_line {
    ($($line:tt)+) => {{ $crate::logging::guarded(|| tracing::warn!($($line)+)); }};
}
macro_rules! info_line {
    ($($line:tt)+) => {{ $crate::logging::guarded(|| tracing::info!($($line)+)); }};
}
macro_rules! debug_line {
    ($($line:tt)+) => {{ $crate::logging::guarded(|| tracing::debug!($($line)+)); }};
}
pub(crate) use {debug_line as debug, error_line as error, info_line as info, warn_line as warn};

/// The panics that no metric counts yet.
static PANICS: AtomicU64 = AtomicU64::new(0);

/// Calls a subscriber or a recorder, and does nothing else: a panic ends here, and is counted.
/// Calls nothing on a thread that unwinds, where a second panic may abort the process.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Option<T> {
    if thread::panicking() {
        return None;
    }
    caught(call).map_err(forgotten).ok()
}

/// The result of a call, or its panic.
///
/// Never inlined: of a call of `enter` within a large `poll`, rustc 1.95 on x86-64 took the panic from a register
/// that held something else, and freed that.
#[inline(never)]
fn caught<T>(call: impl FnOnce() -> T) -> thread::Result<T> {
    catch_unwind(AssertUnwindSafe(call))
}

/// Counts a panic. Apart from its caller, which is compiled for each line of the log.
#[cold]
fn forgotten(payload: Box<dyn Any + Send>) {
    // Dropping any other could panic too. The panic hook has printed it.
    if !(payload.is::<String>() || payload.is::<&'static str>()) {
        mem::forget(payload);
    }
    PANICS.fetch_add(1, Ordering::Relaxed);
}

/// Has the panics counted that were caught since they were last counted.
pub(crate) fn count_panics(count: impl FnOnce(u64)) {
    // A load first: all threads that count would write to one place, and there are seldom any.
    if PANICS.load(Ordering::Relaxed) > 0 {
        let panics = PANICS.swap(0, Ordering::Relaxed);
        if guarded(|| count(panics)).is_none() {
            PANICS.fetch_add(panics, Ordering::Relaxed);
        }
    }
}

/// A span whose subscriber is [`guarded`].
pub(crate) struct Span(tracing::Span);

impl Span {
    fn new(span: impl FnOnce() -> tracing::Span) -> Self {
        Self(guarded(span).unwrap_or_else(tracing::Span::none))
    }

    pub(crate) const fn none() -> Self {
        Self(tracing::Span::none())
    }

    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// The result of a call within the span, or the panic of it.
    fn within<T>(&self, call: impl FnOnce() -> T) -> thread::Result<T> {
        let entered = guarded(|| self.0.enter());
        // Caught: the span is left also where the call panics, but not while that unwinds.
        let result = caught(call);
        if let Some(entered) = entered {
            guarded(|| drop(entered));
        }
        result
    }

    /// Polls and drops the future within the span.
    pub(crate) async fn instrument<F: Future>(self, future: F) -> F::Output {
        let future = pin!(Some(future));
        self.around(future).await
    }

    /// The same for a future that is pinned already: one that may be large is not moved again.
    pub(crate) fn around<F: Future>(self, future: Pin<&mut Option<F>>) -> Within<'_, F> {
        Within { span: self, future }
    }
}

impl Clone for Span {
    fn clone(&self) -> Self {
        Self::new(|| self.0.clone())
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        // While a thread unwinds, the span is never closed.
        let span = ManuallyDrop::new(mem::replace(&mut self.0, tracing::Span::none()));
        guarded(|| drop(ManuallyDrop::into_inner(span)));
    }
}

/// A future within a span.
pub(crate) struct Within<'a, F> {
    span: Span,
    /// `None` once this is dropped.
    future: Pin<&'a mut Option<F>>,
}

impl<F: Future> Future for Within<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { span, future } = self.get_mut();
        let Some(future) = future.as_mut().as_pin_mut() else { return Poll::Pending };
        span.within(|| future.poll(context)).unwrap_or_else(|panic| {
            // Closed now, since nothing is while the thread unwinds.
            *span = Span::none();
            resume_unwind(panic)
        })
    }
}

impl<F> Drop for Within<'_, F> {
    fn drop(&mut self) {
        let Self { span, future } = self;
        if let Err(panic) = span.within(|| future.set(None)) {
            resume_unwind(panic);
        }
    }
}
