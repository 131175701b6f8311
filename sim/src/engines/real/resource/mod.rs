//! The resource that leaders write to: a server or a file of its own, which no fault strikes. It is
//! of the same kind as the store, where a fence for that kind is shipped, and Redis for the others.
//!
//! It stands for two: one refuses writes by the shipped fence, the other accepts all. A write that
//! the fence accepts is at once one to both; a refused one is repeated without the fence. The
//! server keeps an account of them, in order and with its own times: the times at which candidates
//! learn of it do not matter.

mod postgres;
mod redis;
mod sqlite;

use serde::{Deserialize, Serialize};
use tenure::Token;
use tenure_servers::{PostgresServer, RedisServer, ServerError};

use super::Target;
use super::clock::WallClock;
use super::protocol::Place;
use crate::plan::SimTime;
use crate::trace::{Entry, Event, Who};

/// A write, as its leader sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Written {
    pub(super) who: Who,
    pub(super) token: u64,
    /// The number of the write, in its process.
    pub(super) number: u64,
    /// The time at which the leader checked its leadership.
    pub(super) checked: SimTime,
}

/// A write that the resource has carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Landed {
    pub(super) written: Written,
    /// The server's clock, in microseconds since 1970.
    pub(super) unix_micros: u64,
    /// True if the fence has accepted it.
    pub(super) fenced: bool,
}

impl Landed {
    /// The event of a trace.
    pub(super) fn traced(self, wall: WallClock) -> Entry {
        let Self { written: Written { who, token, checked, .. }, unix_micros, fenced } = self;
        let (takes_over, accepted_by_fenced) = (false, fenced);
        let event = Event::Wrote { who, token, checked, takes_over, accepted_by_fenced };
        Entry { at: wall.true_time(unix_micros), event }
    }
}

/// An unacknowledged write.
#[derive(Debug)]
pub(super) enum NotWritten {
    /// The fence has refused it: a newer tenure has the resource.
    Refused,
    /// It may have been carried out, or not.
    Unknown,
}

/// A resource's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Redis,
    Postgres,
    Sqlite,
}

impl Kind {
    const fn of(target: Target) -> Self {
        match target {
            Target::Redis
            | Target::Fred
            | Target::RedisSentinel
            | Target::RedisCluster
            | Target::Mariadb
            | Target::Etcd
            | Target::EtcdCluster
            | Target::Kubernetes => Self::Redis,
            Target::Postgres => Self::Postgres,
            Target::Sqlite => Self::Sqlite,
        }
    }
}

/// The server with the resource.
#[derive(Debug)]
pub(super) enum ResourceServer {
    Redis(RedisServer),
    Postgres(PostgresServer),
    Sqlite(sqlite::File),
}

impl ResourceServer {
    pub(super) fn start(target: Target) -> Result<Self, ServerError> {
        match Kind::of(target) {
            Kind::Redis => RedisServer::start().map(Self::Redis),
            Kind::Postgres => {
                let server = PostgresServer::start_with(&postgres::SETTINGS)?;
                server.sql(&postgres::schema())?;
                Ok(Self::Postgres(server))
            }
            Kind::Sqlite => sqlite::File::create().map(Self::Sqlite),
        }
    }

    pub(super) fn place(&self) -> Place {
        match self {
            Self::Redis(server) => Place::port(server.port()),
            Self::Postgres(server) => Place::port(server.port()),
            Self::Sqlite(file) => Place::File(file.path()),
        }
    }

    /// Everything that was written, in order.
    pub(super) fn landed(&self) -> Result<Vec<Landed>, ServerError> {
        match self {
            Self::Redis(server) => redis::landed(server),
            Self::Postgres(server) => postgres::landed(server),
            Self::Sqlite(file) => file.landed(),
        }
    }
}

/// A process's connection to the resource.
pub(super) enum Resource {
    Redis(redis::Resource),
    Postgres(postgres::Resource),
    Sqlite(sqlite::Resource),
}

impl Resource {
    /// Connects; `None` if that fails.
    pub(super) async fn connect(target: Target, place: &Place) -> Option<Self> {
        let port = || place.routes().first().map(|route| route.by);
        match Kind::of(target) {
            Kind::Redis => redis::Resource::connect(port()?).await.map(Self::Redis),
            Kind::Postgres => postgres::Resource::connect(port()?).await.map(Self::Postgres),
            Kind::Sqlite => {
                let Place::File(path) = place else { return None };
                sqlite::Resource::open(path).map(Self::Sqlite)
            }
        }
    }

    /// Takes the resource over.
    pub(super) async fn take_over(&mut self, token: Token) -> Result<(), NotWritten> {
        match self {
            Self::Redis(resource) => resource.take_over(token).await,
            Self::Postgres(resource) => resource.take_over(token).await,
            Self::Sqlite(resource) => resource.take_over(token),
        }
    }

    /// Writes under the tenure that has taken it over, if the fence accepts that.
    pub(super) async fn write(&mut self, written: Written) -> Result<(), NotWritten> {
        match self {
            Self::Redis(resource) => resource.write(&text(written)).await,
            Self::Postgres(resource) => resource.write(&text(written)).await,
            Self::Sqlite(resource) => resource.write(&text(written)),
        }
    }

    /// Writes without the fence.
    pub(super) async fn write_unfenced(&mut self, written: Written) -> Result<(), NotWritten> {
        match self {
            Self::Redis(resource) => resource.write_unfenced(&text(written)).await,
            Self::Postgres(resource) => resource.write_unfenced(&text(written)).await,
            Self::Sqlite(resource) => resource.write_unfenced(&text(written)),
        }
    }
}

fn text(written: Written) -> String {
    serde_json::json!(written).to_string()
}

/// An entry of the account; the error says what is wrong with it.
fn parsed(text: &str, micros: &str, fenced: bool) -> Result<Landed, String> {
    let written =
        serde_json::from_str(text).map_err(|error| format!("{text:?} is not a write: {error}"))?;
    let unix_micros =
        micros.parse().map_err(|error| format!("{micros:?} is not a time: {error}"))?;
    Ok(Landed { written, unix_micros, fenced })
}
