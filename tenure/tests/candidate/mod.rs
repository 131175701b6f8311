//! Candidates, their work and their ends, on stores in memory.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod asks;
mod blocking;
mod callbacks;
mod clock;
mod driver;
mod endings;
mod failed_work;
mod first_attempt;
mod hand_over;
mod health;
mod hold;
mod lost_work;
mod memory;
mod metadata;
mod moved_clock;
mod observer;
mod outside;
mod panicking;
mod process;
mod purge;
mod stuck;
mod support;
mod turns;
mod watchdog;
mod work;
