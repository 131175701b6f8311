//! `tenure purge`.

use std::time::Duration;

use clap::Args;
use tenure::store::{AnyStore, PurgeAge, Store, StoreErrorKind};

use crate::duration::duration;
use crate::exit::{Failure, with_causes};
use crate::output;
use crate::place::{self, At};

#[derive(Debug, Args)]
pub(crate) struct Purge {
    #[command(flatten)]
    at: At,
    /// The least time since the end of a lease, such as 12h or 30d: from an hour to ten years.
    #[arg(long, value_name = "AGE")]
    older_than: PurgeAge,
    /// Delete also what is unchanged after this time: records of leases that were not given back.
    ///
    /// At least the longest TTL and quarantine of those elections, such as 1m; a record whose own
    /// are longer stays.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    watch: Option<Duration>,
}

pub(crate) async fn purge(options: &Purge) -> Result<u8, Failure> {
    let store = place::store(&options.at)?;
    if let Some(missing) = place::missing_file(&options.at, &store) {
        return Err(Failure::store(missing));
    }
    let age = options.older_than.get();
    let mut deleted = purged(&store, age).await?;
    if let Some(watch) = options.watch {
        tokio::time::sleep(watch).await;
        deleted += purged(&store, age).await?;
    }
    output::print(format!("{deleted} records deleted\n").as_bytes())?;
    Ok(0)
}

async fn purged(store: &AnyStore, age: Duration) -> Result<u64, Failure> {
    store.purge(age).await.map_err(|error| match error.kind() {
        StoreErrorKind::Unsupported => Failure::usage(error),
        _ => Failure::store(with_causes(&error)),
    })
}
