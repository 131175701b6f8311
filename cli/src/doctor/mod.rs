//! `tenure doctor`: what is wrong with the store, with the way to it, and with the settings.
//!
//! | part | what it does |
//! |---|---|
//! | `kind` | every kind of finding: what follows from it, and what to change |
//! | `report` | the findings of one run, and how they are printed |
//! | `requests` | every kind of request of candidates, on an election of its own |
//! | `settings`, `round_trips`, `clock` | what holds for every store |
//! | `redis`, `postgres`, `mysql`, `sqlite`, `kubernetes` | what a store of that kind says of itself |
//!
//! **Not guaranteed**: that a store without a finding works tomorrow, or for a user with other
//! rights. The checks use the candidates' own configuration: run the command as they run, on the
//! host that they run on.

mod clock;
mod errors;
mod kind;
#[cfg(feature = "kubernetes")]
mod kubernetes;
#[cfg(feature = "mysql")]
mod mysql;
mod options;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod report;
mod requests;
mod round_trips;
mod settings;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::time::Duration;

use tenure::Config;
use tenure::store::{AnyStore, Store};
use tokio::time::timeout;

use crate::exit::Failure;
use crate::guard::{Cgroup, protection};
use crate::place;
use kind::Kind;
pub(crate) use options::Doctor;
use report::Report;

/// The bound on the store's answers about itself.
const SAYS_WITHIN: Duration = Duration::from_secs(60);
/// The same of a store that has answered no request: why may be all that it says.
const SAYS_WITHIN_UNANSWERED: Duration = Duration::from_secs(10);

pub(crate) async fn doctor(options: &Doctor) -> Result<u8, Failure> {
    let mut report = Report::default();
    let store = place::store(&options.at)?;
    let config = settings::check(&options.at, &store, &mut report);
    before(&store, &config, &mut report);
    report.add(Kind::CommandEnds, protection(&Cgroup::create()));
    let seen = requests::check(&store, &mut report).await;
    round_trips::check(&seen.samples, &config, &mut report);
    // The others tell the time by the clock of this host.
    let ahead = seen.ahead.filter(|_| matches!(store.traits().name, "redis" | "postgres"));
    clock::check(ahead, &mut report);
    let within = if seen.answers { SAYS_WITHIN } else { SAYS_WITHIN_UNANSWERED };
    let looked = timeout(within, of_its_kind(options, &store, &mut report)).await;
    match looked {
        Ok(looked) => looked?,
        Err(_) if seen.answers => {
            let text = format!("what the store says of itself: not all of it within {within:?}");
            report.add(Kind::NoAnswer, text);
        }
        // The report says already that it does not answer.
        Err(_) => {}
    }
    let status = report.status();
    report.print(store.traits().name, options.json)?;
    Ok(status)
}

/// The checks without a connection.
#[cfg_attr(
    not(all(
        feature = "redis",
        feature = "postgres",
        feature = "sqlite",
        feature = "kubernetes",
        feature = "mysql"
    )),
    allow(unused_variables, reason = "each store uses some of them")
)]
fn before(store: &AnyStore, config: &Config, report: &mut Report) {
    #[cfg(feature = "redis")]
    if let Some(redis) = store.downcast_ref::<tenure::store::redis::Redis>() {
        redis::check_configuration(redis, config, report);
    }
    #[cfg(feature = "postgres")]
    if let Some(postgres) = store.downcast_ref::<tenure::store::postgres::Postgres>() {
        postgres::check_configuration(postgres, report);
    }
    #[cfg(feature = "mysql")]
    if let Some(mysql) = store.downcast_ref::<tenure::store::mysql::Mysql>() {
        mysql::check_configuration(mysql, report);
    }
    #[cfg(feature = "sqlite")]
    if let Some(sqlite) = store.downcast_ref::<tenure::store::sqlite::Sqlite>() {
        sqlite::check_before(sqlite, report);
    }
}

/// The checks of one kind of store.
#[cfg_attr(
    not(all(
        feature = "redis",
        feature = "postgres",
        feature = "sqlite",
        feature = "kubernetes",
        feature = "mysql"
    )),
    allow(unused_variables, clippy::unused_async, reason = "each store uses some of them")
)]
async fn of_its_kind(
    options: &Doctor,
    store: &AnyStore,
    report: &mut Report,
) -> Result<(), Failure> {
    #[cfg(feature = "redis")]
    if let Some(redis) = store.downcast_ref::<tenure::store::redis::Redis>() {
        let again = others(&options.at, redis::CONNECTIONS)?;
        redis::missing_rights(redis, report).await;
        redis::check(redis, &again, report).await;
    }
    #[cfg(feature = "postgres")]
    if let Some(postgres) = store.downcast_ref::<tenure::store::postgres::Postgres>() {
        let again = others(&options.at, postgres::CONNECTIONS)?;
        postgres::check(postgres, &again, report).await;
    }
    #[cfg(feature = "mysql")]
    if let Some(mysql) = store.downcast_ref::<tenure::store::mysql::Mysql>() {
        mysql::check(mysql, report).await;
    }
    #[cfg(feature = "sqlite")]
    if let Some(sqlite) = store.downcast_ref::<tenure::store::sqlite::Sqlite>() {
        sqlite::check(sqlite, report);
    }
    #[cfg(feature = "kubernetes")]
    if let Some(kubernetes) = store.downcast_ref::<tenure::store::kubernetes::Kubernetes>() {
        kubernetes::check(kubernetes, report).await;
    }
    Ok(())
}

/// The same store with connections of its own, so often that there are that many together.
#[cfg(any(feature = "redis", feature = "postgres"))]
fn others(at: &place::At, together: usize) -> Result<Vec<AnyStore>, Failure> {
    (1..together).map(|_| place::quiet(at)).collect()
}
