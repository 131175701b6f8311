//! The keys of the one election of a run, and what its lease says.

use serde_json::json;

pub(super) const PREFIX: &[u8] = b"tenure/";
pub(super) const LEADER: &[u8] = b"tenure/leader/job";
pub(super) const QUARANTINE: &[u8] = b"tenure/quarantine";
/// Written by the observer alone: the watch has shown all that came before.
pub(super) const MARK: &[u8] = b"tenure/all-was-shown";

/// A tenure, as the key of its lease says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leader {
    pub(super) token: u64,
    pub(super) holder: u128,
}

impl Leader {
    /// Reads `tenure1 HOLDER TTL OFFSET LENGTH`: the token is the key's create revision plus the offset.
    pub(super) fn read(value: &[u8], created: i64) -> Option<Self> {
        let line = value.split(|byte| *byte == b'\n').next()?;
        let words: Vec<&str> = std::str::from_utf8(line).ok()?.split(' ').collect();
        let ["tenure1", holder, _, offset, _] = words[..] else { return None };
        let holder = u128::from_str_radix(holder, 16).ok()?;
        let token = offset.parse::<u64>().ok()?.checked_add_signed(created)?;
        Some(Self { token, holder })
    }
}

/// The request of the JSON gateway that writes the mark: it takes keys in base 64.
pub(super) fn marking() -> String {
    json!({ "key": "dGVudXJlL2FsbC13YXMtc2hvd24=", "value": "" }).to_string()
}
