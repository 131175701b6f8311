//! A store whose type is chosen at run time.
//!
//! Its code may panic: it has bugs, and a library that it uses logs to the application's
//! subscriber, which may panic too. In a driver such a panic would end all elections, so a panic of
//! a call is a request whose outcome is unknown, and one of a stream ends the stream.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};

use super::{
    Key, Message, PurgeAge, Reply, Request, Store, StoreError, StoreErrorKind, StoreTraits, Watched,
};
use crate::Token;
use crate::logging::{self, LIFE};

/// Any [`Store`], its type erased. A clone is the same store.
#[derive(Clone)]
pub struct AnyStore {
    store: Arc<dyn ErasedStore>,
    purges: Option<PurgeAge>,
}

impl AnyStore {
    /// Erases a store's type. A store whose type is erased already stays as it is, with what it was
    /// asked to [purge](Self::purging).
    pub fn new(store: impl Store) -> Self {
        match (&store as &dyn Any).downcast_ref::<Self>() {
            Some(erased) => erased.clone(),
            None => Self { store: Arc::new(store), purges: None },
        }
    }

    /// The same store, whose drivers [purge](Store::purge) it: about once an hour, for as long as a
    /// driver runs, the records are deleted of elections that ended longer ago than that age. The
    /// first time is a random part of an hour after the start, so that short-lived processes do it
    /// too, now and then. Many processes may do it at the same store. The log says how many records
    /// were deleted (DEBUG), and why it failed (WARN).
    ///
    /// ```
    /// use tenure::store::{AnyStore, Memory};
    ///
    /// let store = AnyStore::new(Memory::new()).purging("30d".parse()?);
    /// // The same by a URL.
    /// let store = AnyStore::from_url("memory:?purge=30d")?;
    /// # drop(store);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn purging(mut self, age: PurgeAge) -> Self {
        self.purges = Some(age);
        self
    }

    /// The store behind it, if it is of that type: for a program that asks a store more than
    /// elections need.
    pub fn downcast_ref<S: Store>(&self) -> Option<&S> {
        self.store.as_any().downcast_ref()
    }

    /// The age at which its drivers [purge](Self::purging) it, if they do.
    #[doc(hidden)]
    pub fn purges(&self) -> Option<PurgeAge> {
        self.purges
    }

    /// Like [`Store::purge`], as a future that borrows nothing.
    pub(crate) fn purge_owned(&self, age: Duration) -> BoxFuture<'static, Result<u64, StoreError>> {
        let store = Arc::clone(&self.store);
        async move { store.purge(age).await }.boxed()
    }

    /// Like [`Store::call_all`], as a future that borrows nothing.
    pub(crate) fn call_all_owned(
        &self,
        requests: Vec<(Key, Request)>,
    ) -> BoxFuture<'static, Vec<Result<Reply, StoreError>>> {
        let store = Arc::clone(&self.store);
        async move { store.call_all(requests).await }.boxed()
    }

    /// Like [`Store::call`], as a future that borrows nothing.
    pub(crate) fn call_owned(
        &self,
        key: Key,
        request: Request,
    ) -> BoxFuture<'static, Result<Reply, StoreError>> {
        let store = Arc::clone(&self.store);
        async move { store.call(&key, request).await }.boxed()
    }
}

impl fmt::Debug for AnyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyStore").field(&self.store.traits().name).finish()
    }
}

impl Store for AnyStore {
    fn traits(&self) -> StoreTraits {
        self.store.traits()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        self.store.call(key, request).await
    }

    async fn call_all(&self, requests: Vec<(Key, Request)>) -> Vec<Result<Reply, StoreError>> {
        self.store.call_all(requests).await
    }

    fn connect_error(&self) -> Option<StoreError> {
        self.store.connect_error()
    }

    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        self.store.purge(age).await
    }

    async fn keys(&self) -> Result<BTreeSet<Key>, StoreError> {
        self.store.keys().await
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        self.store.hints(watched)
    }

    fn messages(&self, key: &Key, token: Token) -> impl Stream<Item = Message> + Send + 'static {
        self.store.messages(key, token)
    }
}

trait ErasedStore: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn traits(&self) -> StoreTraits;
    fn call<'a>(
        &'a self,
        key: &'a Key,
        request: Request,
    ) -> BoxFuture<'a, Result<Reply, StoreError>>;
    fn call_all(
        &self,
        requests: Vec<(Key, Request)>,
    ) -> BoxFuture<'_, Vec<Result<Reply, StoreError>>>;
    fn connect_error(&self) -> Option<StoreError>;
    fn purge(&self, age: Duration) -> BoxFuture<'_, Result<u64, StoreError>>;
    fn keys(&self) -> BoxFuture<'_, Result<BTreeSet<Key>, StoreError>>;
    fn hints(&self, watched: Watched) -> BoxStream<'static, Key>;
    fn messages(&self, key: &Key, token: Token) -> BoxStream<'static, Message>;
}

impl<S: Store> ErasedStore for S {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn traits(&self) -> StoreTraits {
        Store::traits(self)
    }

    fn call<'a>(
        &'a self,
        key: &'a Key,
        request: Request,
    ) -> BoxFuture<'a, Result<Reply, StoreError>> {
        caught(async move { Store::call(self, key, request).await }, Err)
    }

    fn call_all(
        &self,
        requests: Vec<(Key, Request)>,
    ) -> BoxFuture<'_, Vec<Result<Reply, StoreError>>> {
        let count = requests.len();
        caught(async move { Store::call_all(self, requests).await }, move |error| {
            std::iter::repeat_with(|| Err(error.clone())).take(count).collect()
        })
    }

    fn connect_error(&self) -> Option<StoreError> {
        Store::connect_error(self)
    }

    fn purge(&self, age: Duration) -> BoxFuture<'_, Result<u64, StoreError>> {
        caught(async move { Store::purge(self, age).await }, Err)
    }

    fn keys(&self) -> BoxFuture<'_, Result<BTreeSet<Key>, StoreError>> {
        Store::keys(self).boxed()
    }

    fn hints(&self, watched: Watched) -> BoxStream<'static, Key> {
        until_panic(|| Store::hints(self, watched))
    }

    fn messages(&self, key: &Key, token: Token) -> BoxStream<'static, Message> {
        until_panic(|| Store::messages(self, key, token))
    }
}

/// The result of a call, or what its panic becomes. The call is dropped then.
fn caught<'a, T: 'a>(
    call: impl Future<Output = T> + Send + 'a,
    failed: impl FnOnce(StoreError) -> T + Send + 'a,
) -> BoxFuture<'a, T> {
    let result = AssertUnwindSafe(call).catch_unwind();
    let result = result.map(|result| {
        result.unwrap_or_else(|panic| {
            let why = format!("the store's code panicked: {}", reported(&*panic));
            failed(StoreError::new(StoreErrorKind::Disconnected, why))
        })
    });
    result.boxed()
}

/// A stream that ends with the first panic of its code.
fn until_panic<S: Stream<Item: Send> + Send + 'static>(
    begin: impl FnOnce() -> S,
) -> BoxStream<'static, S::Item> {
    let or_none = |panic: Box<dyn Any + Send>| _ = reported(&*panic);
    let Ok(stream) = catch_unwind(AssertUnwindSafe(begin)).map_err(or_none) else {
        return stream::empty().boxed();
    };
    let items = AssertUnwindSafe(stream).catch_unwind();
    items.filter_map(move |item| ready(item.map_err(or_none).ok())).boxed()
}

/// Reports a panic, and gives its message.
fn reported(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    // Its text may quote a password: an error masks it.
    logging::error!(target: LIFE, "the store's code panicked, or the log's subscriber within it");
    text
}
