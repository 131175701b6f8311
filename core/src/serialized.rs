//! Tokens and holder ids in serde's formats; with the feature `serde`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::{HolderId, Token};

/// As its number. Readers whose numbers are floating-point keep it exact up to 2^53; the microseconds since 1970 are
/// below that until the year 2255.
impl Serialize for Token {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().serialize(serializer)
    }
}

/// From its number; zero is refused.
impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer)?.try_into().map_err(D::Error::custom)
    }
}

/// As its 32 hexadecimal digits.
impl Serialize for HolderId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
