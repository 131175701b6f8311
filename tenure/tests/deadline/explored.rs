//! With shuttle's atomics.

use shuttle::sync::atomic;
use tenure::Instant;

#[path = "../../src/deadline.rs"]
pub(crate) mod deadline;
