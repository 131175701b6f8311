//! Real servers that tests and benchmarks start, own and stop.
//!
//! A simulated server says what its author believes of the real one. Some tests therefore need the
//! real thing, on a port of their own, gone when the test is over, and with a network in front of it
//! that can be made to fail.
//!
//! A missing server is an error that names the command to install it. Nothing is ever skipped: a
//! suite that passes because it ran nothing is worse than one that fails.

mod child;
mod error;
mod etcd;
mod pgbouncer;
mod postgres;
mod process;
mod proxy;
mod redis;

pub use error::ServerError;
pub use etcd::{EtcdCluster, EtcdServer};
pub use pgbouncer::PgBouncer;
pub use postgres::PostgresServer;
pub use proxy::{Flow, Proxy};
pub use redis::{RedisCluster, RedisSentinel, RedisSentinels, RedisServer, Reply};
