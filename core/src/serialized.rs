//! Tokens, holder ids and reasons in serde's formats; with the feature `serde`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::alphabet::StepDownReason;
use crate::id::{HolderId, Token};

/// Writes its number. Readers whose numbers are floating-point keep it exact up to 2^53; the
/// microseconds since 1970 are below that until the year 2255.
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

/// Writes its 32 hexadecimal digits.
impl Serialize for HolderId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Writes its name in lower case with underscores, as metrics name it.
impl Serialize for StepDownReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (index, name) = match self {
            Self::Expired => (0, "expired"),
            Self::Superseded => (1, "superseded"),
            Self::Resigned => (2, "resigned"),
            Self::RenewFailed => (3, "renew_failed"),
            Self::WorkLost => (4, "work_lost"),
            Self::Unresponsive => (5, "unresponsive"),
            Self::WorkFailed => (6, "work_failed"),
            Self::HandedOver => (7, "handed_over"),
        };
        serializer.serialize_unit_variant("StepDownReason", index, name)
    }
}
