//! All stores against real servers, files and processes; the examples as programs; the pages for users.

mod documents;
mod programs;
mod stores;
