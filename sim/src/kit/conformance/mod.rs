//! Does a store keep the store contract? One test for each row of the contract, for any
//! implementation of [`tenure::store::Store`].
//!
//! ```
//! use tenure::store::Memory;
//! use tenure_sim::conformance::Harness;
//!
//! /// Makes a fresh store, and connections to it.
//! struct InMemory(Memory);
//!
//! impl Harness for InMemory {
//!     type Store = Memory;
//!     async fn connect(&self) -> Memory { self.0.clone() }
//! }
//!
//! tenure_sim::conformance!(memory, InMemory(Memory::new()));
//! ```
//!
//! The macro makes a module `memory` with a `#[test]` for each [`Row`]. Each test makes its own
//! harness, and the tests run at the same time. A row is skipped, with a line on standard error, if
//! the store declares that it does not keep it ([`StoreTraits`]), or if it needs an action that the
//! harness does not support.
//!
//! Skipped rows are listed in the output of `cargo test`, whether tests pass or not;
//! `cargo nextest` hides them. [`Harness::skipped_rows`] states which they are, so that no other
//! row is skipped unnoticed.
//!
//! A store compares what a candidate says that it has watched, and does not wait. So the rows say
//! so, and do not wait either, except for a purge, which watches by itself, and for servers that
//! end leases by themselves.
//!
//! Not guaranteed: that a store which passes keeps its promises when its server fails in ways that
//! the harness does not support. The tests see answers, not the data that a server has written.
//!
//! [`StoreTraits`]: tenure::store::StoreTraits

mod broken;
mod probe;
mod row;
mod rows;

use std::future::Future;
use std::io::Write;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tenure::store::{AnyStore, HistoryKind, Promise, Store, StoreTraits, TokenKind};

pub use broken::Broken;
use probe::Probe;
pub use row::Row;

/// The state of the data after a server is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// All acknowledged data is kept.
    Kept,
    /// All data is lost.
    Lost,
}

/// A change of a store's data without a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// The elections' records are lost.
    RecordsLost,
    /// The data moves to another server, which may have lost grants.
    OtherServer,
    /// The store's record of its own past is lost.
    PastLost,
    /// All data is lost.
    AllLost,
}

impl Mishap {
    /// All mishaps.
    pub const ALL: [Self; 4] =
        [Self::RecordsLost, Self::OtherServer, Self::PastLost, Self::AllLost];
}

/// The harness does not support an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported;

/// The tests' access to a user's store. A value of it is one store that only this test uses.
pub trait Harness: Send + Sync {
    /// The type of connections.
    type Store: Store;

    /// Another connection to the same store.
    fn connect(&self) -> impl Future<Output = Self::Store> + Send;

    /// Replaces the server by another one, which breaks the connections to the old one. A store
    /// that can't lose data without losing every candidate keeps this default.
    ///
    /// # Errors
    /// If the harness does not support that: the rows that need it are skipped.
    fn restart(&self, data: Data) -> impl Future<Output = Result<(), Unsupported>> + Send {
        let _ = data;
        async { Err(Unsupported) }
    }

    /// Changes the store's data in that way, at once. [`Row::Differential`] omits the mishaps that
    /// the harness does not support.
    ///
    /// # Errors
    /// If the harness does not support that.
    fn suffer(&self, mishap: Mishap) -> impl Future<Output = Result<(), Unsupported>> + Send {
        let _ = mishap;
        async { Err(Unsupported) }
    }

    /// From the call with `true` to the call with `false` no answer arrives in time: the server is
    /// paused, or its answers are held back. It may carry out requests meanwhile, or later.
    /// Connections stay open.
    ///
    /// [`Row::SlowServer`] waits [`SLOW`] for each answer, so it tests a store's own timeouts only
    /// if they are shorter.
    ///
    /// # Errors
    /// If the harness does not support that: the row is skipped.
    fn slow(&self, is_slow: bool) -> impl Future<Output = Result<(), Unsupported>> + Send {
        let _ = is_slow;
        async { Err(Unsupported) }
    }

    /// True if the store trusts a server without any grants to have lost nothing. Such a store does
    /// not promise that its past is watched after a loss, and the rows about it are skipped.
    fn trusts_an_empty_store(&self) -> bool {
        false
    }

    /// The rows that are skipped with this harness. [`check`] then fails if another row is skipped,
    /// or if one of these is not, so that a row which is no longer tested is noticed. Default:
    /// whatever is skipped is only listed.
    fn skipped_rows(&self) -> Option<&[Row]> {
        None
    }

    /// Lets at least that time pass at the store. For a real server this is a sleep.
    fn wait(&self, time: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(time)
    }
}

/// A harness whose type is erased: the rows are large, and a program of tests has many harnesses.
trait Reach: Send + Sync {
    fn connect(&self) -> BoxFuture<'_, AnyStore>;
    fn restart(&self, data: Data) -> BoxFuture<'_, Result<(), Unsupported>>;
    fn suffer(&self, mishap: Mishap) -> BoxFuture<'_, Result<(), Unsupported>>;
    fn slow(&self, is_slow: bool) -> BoxFuture<'_, Result<(), Unsupported>>;
    fn trusts_an_empty_store(&self) -> bool;
    fn wait(&self, time: Duration) -> BoxFuture<'_, ()>;
}

impl<H: Harness> Reach for H {
    fn connect(&self) -> BoxFuture<'_, AnyStore> {
        Box::pin(async { AnyStore::new(Harness::connect(self).await) })
    }

    fn restart(&self, data: Data) -> BoxFuture<'_, Result<(), Unsupported>> {
        Box::pin(Harness::restart(self, data))
    }

    fn suffer(&self, mishap: Mishap) -> BoxFuture<'_, Result<(), Unsupported>> {
        Box::pin(Harness::suffer(self, mishap))
    }

    fn slow(&self, is_slow: bool) -> BoxFuture<'_, Result<(), Unsupported>> {
        Box::pin(Harness::slow(self, is_slow))
    }

    fn trusts_an_empty_store(&self) -> bool {
        Harness::trusts_an_empty_store(self)
    }

    fn wait(&self, time: Duration) -> BoxFuture<'_, ()> {
        Box::pin(Harness::wait(self, time))
    }
}

/// The outcome of a row, unless the store violates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The store keeps the row.
    Held,
    /// The row was not carried out.
    Skipped {
        /// The reason.
        why: &'static str,
    },
}

/// The time for which the server is slow in [`Row::SlowServer`].
pub const SLOW: Duration = Duration::from_secs(5);

/// The longest that a row may take: that of random requests sends hundreds, also on a busy machine.
const BOUND: Duration = Duration::from_secs(180);

/// Tests one row.
///
/// # Errors
/// If the store violates it: a description, and all requests and answers.
pub async fn carry_out<H: Harness>(row: Row, harness: &H) -> Result<Outcome, Broken> {
    carry_out_erased(row, harness).await
}

/// Compiled once for all stores.
async fn carry_out_erased(row: Row, harness: &dyn Reach) -> Result<Outcome, Broken> {
    let mut probe = Probe::new(row, harness).await;
    let trusts = row.is_about_the_past() && harness.trusts_an_empty_store();
    let trusts = trusts.then_some("the harness declares that an empty store is trusted");
    if let Some(why) = trusts.or_else(|| declared(row, &probe.traits)) {
        return Ok(Outcome::Skipped { why });
    }
    let test = async {
        if !row.is_about_the_past() && row != Row::Differential {
            probe.settle().await?;
        }
        row.carry_out(&mut probe).await
    };
    match tokio::time::timeout(BOUND, test).await {
        Ok(Ok(())) => Ok(Outcome::Held),
        Ok(Err(rows::Stop::Skipped(why))) => Ok(Outcome::Skipped { why }),
        Ok(Err(rows::Stop::Broken(what))) => Err(probe.broken(what)),
        Err(_) => {
            Err(probe.broken(format!("not over within {BOUND:?}: a request may have no answer")))
        }
    }
}

/// The reason why a store need not keep a row, from its declaration.
fn declared(row: Row, traits: &StoreTraits) -> Option<&'static str> {
    let gives_up = |promise| traits.gives_up.contains(&promise);
    if row.is_about_hints() && (!traits.push || gives_up(Promise::PromptHandover)) {
        Some("the store declares no wake-ups")
    } else if row.is_about_messages() && !traits.messages {
        Some("the store declares no messages")
    } else if row.is_about_the_past() && traits.history == HistoryKind::SharesFate {
        Some("the store declares that it shares its candidates' fate")
    } else if row.is_about_the_past() && gives_up(Promise::StoreLoss) {
        Some("the store declares that it gives up G6")
    } else if row.is_about_a_shared_past() && traits.past_per_election {
        Some("the store declares that each election has a past of its own")
    } else if row == Row::Restart && traits.history == HistoryKind::Durable {
        Some("the store declares that a restart loses nothing")
    } else if row.is_about_marks() && traits.ends_leases {
        Some("the store declares that its server ends leases")
    } else if row == Row::LeastTtl && !traits.ends_leases {
        Some("the store declares that its server ends no leases")
    } else if row.is_about_wall_clock() && traits.tokens != TokenKind::WallClockFloor {
        Some("the store declares tokens that no clock floors")
    } else if row.is_about_tokens() && gives_up(Promise::Fencing) {
        Some("the store declares that it gives up G3")
    } else {
        None
    }
}

/// Tests one row in a runtime of its own: the body of one `#[test]`.
///
/// # Panics
/// If the store violates it, or if the row is skipped against [`Harness::skipped_rows`], or should
/// have been.
pub fn check<H: Harness>(row: Row, harness: impl FnOnce() -> H) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("no runtime: {error}"));
    let harness = {
        // The harness may need the runtime.
        let _within = runtime.enter();
        harness()
    };
    let may_be_skipped = harness.skipped_rows().map(|rows| rows.contains(&row));
    match (runtime.block_on(carry_out(row, &harness)), may_be_skipped) {
        (Ok(Outcome::Held), None | Some(false)) => {}
        (Ok(Outcome::Skipped { why }), None | Some(true)) => report_skipped(row, why),
        (Ok(Outcome::Held), Some(true)) => {
            panic!("{row:?} is not skipped: take it out of skipped_rows")
        }
        (Ok(Outcome::Skipped { why }), Some(false)) => {
            panic!("{row:?} is skipped, and not among skipped_rows: {why}")
        }
        (Err(broken), _) => panic!("{broken}"),
    }
}

/// Writes to standard error directly: the output of `eprintln!` is captured, and not shown for a
/// test that passes.
fn report_skipped(row: Row, why: &str) {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    // If writing to standard error fails, there is no reader.
    let _ = writeln!(std::io::stderr(), "{test}: the row {row} was skipped: {why}");
}
