//! Purges the store about once an hour, if it was asked to be: see [`AnyStore::purging`].
//!
//! A task of its own does that, which ends with the driver. An hour of one process is not that of
//! another, and each hour is another part of one longer or shorter, so that many processes do not
//! meet.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::oneshot;

use crate::logging::{self, LIFE};
use crate::runtime::Runtime;
use crate::store::{AnyStore, PurgeAge, Store, StoreError, StoreErrorKind};

const HOUR: Duration = Duration::from_secs(3_600);
/// The longest time of one purge. The next one begins anew, so it must be long enough for all keys
/// of a large server.
const MOST: Duration = Duration::from_secs(24 * 3_600);

/// Purges in the background, until what this returns is dropped.
pub(super) fn begin(store: &AnyStore, runtime: &Arc<dyn Runtime>) -> Option<oneshot::Sender<()>> {
    let age = store.purges()?;
    let (kept, dropped) = oneshot::channel::<()>();
    let purging = each_hour(store.clone(), Arc::clone(runtime), age);
    runtime.spawn(
        async move {
            tokio::select! {
                biased;
                _ = dropped => {}
                () = purging => {}
            }
        }
        .boxed(),
    );
    Some(kept)
}

/// Never completes.
async fn each_hour(store: AnyStore, runtime: Arc<dyn Runtime>, age: PurgeAge) {
    let mut pause = part_of_hour(&*runtime);
    loop {
        runtime.sleep_until(runtime.now() + pause).await;
        once(&store, &runtime, age).await;
        pause = HOUR * 3 / 4 + part_of_hour(&*runtime) / 2;
    }
}

async fn once(store: &AnyStore, runtime: &Arc<dyn Runtime>, age: PurgeAge) {
    let began = runtime.now();
    let purged = tokio::select! {
        biased;
        purged = store.purge_owned(age.get()) => purged,
        () = runtime.sleep_until(began + MOST) => {
            Err(StoreError::new(StoreErrorKind::Timeout, format!("it was given up after {MOST:?}")))
        }
    };
    let (store, took) = (store.traits().name, runtime.now().since(began));
    match purged {
        Ok(deleted) => {
            logging::debug!(target: LIFE, store, deleted, ?took, "purged the records of old elections");
        }
        Err(error) => {
            logging::warn!(target: LIFE, store, %error, "the records of old elections were not all purged");
        }
    }
}

/// A random part of an hour.
fn part_of_hour(runtime: &dyn Runtime) -> Duration {
    const MOST: u64 = HOUR.as_secs();
    // Without randomness, all processes do it at once, which is slower and as good.
    let random = runtime.entropy().map_or(0, |random| random % u128::from(MOST));
    Duration::from_secs(u64::try_from(random).unwrap_or(MOST))
}
