//! Suppresses the output of panics.
//!
//! A workload that panics does so in every run that fails, and in a hundred more while its plan is shrunk. Only one
//! backtrace is useful: that of the smallest plan.

use std::cell::Cell;
use std::panic;
use std::sync::Once;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Calls `what`. Panics in it, on this thread, do not reach the panic hook.
///
/// The first call installs a panic hook for the whole process, which passes other panics on to the former hook.
pub(super) fn quietly<T>(what: impl FnOnce() -> T) -> T {
    HOOK.call_once(|| {
        let former = panic::take_hook();
        panic::set_hook(Box::new(move |panics| {
            if !IS_QUIET.get() {
                former(panics);
            }
        }));
    });
    let before = IS_QUIET.replace(true);
    // `what` catches its own panics.
    let done = what();
    IS_QUIET.set(before);
    done
}
