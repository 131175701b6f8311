//! The data: strings and hashes by key.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::refusal::Refusal;

/// One key's value. A hash is never empty: Redis removes the key with its last field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(Bytes),
    Hash(Hash),
}

/// Fields in the order of their first writing, as Redis keeps hashes of up to 128 fields whose
/// values are at most 64 bytes long. Larger ones Redis answers in no particular order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hash(Vec<(Bytes, Bytes)>);

/// A copy of a server's data at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot(BTreeMap<Bytes, Value>);

#[derive(Debug, Default)]
pub(super) struct Keyspace(BTreeMap<Bytes, Value>);

impl Keyspace {
    pub(super) fn value(&self, key: &[u8]) -> Option<&Value> {
        self.0.get(key)
    }

    pub(super) fn text(&self, key: &[u8]) -> Result<Option<&Bytes>, Refusal> {
        match self.0.get(key) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(Value::Hash(_)) => Err(Refusal::WrongType),
        }
    }

    pub(super) fn hash(&self, key: &[u8]) -> Result<Option<&Hash>, Refusal> {
        match self.0.get(key) {
            None => Ok(None),
            Some(Value::Hash(hash)) => Ok(Some(hash)),
            Some(Value::Text(_)) => Err(Refusal::WrongType),
        }
    }

    /// The hash at `key`, created if there is none. The caller writes at least one field.
    pub(super) fn hash_to_write(&mut self, key: &Bytes) -> Result<&mut Hash, Refusal> {
        match self.0.entry(key.clone()).or_insert_with(|| Value::Hash(Hash::default())) {
            Value::Hash(hash) => Ok(hash),
            Value::Text(_) => Err(Refusal::WrongType),
        }
    }

    pub(super) fn set_text(&mut self, key: Bytes, text: Bytes) {
        self.0.insert(key, Value::Text(text));
    }

    /// True if the key existed.
    pub(super) fn remove(&mut self, key: &[u8]) -> bool {
        self.0.remove(key).is_some()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot(self.0.clone())
    }

    pub(super) fn restore(&mut self, snapshot: &Snapshot) {
        self.0.clone_from(&snapshot.0);
    }
}

impl Hash {
    pub(super) fn get(&self, field: &[u8]) -> Option<&Bytes> {
        self.0.iter().find(|(name, _)| name == field).map(|(_, value)| value)
    }

    /// True if the field is new.
    pub(super) fn set(&mut self, field: Bytes, value: Bytes) -> bool {
        if let Some((_, old)) = self.0.iter_mut().find(|(name, _)| *name == field) {
            *old = value;
            return false;
        }
        self.0.push((field, value));
        true
    }

    /// True if the field existed.
    pub(super) fn remove(&mut self, field: &[u8]) -> bool {
        let before = self.0.len();
        self.0.retain(|(name, _)| name != field);
        self.0.len() < before
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(Bytes, Bytes)> {
        self.0.iter()
    }
}

/// A number as Redis reads it: only the digits that Redis itself would write.
pub(super) fn integer(bytes: &[u8]) -> Option<i64> {
    let number: i64 = std::str::from_utf8(bytes).ok()?.parse().ok()?;
    (number.to_string().as_bytes() == bytes).then_some(number)
}
