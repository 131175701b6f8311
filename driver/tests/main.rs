//! The properties of the driver, over thousands of random runs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod properties;
mod world;
