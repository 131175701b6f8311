//! Tests of the service: with a clock in the test's hands, in a simulation, and as processes.

mod processes;
mod simulation;
mod world;
