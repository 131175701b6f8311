//! Targets and spans of the log. `docs/operations.md` lists them, and they are stable.

use tracing::Span;

use crate::Token;
use crate::store::Key;

/// The target of what happens to candidates, and to the store as they see it.
pub(crate) const LIFE: &str = "tenure";

/// The target of single requests.
pub(crate) const REQUEST: &str = "tenure::request";

/// The span in which the work and the callbacks of a tenure run.
pub(crate) fn tenure_span(key: &Key, token: Token, name: &str) -> Span {
    // Without a parent: the driver's task has nothing to do with the work.
    tracing::info_span!(target: LIFE, parent: None, "tenure", ?key, %token, name)
}

/// The span of a call to the store. Requests that leave together share one, which has the key of
/// the first.
pub(crate) fn request_span(key: &Key, request: &'static str, requests: usize) -> Span {
    tracing::debug_span!(target: REQUEST, parent: None, "request", ?key, request, requests)
}
