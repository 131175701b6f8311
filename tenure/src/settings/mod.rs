//! Settings: each is declared once, and read in one way, whether a URL, the environment or code
//! gives it.
//!
//! A store declares a [`Table`] of [`Setting`]s: what each is called in a URL and as a variable,
//! how it is read, what it must be, and a sentence about it. A [`Given`] is what one URL or one
//! environment says of them, and the store builds its configuration from that, without knowing
//! which it was. Errors are of one type, and the tables on the pages for users are printed from the
//! same declarations.

mod error;
mod given;
mod host;
mod mistake;
mod scheme;
mod setting;
mod url;
pub(crate) mod values;
mod variables;

pub use error::SettingError;
pub(crate) use given::Given;
pub(crate) use mistake::Mistake;
pub(crate) use scheme::{Hosts, Path, Scheme};
#[cfg(test)]
pub(crate) use setting::Place;
pub(crate) use setting::{Fault, Row, Setting};
pub(crate) use url::{Configured, Table};
pub(crate) use variables::Variables;
