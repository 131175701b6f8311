//! With the standard library's atomics.

use std::sync::atomic;

use tenure::Instant;

#[path = "../../src/deadline.rs"]
pub(crate) mod deadline;
