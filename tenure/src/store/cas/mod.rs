//! Any store that can compare and swap a value: the second, easy way to a store of your own.
//!
//! [`Cas`] says what a backend has to do: read a value, and replace it if nothing else has replaced
//! it meanwhile. [`CasStore`] makes a [`Store`](super::Store) of it: it reads the election's value,
//! lets [`contract::apply`](super::contract::apply) decide, and swaps the value for the new one; if
//! that was replaced meanwhile, it begins again. `docs/stores/writing-your-own.md` has an example.

mod election;
mod patience;
mod store;

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;

use super::{Key, StoreError, StoreTraits, Watched};

#[doc(hidden)]
pub use election::{Election, Tenant};
pub use store::CasStore;
#[cfg(any(feature = "mysql", feature = "objects"))]
pub(super) use store::fresh;
#[cfg(feature = "mysql")]
pub(super) use store::now;

/// A backend that keeps values, and can compare and swap each.
///
/// - **A read is linearizable**: it shows every swap that was done before it began.
/// - **A swap is one step**: of several that are sent at once for the same version, one is done. A
///   server that compares in one step and writes in another has two leaders; [`name`](Self::name)
///   finds it out.
/// - **A version never occurs twice** at one key, not even after a loss of data or after the value
///   was deleted: the server draws it anew with each swap, such as a random number. A counter that
///   a restored backup continues from an older number is none. Nor is the value itself or a digest
///   of it: after a loss, late duplicates of the swaps that began an election write the same values
///   again, and a candidate that has watched their past is granted the lease at once, while another
///   leads. The value may be a part of the version only if each swap also compares an identity that
///   the server draws for each value that is created.
/// - An error means *unknown*: a swap may or may not have been done, or may be done later. Nothing
///   is retried.
pub trait Cas: Send + Sync + 'static {
    /// Names one writing of one value.
    type Version: Clone + PartialEq + Send + Sync + 'static;

    /// True if all elections share one past, so that a new one need not wait where others have
    /// waited already. Each value has that past then, also that of an election that has none of its
    /// own, so that [`get`](Self::get) always finds one. A swap compares the past and the server
    /// that keeps it in the same step as the election, and replaces it if the value has another
    /// one. Default: each election has a past of its own.
    const SHARES_PAST: bool = false;

    /// The kind of this store. [`CasStore`] sets how many round trips a request takes.
    fn traits(&self) -> StoreTraits;

    /// The value of an election, or `None` if it has none.
    ///
    /// # Errors
    /// If it is not known.
    fn get(
        &self,
        key: &Key,
    ) -> impl Future<Output = Result<Option<Versioned<Self::Version>>, StoreError>> + Send;

    /// Replaces the value if it still has that version, or creates it if there is none and
    /// `version` is `None`. One atomic step.
    ///
    /// # Errors
    /// If it is not known whether the value was replaced.
    fn swap(
        &self,
        key: &Key,
        version: Option<&Self::Version>,
        value: Bytes,
    ) -> impl Future<Output = Result<Swapped<Self::Version>, StoreError>> + Send;

    /// Does what the first swap would have to wait for. Called before each look of a waiting
    /// candidate, which may be about to take a lease over. Default: nothing.
    ///
    /// # Errors
    /// If a swap would fail now.
    fn prepare(&self) -> impl Future<Output = Result<(), StoreError>> + Send {
        std::future::ready(Ok(()))
    }

    /// The history of the backend, as a version tells: another number whenever values may have been
    /// lost, such as an identity that the backend gives to each value that is created. Default: 0,
    /// a backend that can't tell.
    fn identity(version: &Self::Version) -> u128 {
        let _ = version;
        0
    }

    /// The time for which the [shared past](Self::SHARES_PAST) was watched, as the server told with
    /// a version. A swap need not compare it, so that candidates which watch at the same time do
    /// not wait for each other; then the value that was swapped may have a shorter one. Default:
    /// the value's.
    fn past_watched(version: &Self::Version) -> Option<Duration> {
        let _ = version;
        None
    }

    /// The name of a version, which the value that replaces it has. A process whose swap was done,
    /// and that finds another value which has replaced the same version, uses the store no more
    /// ([`Unsupported`](super::StoreErrorKind)), since two candidates may lead there. Needed where
    /// it is not known that a swap is one step. Default: none, so nothing is compared.
    fn name(version: &Self::Version) -> Option<String> {
        let _ = version;
        None
    }

    /// The elections that have a value, for [`Store::keys`](super::Store::keys). Default: refused
    /// as [`Unsupported`](super::StoreErrorKind).
    ///
    /// # Errors
    /// If they are not known.
    fn keys(&self) -> impl Future<Output = Result<BTreeSet<Key>, StoreError>> + Send {
        std::future::ready(Err(StoreError::no_keys(self.traits().name)))
    }

    /// Elections among those that are watched whose value may have changed, with the value if the
    /// backend tells it. An election is named once after each (re)subscription to it. Changes may
    /// be missed, repeated and late. A backend without such a stream sets [`StoreTraits::push`] to
    /// false. Default: nothing.
    fn watch(
        &self,
        watched: Watched,
    ) -> impl Stream<Item = Change<Self::Version>> + Send + 'static {
        let _ = watched;
        futures_util::stream::pending()
    }
}

/// A value as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned<V> {
    /// The swapped-in value.
    pub value: Bytes,
    /// Its version.
    pub version: V,
}

/// The outcome of a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swapped<V> {
    /// The value was replaced, and has this version now.
    Done(V),
    /// The value has another version, or none was there or one was there already. Nothing was
    /// changed.
    Conflict,
}

/// A value that may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<V> {
    /// Whose it is.
    pub key: Key,
    /// The value now; `None` if the backend does not tell it, or it was deleted. A request that
    /// begins with it, and not with a read, takes one round trip less.
    pub found: Option<Versioned<V>>,
}
