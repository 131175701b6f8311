//! All stores against real servers, files and processes; the examples as programs; the pages for users; the crates that
//! the workspace depends on.

mod dependencies;
mod documents;
mod programs;
mod stores;
