//! A key of Redis: set with an expiry if there is none, renewed and deleted by scripts that compare
//! the holder first. Zyno's `LeaderService` and svelte-adapter-uws-extensions' `createLeader` do
//! this.
//!
//! The two differ in their timers. Zyno retries some time after a refusal, and renews at a separate
//! interval; svelte-adapter-uws-extensions has one interval for both, in which no tick overtakes
//! another. So after a late grant the first leads for a whole interval longer, the second for a
//! round trip.

use std::marker::PhantomData;
use std::time::Duration;

use tenure_core::{Config, Instant};

use super::super::algorithm::{Stored, Visit};
use super::model::{Ask, Model, StoreAnswer, Want};
use super::pace::{Pace, Timer};
use super::{ordinal, retry};

/// The time for which its client library repeats a refused command.
const RETRIES_FOR: Duration = Duration::from_millis(10_600);

/// The key, for a library with those timers.
#[derive(Clone, Debug)]
pub(crate) struct KeyFlag<T>(PhantomData<T>);

/// The timers of a library.
pub(crate) trait Timing: Clone {
    fn pace(config: &Config) -> Pace;
}

/// Zyno's timers.
#[derive(Clone, Debug)]
pub(crate) struct TwoTimers;

/// The timers of svelte-adapter-uws-extensions.
#[derive(Clone, Debug)]
pub(crate) struct OneTimer;

impl Timing for TwoTimers {
    fn pace(config: &Config) -> Pace {
        Pace {
            standby: Timer::AfterReply(retry(config)),
            patience: RETRIES_FOR,
            leads_until_released: true,
            ..Pace::steady(Timer::Every(config.renew_interval()))
        }
    }
}

impl Timing for OneTimer {
    fn pace(config: &Config) -> Pace {
        Pace {
            patience: Duration::MAX,
            leads_until_released: true,
            ..Pace::steady(Timer::Queued(config.renew_interval()))
        }
    }
}

/// The key. Its ordinal is kept when the key is deleted; the library has nothing that is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Store {
    key: Option<(u128, Instant)>,
    token: u64,
}

impl<T: Timing> Model for KeyFlag<T> {
    type Store = Store;

    fn pace(config: &Config) -> Pace {
        T::pace(config)
    }

    fn serve(store: &mut Store, at: Visit, ask: Ask) -> StoreAnswer {
        store.key = store.key.filter(|(_, ends)| at.now < *ends);
        let holder = store.key.map(|(holder, _)| holder);
        match ask.want {
            Want::Take if holder.is_none() => {
                store.token = ordinal(store.token, at);
                store.key = Some((ask.holder, at.now + ask.ttl));
                StoreAnswer::Granted { token: store.token }
            }
            Want::Keep if holder == Some(ask.holder) => {
                store.key = Some((ask.holder, at.now + ask.ttl));
                StoreAnswer::Renewed
            }
            Want::GiveBack if holder == Some(ask.holder) => {
                store.key = None;
                StoreAnswer::Done
            }
            Want::Take | Want::Keep | Want::GiveBack | Want::Tidy => StoreAnswer::NotHeld,
        }
    }

    fn kept(store: &Store) -> Option<Stored> {
        store.key.map(|(holder, ends)| Stored::until(store.token, holder, ends))
    }
}
