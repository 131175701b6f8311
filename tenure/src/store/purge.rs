//! The deletion of the records of long-ended elections: the age that is asked for, and the steps that do it.

use std::str::FromStr;
use std::time::Duration;

#[cfg(any(feature = "redis", feature = "fred", feature = "postgres", feature = "etcd"))]
pub(super) use steps::{Step, in_steps};

use crate::SettingError;
use crate::settings::{Fault, Setting};

/// How long ago a lease must have ended for its record to be [purged](super::Store::purge) by
/// [drivers](super::AnyStore::purging): from [an hour](Self::LEAST) to [ten years](Self::MOST).
///
/// As text, it is a whole number with one of the units `h` and `d`: `12h`, `30d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PurgeAge(Duration);

impl PurgeAge {
    /// A day.
    pub const DAY: Duration = Duration::from_secs(24 * 3_600);
    /// The least: no network delays a request for that long.
    pub const LEAST: Duration = Duration::from_secs(3_600);
    /// The most.
    pub const MOST: Duration = Duration::from_secs(3_650 * 24 * 3_600);

    /// Checks an age.
    ///
    /// # Errors
    /// If it is below [`LEAST`](Self::LEAST) or above [`MOST`](Self::MOST).
    pub fn new(age: Duration) -> Result<Self, SettingError> {
        Self::of(age).map_err(|fault| PURGE.row.refuse(&shown(age), fault))
    }

    fn of(age: Duration) -> Result<Self, Fault> {
        if (Self::LEAST..=Self::MOST).contains(&age) { Ok(Self(age)) } else { Err(Fault::Must) }
    }

    /// The age.
    pub fn get(self) -> Duration {
        self.0
    }
}

/// A setting of all stores, beside their own.
pub(crate) const PURGE: Setting<PurgeAge> = Setting::parameter("purge", |text| {
    let unit = text.find(|letter: char| !letter.is_ascii_digit());
    let (number, unit) = text.split_at(unit.unwrap_or(text.len()));
    let seconds: u64 = match unit {
        "h" => 3_600,
        "d" => 24 * 3_600,
        _ => return Err(Fault::Must),
    };
    let number: u64 = number.parse().map_err(|_| Fault::Must)?;
    PurgeAge::of(Duration::from_secs(number.saturating_mul(seconds)))
})
.variable("PURGE")
.must("a whole number with one of the units h and d, from 1h to 3650d", "30d")
.default("never")
.about("how old the [records of ended elections](../old-records.md) become (with `AnyStore`)");

impl FromStr for PurgeAge {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        PURGE.check(text)
    }
}

/// In the largest unit that it is a whole number of.
fn shown(age: Duration) -> String {
    let seconds = age.as_secs();
    match (seconds, age.subsec_nanos()) {
        (0, 0) => "0h".to_owned(),
        (1.., 0) if seconds.is_multiple_of(86_400) => format!("{}d", seconds / 86_400),
        (1.., 0) if seconds.is_multiple_of(3_600) => format!("{}h", seconds / 3_600),
        _ => format!("{age:?}"),
    }
}

#[cfg(any(feature = "redis", feature = "fred", feature = "postgres", feature = "etcd"))]
mod steps {
    use std::sync::Arc;
    use std::time::Duration;

    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;
    use tokio::sync::oneshot;

    use crate::runtime::Runtime;
    use crate::store::{StoreError, StoreErrorKind};

    /// How long a server may take for one step.
    const STEP_MOST: Duration = Duration::from_secs(10);

    /// What one step of a purge has done.
    pub(in crate::store) struct Step<P> {
        pub(in crate::store) deleted: u64,
        /// Where the next one begins; `None` after the last one.
        pub(in crate::store) next: Option<P>,
    }

    /// Purges step by step, the first one from the default place on. After each step comes a pause as long as the step
    /// took, so that at least half of the connection's time is left to others.
    ///
    /// In a task of its own: a step whose caller gives up is still answered, so that its connection is not taken for
    /// a stuck one. No step begins after that.
    pub(in crate::store) async fn in_steps<P: Default + Send + 'static>(
        runtime: &Arc<dyn Runtime>,
        mut step: impl FnMut(P) -> BoxFuture<'static, Result<Step<P>, StoreError>> + Send + 'static,
    ) -> Result<u64, StoreError> {
        let (answer, answered) = oneshot::channel();
        let own = Arc::clone(runtime);
        let steps = async move {
            let mut deleted = 0;
            let mut place = P::default();
            let outcome = loop {
                let began = own.now();
                match bounded(&*own, step(place)).await {
                    Err(error) => break Err(error),
                    Ok(Step { deleted: some, next }) => {
                        deleted += some;
                        let Some(next) = next.filter(|_| !answer.is_closed()) else {
                            break Ok(deleted);
                        };
                        place = next;
                    }
                }
                let now = own.now();
                own.sleep_until(now + now.since(began)).await;
            };
            // Its caller may have given up.
            let _ = answer.send(outcome);
        };
        runtime.spawn(steps.boxed());
        let ended = || StoreError::new(StoreErrorKind::Unreachable, "the runtime has ended");
        answered.await.unwrap_or_else(|_| Err(ended()))
    }

    async fn bounded<T>(
        runtime: &dyn Runtime,
        step: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        tokio::select! {
            biased;
            done = step => done,
            () = runtime.sleep_until(runtime.now() + STEP_MOST) => {
                let detail = format!("no answer to a step of the purge within {STEP_MOST:?}");
                Err(StoreError::new(StoreErrorKind::Timeout, detail))
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use std::sync::atomic::{AtomicU32, Ordering};

        use super::*;
        use crate::store::fake::Clock;

        const TAKES: Duration = Duration::from_millis(5);
        const MILLI: Duration = Duration::from_millis(1);

        type Purge = BoxFuture<'static, Result<u64, StoreError>>;

        /// A purge of three steps of that length, and how many of them have begun.
        fn purge(clock: &Clock, takes: Duration) -> (Arc<AtomicU32>, Purge) {
            let (begun, own) = (Arc::new(AtomicU32::new(0)), clock.clone());
            let (count, runtime) = (Arc::clone(&begun), Arc::new(clock.clone()));
            let step = move |place: u64| {
                count.fetch_add(1, Ordering::SeqCst);
                let done = own.sleep_until(own.now() + takes);
                let next = Some(place + 1).filter(|next| *next < 3);
                async move {
                    done.await;
                    Ok(Step { deleted: 10, next })
                }
                .boxed()
            };
            let runtime: Arc<dyn Runtime> = runtime;
            (begun, async move { in_steps(&runtime, step).await }.boxed())
        }

        #[test]
        fn each_pause_is_as_long_as_its_step() {
            let clock = Clock::default();
            let (begun, mut purge) = purge(&clock, TAKES);
            assert!((&mut purge).now_or_never().is_none());
            clock.run();
            for milli in 0..25 {
                assert_eq!(begun.load(Ordering::SeqCst), 1 + milli / 10, "after {milli} ms");
                assert!((&mut purge).now_or_never().is_none());
                clock.advance(MILLI);
            }
            assert_eq!(purge.now_or_never().unwrap().unwrap(), 30);
        }

        #[test]
        fn no_step_begins_once_the_caller_has_gone() {
            let clock = Clock::default();
            let (begun, mut purge) = purge(&clock, TAKES);
            assert!((&mut purge).now_or_never().is_none());
            clock.run();
            drop(purge);
            assert_eq!(clock.tasks().len(), 1, "its step is still answered");
            (0..30).for_each(|_| clock.advance(MILLI));
            assert_eq!((begun.load(Ordering::SeqCst), clock.tasks().len()), (1, 0));
        }

        #[test]
        fn a_step_without_an_answer_is_given_up() {
            let clock = Clock::default();
            let (_, mut purge) = purge(&clock, STEP_MOST * 2);
            assert!((&mut purge).now_or_never().is_none());
            clock.run();
            clock.advance(STEP_MOST);
            let error = purge.now_or_never().unwrap().unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Timeout);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_hours_or_days() {
        for (text, hours) in [("1h", 1), ("36h", 36), ("30d", 720), ("3650d", 87_600)] {
            let age: PurgeAge = text.parse().unwrap();
            assert_eq!(age.get(), Duration::from_secs(hours * 3_600), "{text}");
        }
        for text in ["", "30", "d", "-1d", "1.5h", "30D", "1h30m", "15s", "hush", " 1h"] {
            text.parse::<PurgeAge>().unwrap_err();
        }
    }

    #[test]
    fn ages_beyond_the_bounds_are_named() {
        let bounds = "it must be a whole number with one of the units h and d, from 1h to 3650d";
        for (text, shown) in [("0h", "0h"), ("3651d", "3651d"), ("87601h", "87601h")] {
            let error = text.parse::<PurgeAge>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("purge is {shown:?}: {bounds}")), "{error}");
        }
        let error = PurgeAge::new(Duration::from_secs(59)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("purge is \"59s\": {bounds}")), "{error}");
        assert!(format!("{}d", u64::MAX).parse::<PurgeAge>().is_err());
    }
}
