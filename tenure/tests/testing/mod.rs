//! A test's acts on a world, and what candidates and services make of it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod clock;
mod connection;
mod leases;
mod services;
mod spread;
mod support;
mod under_way;
