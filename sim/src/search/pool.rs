//! Work spread over threads, with results that do not depend on how many there are.
//!
//! The caller's thread is one of them. A panic on any thread becomes a panic of the caller.

use std::convert::Infallible;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, available_parallelism};

/// The number of threads that the machine can run at once; 1 if it is unknown.
pub fn cores() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

/// Carries out `one` for each item, each on a thread of its own. The results are in the order of
/// the items.
pub fn each<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    one: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let mut items = items.into_iter();
    let Some(first) = items.next() else { return Vec::new() };
    let one = &one;
    thread::scope(|scope| {
        let others: Vec<_> = items.map(|item| scope.spawn(move || one(item))).collect();
        let mut results = vec![one(first)];
        for other in others {
            results.push(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        results
    })
}

/// Sums up `one` of the numbers from 0 to `count`: each thread has a sum of its own, and in the end
/// `merge` adds them up, in no particular order.
///
/// The numbers are handed out in order, and no further ones after a [`Break`](ControlFlow::Break):
/// all numbers below the one that broke are carried out, and a few above it may be.
pub fn fold<A: Send>(
    jobs: usize,
    count: u64,
    empty: impl Fn() -> A + Sync,
    one: impl Fn(&mut A, u64) -> ControlFlow<()> + Sync,
    mut merge: impl FnMut(&mut A, A),
) -> A {
    let (next, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let work = |()| {
        let mut sum = empty();
        while !over.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            if one(&mut sum, number).is_break() {
                over.store(true, Ordering::Relaxed);
            }
        }
        sum
    };
    let mut sums = each(vec![(); jobs.max(1)], work).into_iter();
    let mut all = sums.next().unwrap_or_else(&empty);
    sums.for_each(|sum| merge(&mut all, sum));
    all
}

/// Like [`fold`], but stops at the first failure.
///
/// # Errors
/// The failure of the lowest number that fails.
pub fn try_fold<A: Send, E: Send>(
    jobs: usize,
    count: u64,
    empty: impl Fn() -> A + Sync,
    one: impl Fn(&mut A, u64) -> Result<(), E> + Sync,
    mut merge: impl FnMut(&mut A, A),
) -> Result<A, E> {
    let (sum, failed) = fold(
        jobs,
        count,
        || (empty(), None),
        |(sum, failed), number| match one(sum, number) {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                *failed = Some((number, failure));
                ControlFlow::Break(())
            }
        },
        |(sum, failed), (more, other)| {
            merge(sum, more);
            *failed = failed.take().into_iter().chain(other).min_by_key(|(number, _)| *number);
        },
    );
    failed.map_or(Ok(sum), |(_, failure)| Err(failure))
}

/// Carries out `one` for each item. The results are in the order of the items.
pub fn map<T: Sync, R: Send>(jobs: usize, items: &[T], one: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let results = try_map(jobs, items, |item| Ok::<_, Infallible>(one(item)));
    results.unwrap_or_else(|never| match never {})
}

/// Like [`map`], but stops at the first failure.
///
/// # Errors
/// The failure of the first item that fails.
pub fn try_map<T: Sync, R: Send, E: Send>(
    jobs: usize,
    items: &[T],
    one: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let mut results = try_fold(
        jobs,
        items.len() as u64,
        Vec::new,
        |results, number| {
            let place = usize::try_from(number).unwrap_or(usize::MAX);
            results.push((place, one(&items[place])?));
            Ok(())
        },
        |results, mut more| results.append(&mut more),
    )?;
    results.sort_unstable_by_key(|(place, _)| *place);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    const JOBS: [usize; 4] = [0, 1, 3, 20];

    #[test]
    fn results_keep_the_order_of_items() {
        let items: Vec<u32> = (0..1_000).collect();
        let doubled: Vec<u32> = items.iter().map(|item| item * 2).collect();
        for jobs in JOBS {
            assert_eq!(map(jobs, &items, |item| item * 2), doubled);
        }
        assert_eq!(each(items, |item| item * 2).len(), 1_000);
        assert!(map(3, &[], |item: &u32| *item).is_empty());
    }

    #[test]
    fn every_number_is_summed_up_once() {
        let add = |sum: &mut u64, number| {
            *sum += number;
            ControlFlow::Continue(())
        };
        for jobs in JOBS {
            assert_eq!(fold(jobs, 1_001, || 0, add, |sum, more| *sum += more), 500_500);
        }
    }

    #[test]
    fn all_numbers_below_a_break_are_carried_out() {
        for jobs in JOBS {
            let note = |seen: &mut Vec<u64>, number| {
                seen.push(number);
                if number == 300 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let merge = |seen: &mut Vec<u64>, mut more: Vec<u64>| seen.append(&mut more);
            let mut seen = fold(jobs, u64::MAX, Vec::new, note, merge);
            seen.sort_unstable();
            assert!(seen.iter().copied().take(301).eq(0..=300));
        }
    }

    #[test]
    fn the_first_failure_is_returned() {
        let items: Vec<u32> = (0..1_000).collect();
        for jobs in JOBS {
            let odd = |item: &u32| if item % 100 == 99 { Err(*item) } else { Ok(()) };
            assert_eq!(try_map(jobs, &items, odd), Err(99));
        }
    }

    #[test]
    fn a_panic_of_any_thread_reaches_the_caller() {
        for jobs in JOBS {
            let caught = catch_unwind(|| map(jobs, &[1, 2, 3], |item| assert_ne!(*item, 2, "two")));
            let message = caught.unwrap_err();
            assert!(message.downcast_ref::<String>().unwrap().contains("two"));
        }
    }
}
