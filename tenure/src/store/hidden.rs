//! Hides the passwords that stores have sent from errors.
//!
//! A server, a proxy or a library may quote in an error what it was given. Every such text goes
//! through [`sanitized`](super::error::sanitized), which asks here. The passwords of all stores of
//! the process are kept together: that place does not know whose text it has.

use std::sync::{Arc, Mutex, PoisonError, Weak};

pub(super) type Text = dyn AsRef<str> + Send + Sync;

static HIDDEN: Mutex<Vec<Weak<Text>>> = Mutex::new(Vec::new());

/// Shorter ones are parts of many words.
const LEAST: usize = 4;

/// Hides a text for as long as it exists.
#[cfg_attr(
    not(any(
        feature = "redis-without-tls",
        feature = "fred",
        feature = "postgres",
        feature = "etcd",
        feature = "mysql"
    )),
    allow(dead_code, reason = "other stores send no passwords")
)]
pub(super) fn hide(text: Weak<Text>) {
    let is_short = |text: Arc<Text>| (*text).as_ref().chars().count() < LEAST;
    if text.upgrade().is_none_or(is_short) {
        return;
    }
    let mut hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner);
    hidden.retain(|other| other.strong_count() > 0 && !other.ptr_eq(&text));
    hidden.push(text);
}

/// All that are hidden.
pub(super) fn all() -> Vec<Arc<Text>> {
    let hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner);
    hidden.iter().filter_map(Weak::upgrade).collect()
}
