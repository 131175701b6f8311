//! Who in this process waits for which election.

use std::fmt::Write;

use crate::store::Key;
use crate::store::fanout::Fanout;

/// Those in this process who wait for an election, by its key as the server sends it.
#[derive(Default)]
pub(super) struct Listeners {
    pub(super) hints: Fanout<()>,
    pub(super) inboxes: Fanout<u128>,
}

impl Listeners {
    pub(super) fn wake(&self, payload: &str) {
        self.hints.bring(payload, ());
    }

    /// Somebody says that a message is there, under that number.
    pub(super) fn message(&self, payload: &str) {
        if let Some((key, number)) = payload.split_once(' ')
            && number.len() == 32
            && let Ok(number) = u128::from_str_radix(number, 16)
        {
            self.inboxes.bring(key, number);
        }
    }
}

/// A key as the server notifies of it: payloads are text without zero bytes.
pub(super) fn payload(key: &Key) -> String {
    let mut hex = String::with_capacity(2 * key.as_str().len());
    for byte in key.as_str().bytes() {
        // A string takes all of it.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
