//! Stores of leases: what a store must do, and the stores that exist.
//!
//! A store keeps one record for each election and carries out five requests, each as one atomic step:
//! acquire, renew, release, observe and, if it has messages, notify. The store contract says how it answers; it
//! exists as code in [`tenure_core::contract`]. All other decisions are made by the candidate.

mod any;
mod error;
#[cfg(feature = "etcd")]
pub mod etcd;
#[cfg(any(feature = "redis", feature = "postgres"))]
mod fanout;
mod key;
#[cfg(any(feature = "redis", feature = "fred", feature = "postgres"))]
mod listen;
pub mod memory;
mod message;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(any(feature = "redis", feature = "fred"))]
pub mod redis;
mod request;
#[cfg(any(feature = "redis", feature = "fred", feature = "postgres", feature = "etcd"))]
mod secret;
#[cfg(any(feature = "redis", feature = "fred", feature = "postgres", feature = "etcd"))]
mod slot;
#[cfg(all(feature = "sqlite", target_os = "linux"))]
pub mod sqlite;
mod traits;

use std::future::Future;

use futures_core::Stream;

use crate::Token;

pub use any::AnyStore;
pub use error::{StoreError, StoreErrorKind};
pub use key::{Key, LimitError, Profile};
pub use memory::Memory;
pub use message::Message;
pub use request::{Incumbent, Reply, Request};
#[cfg(any(feature = "redis", feature = "fred", feature = "postgres", feature = "etcd"))]
pub use secret::Secret;
pub use traits::{HistoryKind, Promise, StoreTraits, TokenKind};

/// The lease of an election may have become vacant. Unreliable: it may be late, lost or wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint;

/// A store of leases: one connection, many keys.
///
/// Implementable with a plain `async fn call`. The rules for an implementation:
///
/// - Each request is one atomic step, as [`tenure_core::contract::apply`] does it.
/// - An error means *unknown*: it may or may not have been carried out. Nothing is retried or replayed
///   by the store or the client under it, unless the server has proved that it did not execute.
/// - A future that is dropped before it is done was given up by its caller because it took too long:
///   whatever connection it used may be stuck.
pub trait Store: Send + Sync + 'static {
    /// What kind of store this is, and which promises it keeps.
    fn traits(&self) -> StoreTraits;

    /// Carries out one request.
    fn call(
        &self,
        key: &Key,
        request: Request,
    ) -> impl Future<Output = Result<Reply, StoreError>> + Send;

    /// The messages to that tenure alone, in the order in which they were sent, each at most once. Messages
    /// that are sent soon after the first poll of the stream may be missed. A store without messages never
    /// yields.
    fn messages(&self, key: &Key, token: Token) -> impl Stream<Item = Message> + Send + 'static {
        let _ = (key, token);
        futures_util::stream::pending()
    }

    /// Wake-ups for candidates that wait for the lease of `key`. A store without them is polled.
    fn hints(&self, key: &Key) -> impl Stream<Item = Hint> + Send + 'static {
        let _ = key;
        futures_util::stream::pending()
    }
}
