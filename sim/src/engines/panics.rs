//! Panics of code under test: their messages, and whether they are printed.
//!
//! Code that panics does so in every run that fails, and in a hundred more while its plan is
//! shrunk. Only one backtrace is useful: that of the smallest plan.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic;
use std::sync::Once;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
    /// The message of the first panic on this thread since the last [`take`].
    static FIRST: RefCell<Option<String>> = const { RefCell::new(None) };
}

static HOOK: Once = Once::new();

/// Calls `what`. Panics in it, on this thread, do not reach the panic hook.
///
/// The first call installs a panic hook for the whole process, which passes other panics on to the
/// former hook.
pub(crate) fn quietly<T>(what: impl FnOnce() -> T) -> T {
    install();
    let before = IS_QUIET.replace(true);
    // `what` catches its own panics.
    let done = what();
    IS_QUIET.set(before);
    done
}

/// The message of a panic.
pub(crate) fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

/// Takes the message of the first panic on this thread since the last call, whether it was caught
/// or not: a runtime catches the panics of its tasks, and tells only who joins them.
#[cfg(feature = "turmoil")]
pub(crate) fn take() -> Option<String> {
    install();
    FIRST.take()
}

fn install() {
    HOOK.call_once(|| {
        let former = panic::take_hook();
        panic::set_hook(Box::new(move |panics| {
            let text = message(panics.payload()).to_owned();
            FIRST.with_borrow_mut(|first| _ = first.get_or_insert(text));
            if !IS_QUIET.get() {
                former(panics);
            }
        }));
    });
}
