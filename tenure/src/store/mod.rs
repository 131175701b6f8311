//! Stores of leases: what a store must do, and the stores that exist.
//!
//! A store keeps one record for each election and carries out requests, each as one atomic step:
//! acquire, look, renew, release, ask, want, describe, observe and, if it has messages, notify.
//! [`tenure_core::contract`] says as code how it answers the first six, and [`Request`] says it of
//! the others. All other decisions are made by the candidate.

mod any;
#[cfg(feature = "cas")]
pub mod cas;
#[cfg(all(
    feature = "tls",
    any(
        feature = "redis-without-tls",
        feature = "postgres",
        feature = "etcd",
        feature = "kubernetes",
        feature = "mysql"
    )
))]
mod certificate;
#[cfg(any(
    feature = "redis-without-tls",
    feature = "fred",
    feature = "postgres",
    feature = "etcd",
    feature = "mysql"
))]
#[cfg_attr(
    not(all(feature = "redis-without-tls", feature = "postgres", feature = "etcd")),
    allow(dead_code, reason = "each store has some of them")
)]
mod common;
pub mod contract;
#[cfg(any(
    feature = "redis-without-tls",
    feature = "fred",
    feature = "postgres",
    feature = "etcd",
    feature = "mysql"
))]
mod credentials;
#[cfg(feature = "_server")]
mod dial;
mod env;
mod error;
#[cfg(feature = "etcd")]
pub mod etcd;
#[cfg(all(test, feature = "_server"))]
mod fake;
mod hidden;
mod interest;
mod key;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
pub mod memory;
mod message;
#[cfg(feature = "mysql")]
pub mod mysql;
#[cfg(feature = "objects")]
pub mod objects;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "_server")]
mod progress;
mod purge;
#[cfg(any(feature = "cas", feature = "etcd"))]
mod recent;
#[cfg(any(feature = "redis-without-tls", feature = "fred"))]
pub mod redis;
mod request;
#[cfg(any(
    feature = "redis-without-tls",
    feature = "fred",
    feature = "postgres",
    feature = "etcd",
    feature = "mysql"
))]
mod secret;
#[cfg(feature = "_server")]
mod slot;
#[cfg(all(feature = "sqlite", target_os = "linux"))]
pub mod sqlite;
#[cfg(feature = "_server")]
mod steps;
#[cfg(feature = "_server")]
#[cfg_attr(
    not(any(feature = "redis-without-tls", feature = "fred", feature = "postgres")),
    allow(dead_code, reason = "etcd has no messages")
)]
mod subscriptions;
mod traits;
mod url;
#[cfg(any(feature = "_server", all(feature = "sqlite", target_os = "linux")))]
mod watchers;
mod watches;

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use futures_core::Stream;

use crate::Token;

pub use any::AnyStore;
#[cfg(all(
    feature = "tls",
    any(
        feature = "redis-without-tls",
        feature = "postgres",
        feature = "etcd",
        feature = "kubernetes",
        feature = "mysql"
    )
))]
pub use certificate::CertificateExpired;
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) use common::name_without;
#[cfg(any(
    feature = "redis-without-tls",
    feature = "fred",
    feature = "postgres",
    feature = "etcd",
    feature = "mysql"
))]
pub use credentials::{Credentials, CredentialsProvider, PasswordFile, Provided};
#[cfg(test)]
pub(crate) use env::STORE;
pub(crate) use env::{ROWS as VARIABLES, redis_variables};
pub use error::{StoreError, StoreErrorKind};
pub(crate) use interest::Interest;
pub use interest::{Changes, Watched};
pub use key::{Key, LimitError, Profile};
pub use memory::Memory;
pub use message::Message;
pub use purge::PurgeAge;
#[cfg(test)]
pub(crate) use purge::{PURGE, is_purged};
pub use request::{Incumbent, Reply, Request, Shown};
#[cfg(any(
    feature = "redis-without-tls",
    feature = "fred",
    feature = "postgres",
    feature = "etcd",
    feature = "mysql"
))]
pub use secret::Secret;
pub use traits::{HistoryKind, Promise, StoreTraits, TokenKind};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/stores/writing-your-own.md")]
struct WritingYourOwn;

#[cfg(all(doctest, feature = "postgres"))]
#[doc = include_str!("../../../docs/stores/credentials.md")]
struct ThatChange;

/// A store of leases: one connection, many keys.
///
/// Implementable with a plain `async fn call`. The rules for an implementation:
///
/// - Each request is one atomic step, as [`contract::apply`] does it.
/// - An error means *unknown*: it may or may not have been carried out. So does a panic, which ends
///   no driver. Nothing is retried or replayed by the store or the client under it, unless the
///   server has proved that it did not execute.
/// - A future that is dropped before it is done was given up by its caller because it took too
///   long: whatever connection it used may be stuck.
pub trait Store: Send + Sync + 'static {
    /// The kind of this store, and the promises that it keeps.
    fn traits(&self) -> StoreTraits;

    /// Carries out one request.
    fn call(
        &self,
        key: &Key,
        request: Request,
    ) -> impl Future<Output = Result<Reply, StoreError>> + Send;

    /// Carries out requests in their order, and returns their results in the same order. The driver
    /// hands in one request of any kind, or up to [`StoreTraits::renewals_in_call`] renewals,
    /// [`StoreTraits::looks_in_call`] looks and asks, or [`StoreTraits::acquires_in_call`] acquires.
    /// A key may occur twice: rivals of one process may ask at the same time.
    ///
    /// Each request is an atomic step of its own: it is judged alone, and one that is refused or
    /// fails does not change the results of others. A call that fails as a whole is unknown for all
    /// of them. Default: each by a [`call`](Self::call) of its own.
    fn call_all(
        &self,
        requests: Vec<(Key, Request)>,
    ) -> impl Future<Output = Vec<Result<Reply, StoreError>>> + Send {
        each_alone(self, requests)
    }

    /// The reason for a missing connection to the server just now, if the store knows it. A driver
    /// reports it for a request that it has given up: connecting may take longer than a request
    /// may, and a server that is away is attempted with pauses, so that the request itself ends
    /// before it learns the cause. Asks nothing of the server. Default: not known.
    fn connect_error(&self) -> Option<StoreError> {
        None
    }

    /// Deletes the records of elections whose lease ended longer ago than `age`, and returns how
    /// many: those of this store's prefix, table or file. For applications that use new keys all
    /// the time, since a record outlives its lease. [`AnyStore::purging`] does it about once an
    /// hour.
    ///
    /// A shorter age than the longest TTL that was granted, or than the TTL and the quarantine of
    /// the record itself, counts as that long: an election's settings bind its candidates for that
    /// time. A lease that was given back counts as if it had lasted until its end. With etcd, which
    /// has no clock for clients, the age counts from the first purge that found the election
    /// without a leader.
    ///
    /// It is harmless at any age but for one thing: a duplicate of an old acquire that the network
    /// or the server has delayed for longer than the age may be granted the lease. No candidate
    /// learns of that grant, so none leads until its TTL is over. With an age of an hour or more, a
    /// delay that long needs a server that was stopped while it held the request. Two leaders, or a
    /// token that does not rise, are not possible: the next token is above all that were deleted.
    /// `docs/old-records.md` says why.
    ///
    /// It works in small steps with pauses between, so that other requests do not wait for it; a
    /// large store takes minutes. It may be given up at any time, and costs no connection; what was
    /// deleted until then stays deleted. Elections that begin or end meanwhile may be left for the
    /// next time.
    ///
    /// # Errors
    /// If a step fails: how many records were deleted is not known then. By default, as
    /// [`Unsupported`](StoreErrorKind::Unsupported).
    fn purge(&self, age: Duration) -> impl Future<Output = Result<u64, StoreError>> + Send {
        let _ = age;
        std::future::ready(Err(StoreError::no_purge(self.traits().name)))
    }

    /// The elections of this store's prefix, table or file that have a record: those that have or
    /// had a leader, and were not [purged](Self::purge). Kubernetes, buckets and other stores over
    /// `Cas` also have those that a candidate has only asked about. For people and tools, as no
    /// candidate needs it. It works in small steps like a purge, so elections that begin or end
    /// meanwhile may be missing.
    ///
    /// # Errors
    /// If a step fails. By default, as [`Unsupported`](StoreErrorKind::Unsupported).
    fn keys(&self) -> impl Future<Output = Result<BTreeSet<Key>, StoreError>> + Send {
        std::future::ready(Err(StoreError::no_keys(self.traits().name)))
    }

    /// The messages to that tenure alone, in the order in which they were sent, each at most once.
    /// Messages that are sent soon after the first poll of the stream may be missed. A store
    /// without messages never yields.
    fn messages(&self, key: &Key, token: Token) -> impl Stream<Item = Message> + Send + 'static {
        let _ = (key, token);
        futures_util::stream::pending()
    }

    /// Hints: elections among those that are `watched` whose lease may have become vacant, or whose
    /// leader is wished to hand over. Each wakes the candidates that wait for that lease. A store
    /// without hints is polled.
    ///
    /// An election is hinted when its lease was released, when a wish was noted, and once after
    /// each (re)subscription to it: what came before that may have been missed. Hints are
    /// unreliable: late, lost, repeated or wrong ones cost time, and no promise. A driver polls one
    /// stream for all its elections, from within the runtime; the stream may end once
    /// [`Watched::changed`] returns `None`.
    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        let _ = watched;
        futures_util::stream::pending()
    }
}

/// Carries out each request by a call of its own.
async fn each_alone<S: Store + ?Sized>(
    store: &S,
    requests: Vec<(Key, Request)>,
) -> Vec<Result<Reply, StoreError>> {
    let calls =
        requests.into_iter().map(|(key, request)| async move { store.call(&key, request).await });
    futures_util::future::join_all(calls).await
}

/// True if a store may carry these out together.
#[cfg(any(feature = "etcd", all(feature = "sqlite", target_os = "linux")))]
fn are_renewals(requests: &[(Key, Request)]) -> bool {
    requests.iter().all(|(_, request)| matches!(request, Request::Renew { .. }))
}
