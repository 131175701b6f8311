//! The election of a run.

use tenure::store::Key;

pub(super) fn key() -> Key {
    let key = crate::engines::node::key(0);
    Key::new(&*key).unwrap_or_else(|error| unreachable!("{key:?} is a key: {error}"))
}
