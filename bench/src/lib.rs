//! Benchmarks of tenure against real servers.
