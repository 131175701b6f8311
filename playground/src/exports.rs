//! The functions that JavaScript calls.
//!
//! JavaScript asks for room by `input`, writes a request there, and calls `call`. The answer begins
//! at `output`. A panic ends the module: `panicked` then tells the reason, and the page makes a new
//! module.
#![allow(
    unsafe_code,
    reason = "a function that is called by its name has an attribute that counts as unsafe code; \
              it would clash with another function of that name, and nothing else here is unsafe"
)]

use std::cell::RefCell;
use std::panic;
use std::sync::Once;

use crate::request::answer;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

static HOOK: Once = Once::new();

/// Room for a request of that many bytes.
#[unsafe(no_mangle)]
extern "C" fn input(length: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        *input = vec![0; length];
        input.as_mut_ptr()
    })
}

/// Answers the request, which has that many bytes. Returns the number of bytes of the answer.
#[unsafe(no_mangle)]
extern "C" fn call(length: usize) -> usize {
    HOOK.call_once(|| {
        panic::set_hook(Box::new(|panics| {
            let words = panics.to_string().replace('\n', " ");
            PANIC.set(format!("The simulator has a bug: it {words}"));
        }));
    });
    let request = INPUT.take();
    written(answer(&String::from_utf8_lossy(&request[..length])))
}

/// The first byte of the answer.
#[unsafe(no_mangle)]
extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(Vec::as_ptr)
}

/// Makes the reason of a panic the answer. Returns the number of its bytes.
#[unsafe(no_mangle)]
extern "C" fn panicked() -> usize {
    written(PANIC.take())
}

fn written(answer: String) -> usize {
    OUTPUT.with_borrow_mut(|output| {
        *output = answer.into_bytes();
        output.len()
    })
}
