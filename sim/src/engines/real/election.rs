//! The election of a run.

use tenure::store::Key;

/// The first election's key.
pub(super) const KEY: &str = "job";

pub(super) fn key() -> Key {
    Key::new(KEY).unwrap_or_else(|error| unreachable!("{KEY:?} is a key: {error}"))
}
