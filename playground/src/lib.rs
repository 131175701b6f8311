//! The simulator in a browser: requests of the page, and the answers.
//!
//! A request and its answer are JSON. A plan in them is one text, which JavaScript passes on and
//! never reads: its numbers have 64 bits, of which JavaScript would keep 53. Whatever the page
//! changes in a plan, it asks for here. The model engine, the judge, the models of other algorithms
//! and the search for a smaller plan are those of `tenure-sim`.
//!
//! `scripts/playground` makes a WebAssembly module of this package, and a page with it. On other
//! targets it is a library with its tests.

mod change;
#[cfg(target_family = "wasm")]
mod exports;
mod request;
mod run;
mod tool;

pub use request::answer;
