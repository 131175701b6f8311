//! The stores that this engine runs on.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::judge::properties::PropertyName;

/// A store with a real server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Redis through redis-rs.
    Redis,
    /// Redis through fred.
    Fred,
    /// The lease table in PostgreSQL.
    Postgres,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Redis, Self::Fred, Self::Postgres];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Fred => "fred",
            Self::Postgres => "postgres",
        }
    }

    /// The name of the engine that runs on it.
    pub const fn engine(self) -> &'static str {
        match self {
            Self::Redis => "real-redis",
            Self::Fred => "real-fred",
            Self::Postgres => "real-postgres",
        }
    }

    /// The properties that can't judge its runs. The processes neither look for the leader nor wait for a cancellation
    /// token; a lead is known up to the last answer before a request to resign, not up to the request; and a table shows
    /// only changes: not the requests that it has refused.
    pub(in crate::engines) const fn left_out(self) -> &'static [PropertyName] {
        match self {
            Self::Redis | Self::Fred => &[
                PropertyName::LOOKS_WITHIN,
                PropertyName::TOLD_OF_THE_END,
                PropertyName::RESIGNED_AT_ONCE,
            ],
            Self::Postgres => &[
                PropertyName::LOOKS_WITHIN,
                PropertyName::TOLD_OF_THE_END,
                PropertyName::RESIGNED_AT_ONCE,
                PropertyName::LINEARIZABLE,
            ],
        }
    }

    /// A short description.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Redis => "real processes and a real Redis server, by redis-rs",
            Self::Fred => "real processes and a real Redis server, by fred",
            Self::Postgres => "real processes and the lease table of a real PostgreSQL server",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No store of this engine has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown store {name:?}; known are {}", Target::ALL.map(Target::name).join(", "))]
pub struct UnknownTarget {
    /// The name that was given.
    pub name: String,
}

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(name: &str) -> Result<Self, UnknownTarget> {
        let found = Self::ALL.into_iter().find(|target| target.name() == name);
        found.ok_or_else(|| UnknownTarget { name: name.to_owned() })
    }
}
