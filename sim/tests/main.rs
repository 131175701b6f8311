//! All tests of the simulator, in one program.

mod architecture;
#[cfg(feature = "cli")]
mod audit;
#[cfg(feature = "cli")]
mod campaign;
mod compare;
#[cfg(feature = "conformance")]
mod conformance;
mod controls;
mod effects;
mod headlines;
mod model_engine;
#[cfg(all(feature = "cli", feature = "turmoil"))]
mod mutants;
mod overload;
#[cfg(all(feature = "cli", feature = "real", feature = "turmoil"))]
mod pages;
#[cfg(all(feature = "cli", feature = "real"))]
mod real_engine;
#[cfg(feature = "turmoil")]
mod redis_differential;
#[cfg(feature = "turmoil")]
mod redis_simulated;
mod register;
mod report;
#[cfg(feature = "turmoil")]
mod services;
mod shrink;
mod simulation;
#[cfg(all(feature = "cli", feature = "turmoil"))]
mod situations;
#[cfg(feature = "turmoil")]
mod slow_network;
mod sweep;
mod tolerance;
#[cfg(feature = "turmoil")]
mod turmoil_engine;
