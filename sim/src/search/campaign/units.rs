//! Durations in the units that the names of their fields state.

use std::time::Duration;

/// A number for display, where the lost digits don't matter.
#[allow(clippy::cast_precision_loss, reason = "see above")]
pub(super) const fn figure(count: u64) -> f64 {
    count as f64
}

/// Milliseconds, to the nanosecond.
#[allow(clippy::cast_precision_loss, reason = "exact up to three months")]
pub const fn milliseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

pub(super) mod in_seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(in super::super) fn serialize<S: Serializer>(
        time: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(time.as_secs_f64())
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(from)?;
        Duration::try_from_secs_f64(seconds).map_err(D::Error::custom)
    }
}

pub(super) mod in_milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[allow(clippy::ref_option, reason = "as serde calls it")]
    pub(in super::super) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(super::milliseconds).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        let ms = Option::<f64>::deserialize(from)?;
        let duration = |ms: f64| Duration::try_from_secs_f64(ms / 1_000.0);
        ms.map(duration).transpose().map_err(D::Error::custom)
    }
}
