//! Redis and Valkey: one hash for each election, one Lua script for each kind of request.
//!
//! The record's key has no expiry, so its token survives the lease. No decision rests on the
//! server's clock: a candidate that waits does so by its own, and a script only compares. Needs
//! Redis 6 or Valkey, with RESP3.
//!
//! **Not guaranteed**: promises that depend on the store's durability (A1, G6) hold only if the
//! server keeps what it acknowledged. A restart, a flush or a failover is noticed by the server's
//! identity, and nothing is granted until a candidate has watched the new past for a quarantine. A
//! primary that was replaced without knowing it is noticed only if sentinels or the nodes of a
//! cluster are asked for it ([`RedisConfig::sentinel`], [`RedisConfig::cluster`]), or replicas
//! ([`RedisConfig::replica_acks`]).

#[cfg(feature = "redis-without-tls")]
mod cap;
mod caution;
mod channels;
#[cfg(feature = "redis-without-tls")]
mod cluster;
mod config;
mod ends;
#[cfg(feature = "redis-without-tls")]
mod examine;
mod field;
#[cfg(feature = "fred")]
mod fred;
#[cfg(feature = "redis-without-tls")]
mod link;
#[cfg(feature = "redis-without-tls")]
mod majority;
#[cfg(feature = "redis-without-tls")]
mod member;
mod purge;
#[cfg(feature = "redis-without-tls")]
mod redirect;
mod refusal;
#[cfg(feature = "redis-without-tls")]
mod replicas;
mod reply;
#[cfg(feature = "redis-without-tls")]
mod rounds;
#[cfg(feature = "redis-without-tls")]
mod route;
mod script;
mod scripts;
#[cfg(feature = "redis-without-tls")]
mod sentinel;
#[cfg(feature = "redis-without-tls")]
mod session;
mod settings;
mod shown;
#[cfg(feature = "redis-without-tls")]
mod store;
#[cfg(feature = "redis-without-tls")]
mod target;
mod version;
#[cfg(feature = "redis-without-tls")]
mod wakeup;
mod words;

#[doc(hidden)]
pub use caution::Caution;
pub use config::RedisConfig;
#[cfg(feature = "fred")]
pub use fred::Fred;
pub use scripts::SCRIPTS;
#[cfg(feature = "redis-without-tls")]
pub use store::Redis;

use super::StoreTraits;

/// A server carries out so many in a third of a millisecond, and three times as many a second as it
/// does one by one.
const RENEWALS_IN_CALL: usize = 64;
/// The same for looks.
const LOOKS_IN_CALL: usize = 32;
/// A server grants so many in half a millisecond. Alone, each grant takes several times as long:
/// the server is examined once a call.
const ACQUIRES_IN_CALL: usize = 32;

fn traits(name: &'static str) -> StoreTraits {
    StoreTraits {
        messages: true,
        renewals_in_call: RENEWALS_IN_CALL,
        looks_in_call: LOOKS_IN_CALL,
        acquires_in_call: ACQUIRES_IN_CALL,
        ..StoreTraits::new(name)
    }
}
