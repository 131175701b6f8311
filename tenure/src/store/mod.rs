//! Where leases live: what a store must do, and the stores that do it.
//!
//! A store keeps one record for each election and carries out few requests, each as one atomic step:
//! acquire, renew, release, observe, and, if it has messages, notify. What it answers when is the store contract, which exists as code
//! in [`tenure_core::contract`]. A store need not be trusted further than that: every decision is the
//! candidate's.

mod any;
mod error;
#[cfg(feature = "etcd")]
pub mod etcd;
#[cfg(any(feature = "redis", feature = "postgres"))]
mod fanout;
mod key;
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
/// Implementable with a plain `async fn call`. What an implementation must keep to:
///
/// - Each request is one atomic step, as [`tenure_core::contract::apply`] does it.
/// - An error means *unknown*: it may or may not have been carried out. Nothing is retried or replayed
///   by the store or the client under it, unless the server has proved that it did not execute.
/// - A future that is dropped before it is done was given up by its caller because it took too long:
///   whatever connection it used may be stuck.
pub trait Store: Send + Sync + 'static {
    /// What kind of store this is, and what it keeps.
    fn traits(&self) -> StoreTraits;

    /// Carries out one request.
    fn call(
        &self,
        key: &Key,
        request: Request,
    ) -> impl Future<Output = Result<Reply, StoreError>> + Send;

    /// The messages to that tenure, in the order in which they were sent: those alone, each at most once, and
    /// only what is sent once the stream has been polled for a while. A store without any never yields.
    fn messages(&self, key: &Key, token: Token) -> impl Stream<Item = Message> + Send + 'static {
        let _ = (key, token);
        futures_util::stream::pending()
    }

    /// Wake-ups for those who wait for the lease of `key`. A store without any is polled.
    fn hints(&self, key: &Key) -> impl Stream<Item = Hint> + Send + 'static {
        let _ = key;
        futures_util::stream::pending()
    }
}
