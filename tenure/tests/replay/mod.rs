//! Each step of a store on a real server or file, compared with the contract.

#[cfg(all(feature = "etcd", feature = "serde"))]
mod etcd;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(all(feature = "redis", feature = "serde"))]
mod redis;
#[cfg(all(feature = "serde", feature = "sqlite"))]
mod sqlite;
