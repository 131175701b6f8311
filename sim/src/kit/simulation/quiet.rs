//! Panics that say nothing.
//!
//! A workload that panics does so in every run that fails, and in a hundred more while its plan is made smaller. One
//! backtrace is worth reading: that of the smallest plan.

use std::cell::Cell;
use std::panic;
use std::sync::Once;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Carries it out. What panics in it, on this thread, tells the panic hook nothing.
///
/// The process gets a panic hook for good, which passes on what happens elsewhere to the one before.
pub(super) fn quietly<T>(what: impl FnOnce() -> T) -> T {
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panics| {
            if !IS_QUIET.get() {
                usual(panics);
            }
        }));
    });
    let before = IS_QUIET.replace(true);
    // Whatever panics is caught within.
    let done = what();
    IS_QUIET.set(before);
    done
}
