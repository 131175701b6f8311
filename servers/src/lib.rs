//! Real servers that tests and benchmarks start, own and stop.
//!
//! A simulated server behaves as its author believes that the real one does. Some tests therefore
//! need a real server, on a port of its own, stopped when the test is over, and behind a network
//! that can be made to fail.
//!
//! A missing server is an error that names the command to install it. Nothing is ever skipped: a
//! suite that passes because it ran nothing is worse than one that fails.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod certificates;
mod child;
mod clock;
mod error;
mod etcd;
mod kubernetes;
mod mariadb;
mod names;
mod nats;
mod pauses;
mod pgbouncer;
mod port;
mod postgres;
mod preload;
mod process;
mod proxy;
mod redis;
mod session;
mod worker;

pub use certificates::{Authority, Certificate};
pub use child::pause;
pub use clock::{Course, Preload, ServerClock};
pub use error::ServerError;
pub use etcd::{EtcdCluster, EtcdGrpcProxy, EtcdServer, EtcdSnapshot};
pub use kubernetes::{
    ClientGoCandidate, ClientGoEvent, ClientGoEventKind, ClientGoSettings, KubeApiServer,
    KubeWebhook,
};
pub use mariadb::MariadbServer;
pub use names::SilentNames;
pub use nats::NatsServer;
pub use pauses::undisturbed;
pub use pgbouncer::PgBouncer;
pub use postgres::PostgresServer;
pub use proxy::{Flow, Proxy};
pub use redis::{RedisCluster, RedisSentinel, RedisSentinels, RedisServer, Reply};
pub use session::SqlSession;
pub use worker::Worker;
