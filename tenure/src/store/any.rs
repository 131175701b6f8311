//! A store whose type is chosen at run time.

use std::fmt;
use std::sync::Arc;

use futures_core::Stream;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};

use super::{Key, Message, Reply, Request, Store, StoreError, StoreTraits, Watched};
use crate::Token;

/// Any [`Store`], its type erased. A clone is the same store.
#[derive(Clone)]
pub struct AnyStore(Arc<dyn ErasedStore>);

impl AnyStore {
    /// Erases a store's type.
    pub fn new(store: impl Store) -> Self {
        Self(Arc::new(store))
    }

    /// Like [`Store::call_all`], as a future that borrows nothing.
    pub(crate) fn call_all_owned(
        &self,
        requests: Vec<(Key, Request)>,
    ) -> BoxFuture<'static, Vec<Result<Reply, StoreError>>> {
        let store = Arc::clone(&self.0);
        async move { store.call_all(requests).await }.boxed()
    }

    /// Like [`Store::call`], as a future that borrows nothing.
    pub(crate) fn call_owned(
        &self,
        key: Key,
        request: Request,
    ) -> BoxFuture<'static, Result<Reply, StoreError>> {
        let store = Arc::clone(&self.0);
        async move { store.call(&key, request).await }.boxed()
    }
}

impl fmt::Debug for AnyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyStore").field(&self.0.traits().name).finish()
    }
}

impl Store for AnyStore {
    fn traits(&self) -> StoreTraits {
        self.0.traits()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        self.0.call(key, request).await
    }

    async fn call_all(&self, requests: Vec<(Key, Request)>) -> Vec<Result<Reply, StoreError>> {
        self.0.call_all(requests).await
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        self.0.hints(watched)
    }

    fn messages(&self, key: &Key, token: Token) -> impl Stream<Item = Message> + Send + 'static {
        self.0.messages(key, token)
    }
}

trait ErasedStore: Send + Sync {
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
    fn hints(&self, watched: Watched) -> BoxStream<'static, Key>;
    fn messages(&self, key: &Key, token: Token) -> BoxStream<'static, Message>;
}

impl<S: Store> ErasedStore for S {
    fn traits(&self) -> StoreTraits {
        Store::traits(self)
    }

    fn call<'a>(
        &'a self,
        key: &'a Key,
        request: Request,
    ) -> BoxFuture<'a, Result<Reply, StoreError>> {
        Store::call(self, key, request).boxed()
    }

    fn call_all(
        &self,
        requests: Vec<(Key, Request)>,
    ) -> BoxFuture<'_, Vec<Result<Reply, StoreError>>> {
        Store::call_all(self, requests).boxed()
    }

    fn hints(&self, watched: Watched) -> BoxStream<'static, Key> {
        Store::hints(self, watched).boxed()
    }

    fn messages(&self, key: &Key, token: Token) -> BoxStream<'static, Message> {
        Store::messages(self, key, token).boxed()
    }
}
