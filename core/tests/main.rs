//! All tests of the state machine, in one program.

mod answers;
mod clock;
mod config;
mod contract;
mod figures;
mod handover;
mod id;
mod outages;
mod properties;
mod remedies;
mod shape;
mod sights;
mod snapshot;
mod world;
