//! The listeners of each election in this process.

use std::fmt::Write;

use crate::store::Key;
use crate::store::fanout::Fanout;

/// The listeners for hints and messages, by the election's key as the server sends it.
#[derive(Default)]
pub(super) struct Listeners {
    pub(super) hints: Fanout<()>,
    pub(super) inboxes: Fanout<u128>,
}

impl Listeners {
    pub(super) fn wake(&self, payload: &str) {
        self.hints.publish(payload, ());
    }

    /// Announces a message by its number.
    pub(super) fn message(&self, payload: &str) {
        if let Some((key, number)) = payload.split_once(' ')
            && number.len() == 32
            && let Ok(number) = u128::from_str_radix(number, 16)
        {
            self.inboxes.publish(key, number);
        }
    }
}

/// A key in the payload of a notification, which is text without zero bytes.
pub(super) fn payload(key: &Key) -> String {
    let mut hex = String::with_capacity(2 * key.as_str().len());
    for byte in key.as_str().bytes() {
        // Writing into a string never fails.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
