//! Servers of a test's own, of whatever kind: one type for all, since each type costs the whole
//! suite over again in the compiler.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::Stream;
use tenure::Token;
use tenure::store::{
    AnyStore, Key, Message, Reply, Request, Store, StoreError, StoreTraits, Watched,
};
use tenure_sim::conformance::{Data, Harness, Mishap, Row, Unsupported};

type Connect = Box<dyn Fn() -> AnyStore + Send + Sync>;
type Act<T> = Box<dyn Fn(T) -> Result<(), Unsupported> + Send + Sync>;

/// Servers that the suite runs on.
pub(crate) struct Place {
    connect: Connect,
    replace: Act<Data>,
    suffer: Act<Mishap>,
    slow: Act<bool>,
    trusts: bool,
    skips: Vec<Row>,
}

/// The builder of a [`Place`].
pub(crate) struct Building<S> {
    servers: Arc<Mutex<S>>,
    place: Place,
}

impl Place {
    /// Servers, and how to connect to them.
    pub(crate) fn of<S: Send + 'static, T: Store>(
        servers: S,
        connect: impl Fn(&S) -> T + Send + Sync + 'static,
    ) -> Building<S> {
        let servers = Arc::new(Mutex::new(servers));
        let same = Arc::clone(&servers);
        let place = Self {
            connect: Box::new(move || AnyStore::new(connect(&whole(&same)))),
            replace: Box::new(|_| Err(Unsupported)),
            suffer: Box::new(|_| Err(Unsupported)),
            slow: Box::new(|_| Err(Unsupported)),
            trusts: false,
            // About servers that end leases.
            skips: vec![Row::LeastTtl],
        };
        Building { servers, place }
    }

    /// The same, where each request is the first one of its connection.
    pub(crate) fn cold(mut self) -> Self {
        let connect = Arc::new(self.connect);
        self.connect = Box::new(move || {
            let connect = Arc::clone(&connect);
            AnyStore::new(Cold { own: connect(), connect: Box::new(move || connect()) })
        });
        self
    }
}

/// A store that connects for each request.
struct Cold {
    own: AnyStore,
    connect: Connect,
}

impl Store for Cold {
    fn traits(&self) -> StoreTraits {
        self.own.traits()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        (self.connect)().call(key, request).await
    }

    fn connect_error(&self) -> Option<StoreError> {
        self.own.connect_error()
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        self.own.hints(watched)
    }

    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        (self.connect)().purge(age).await
    }

    async fn keys(&self) -> Result<BTreeSet<Key>, StoreError> {
        (self.connect)().keys().await
    }

    fn messages(&self, key: &Key, token: Token) -> impl Stream<Item = Message> + Send + 'static {
        self.own.messages(key, token)
    }
}

impl<S: Send + 'static> Building<S> {
    /// They can be replaced.
    pub(crate) fn replaced(
        mut self,
        replace: impl Fn(&mut S, Data) + Send + Sync + 'static,
    ) -> Self {
        let servers = Arc::clone(&self.servers);
        self.place.replace = Box::new(move |data| {
            replace(&mut whole(&servers), data);
            Ok(())
        });
        self
    }

    /// Their data can be changed by hand, by these mishaps.
    pub(crate) fn suffering(
        mut self,
        known: &'static [Mishap],
        suffer: impl Fn(&mut S, Mishap) + Send + Sync + 'static,
    ) -> Self {
        let servers = Arc::clone(&self.servers);
        self.place.suffer = Box::new(move |mishap| {
            let known = known.contains(&mishap).then_some(()).ok_or(Unsupported);
            known.map(|()| suffer(&mut whole(&servers), mishap))
        });
        self
    }

    /// They can be paused and resumed.
    pub(crate) fn slowed(mut self, slow: impl Fn(&mut S, bool) + Send + Sync + 'static) -> Self {
        let servers = Arc::clone(&self.servers);
        self.place.slow = Box::new(move |is_slow| {
            slow(&mut whole(&servers), is_slow);
            Ok(())
        });
        self
    }

    /// The stores trust empty servers.
    pub(crate) fn trusting(mut self) -> Self {
        self.place.trusts = true;
        self
    }

    /// These rows say nothing about the stores, or need what can't be done to the servers.
    pub(crate) fn skipping(mut self, rows: &[Row]) -> Self {
        self.place.skips = rows.to_vec();
        self
    }

    pub(crate) fn place(self) -> Place {
        self.place
    }
}

fn whole<S>(servers: &Mutex<S>) -> MutexGuard<'_, S> {
    servers.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Harness for Place {
    type Store = AnyStore;

    async fn connect(&self) -> AnyStore {
        (self.connect)()
    }

    async fn restart(&self, data: Data) -> Result<(), Unsupported> {
        (self.replace)(data)
    }

    async fn suffer(&self, mishap: Mishap) -> Result<(), Unsupported> {
        (self.suffer)(mishap)
    }

    async fn slow(&self, is_slow: bool) -> Result<(), Unsupported> {
        (self.slow)(is_slow)
    }

    fn trusts_an_empty_store(&self) -> bool {
        self.trusts
    }

    fn skipped_rows(&self) -> Option<&[Row]> {
        Some(&self.skips)
    }
}
