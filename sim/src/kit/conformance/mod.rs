//! One test for each row of the store contract, for any implementation of [`tenure::store::Store`].
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
//! That makes a module `memory` with a `#[test]` for each [`Row`]. The harness is made anew for each of
//! them, and they run at the same time. Rows that the store declares not to keep ([`StoreTraits`]), or that
//! the harness can't bring about, are skipped, and say so on standard error.
//!
//! What is skipped is listed in the output of `cargo test`, whether tests pass or not.
//!
//! Where time must go by, leases are as short as the store declares that it can keep them. Nothing is
//! asserted about how fast a store is: a lease that must be live is a minute long.
//!
//! Not guaranteed: that a store which passes keeps its promises when its server fails in ways that the
//! harness does not know. The tests see answers, not what a server has written.
//!
//! [`StoreTraits`]: tenure::store::StoreTraits

mod broken;
mod probe;
mod row;
mod rows;

use std::future::Future;
use std::io::Write;
use std::time::Duration;

use tenure::store::{HistoryKind, Promise, Store, StoreTraits, TokenKind};

pub use broken::Broken;
use probe::Probe;
pub use row::{Row, UnknownRow};

/// What becomes of the data when a server is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// All that was acknowledged is there.
    Kept,
    /// All of it is gone.
    Lost,
}

/// What happens to a store's data by no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// Every lease runs out.
    LeasesEnd,
    /// So much time goes by that every quarantine is over.
    LongTime,
    /// The data is now another server's, which may have lost grants.
    OtherServer,
    /// What the store knows of its own history is gone.
    HistoryLost,
    /// All that it has kept is gone.
    AllLost,
}

impl Mishap {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::LeasesEnd, Self::LongTime, Self::OtherServer, Self::HistoryLost, Self::AllLost];

    /// Whether the server is not the one any more, by what its data says, that the history names.
    pub(crate) const fn is_about_the_server(self) -> bool {
        match self {
            Self::LeasesEnd | Self::LongTime => false,
            Self::OtherServer | Self::HistoryLost | Self::AllLost => true,
        }
    }
}

/// The harness can't do that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported;

/// A store of the user's, as the tests get at it. A value of it is one store that nobody else uses.
pub trait Harness: Send + Sync {
    /// What connects to it.
    type Store: Store;

    /// Another connection to the same store.
    fn connect(&self) -> impl Future<Output = Self::Store> + Send;

    /// Puts another server in the place of the present one, which is gone for good: connections to it are
    /// broken. A store that can't lose data without losing every candidate leaves it at this default.
    ///
    /// # Errors
    /// If the harness can't do that: the rows that need it are skipped.
    fn restart(&self, data: Data) -> impl Future<Output = Result<(), Unsupported>> + Send {
        let _ = data;
        async { Err(Unsupported) }
    }

    /// Does that to the store's data, by hand and at once. The random requests of
    /// [`Row::Differential`] meet none of those that the harness leaves out.
    ///
    /// # Errors
    /// If the harness can't do that.
    fn suffer(&self, mishap: Mishap) -> impl Future<Output = Result<(), Unsupported>> + Send {
        let _ = mishap;
        async { Err(Unsupported) }
    }

    /// From now on, or until `false` says that it is over, no answer comes in time: the server is stopped, or what
    /// it says is held back. What reaches it meanwhile it may carry out, then or later. Connections stay open.
    ///
    /// [`Row::SlowServer`] waits [`SLOW`] for each answer, so a store's own timeouts must be shorter to be
    /// tested by it.
    ///
    /// # Errors
    /// If the harness can't do that: the row is skipped.
    fn slow(&self, is_slow: bool) -> impl Future<Output = Result<(), Unsupported>> + Send {
        let _ = is_slow;
        async { Err(Unsupported) }
    }

    /// Whether the store takes a server without any grants for one that has lost nothing. The rows about
    /// the wait after a loss then ask for what such a store does not promise, and are skipped.
    fn trusts_an_empty_store(&self) -> bool {
        false
    }

    /// Lets at least so much time go by at the store. Real servers leave no choice but to wait.
    fn wait(&self, time: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(time)
    }
}

/// How a row ended, if the store keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The store keeps it.
    Held,
    /// It was not looked at.
    Skipped {
        /// Why.
        why: &'static str,
    },
}

/// How long the server is slow for in [`Row::SlowServer`].
pub const SLOW: Duration = Duration::from_secs(5);

/// The longest that a row may take.
const BOUND: Duration = Duration::from_secs(60);

/// Carries out one row.
///
/// # Errors
/// If the store does not keep it: what is wrong, and all that was asked and answered.
pub async fn carry_out<H: Harness>(row: Row, harness: &H) -> Result<Outcome, Broken> {
    let mut probe = Probe::new(row, harness).await;
    let trusts = row.is_about_quarantine() && harness.trusts_an_empty_store();
    let trusts = trusts.then_some("the harness says that an empty store is trusted");
    if let Some(why) = trusts.or_else(|| declared(row, &probe.traits)) {
        return Ok(Outcome::Skipped { why });
    }
    match tokio::time::timeout(BOUND, row.carry_out(&mut probe)).await {
        Ok(Ok(())) => Ok(Outcome::Held),
        Ok(Err(rows::Stop::Skipped(why))) => Ok(Outcome::Skipped { why }),
        Ok(Err(rows::Stop::Broken(what))) => Err(probe.broken(what)),
        Err(_) => Err(probe.broken(format!("a request was not answered within {BOUND:?}"))),
    }
}

/// Why a store need not keep a row, by its own declaration.
fn declared(row: Row, traits: &StoreTraits) -> Option<&'static str> {
    let gives_up = |promise| traits.gives_up.contains(&promise);
    if row.is_about_hints() && (!traits.push || gives_up(Promise::PromptHandover)) {
        Some("the store declares no wake-ups")
    } else if row.is_about_messages() && !traits.messages {
        Some("the store declares no messages")
    } else if row.is_about_quarantine() && traits.history == HistoryKind::SharesFate {
        Some("the store declares that it shares its candidates' fate")
    } else if row.is_about_quarantine() && gives_up(Promise::StoreLoss) {
        Some("the store declares that it gives up G6")
    } else if row == Row::Restart && traits.history == HistoryKind::Durable {
        Some("the store declares that a restart loses nothing")
    } else if row.is_about_settings() && !traits.refuses_contradictions {
        Some("the store declares that it compares no settings")
    } else if row == Row::RenewalBegins && !traits.renewals_begin_history {
        Some("the store declares that its renewals begin no history")
    } else if row.is_about_wall_clock() && traits.tokens != TokenKind::WallClockFloor {
        Some("the store declares tokens that no clock floors")
    } else if row.is_about_tokens() && gives_up(Promise::Fencing) {
        Some("the store declares that it gives up G3")
    } else {
        None
    }
}

/// Carries out one row in a runtime of its own: the body of one `#[test]`.
///
/// # Panics
/// If the store does not keep it.
pub fn check<H: Harness>(row: Row, harness: impl FnOnce() -> H) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("no runtime: {error}"));
    let harness = {
        // It may need the runtime.
        let _within = runtime.enter();
        harness()
    };
    match runtime.block_on(carry_out(row, &harness)) {
        Ok(Outcome::Held) => {}
        Ok(Outcome::Skipped { why }) => told_as_skipped(row, why),
        Err(broken) => panic!("{broken}"),
    }
}

/// Not by `eprintln!`: what a test that passes prints is not shown.
fn told_as_skipped(row: Row, why: &str) {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    // Nobody reads it if that fails.
    let _ = writeln!(std::io::stderr(), "{test}: the row {row} was skipped: {why}");
}
