//! Many runs: campaigns over seeds, sweeps over the points of one run, the search for a smaller
//! failing plan, the exhaustive search of a bounded state space, that of the orders of a driver's
//! events, and the tolerance of each assumption.

pub mod campaign;
#[cfg(not(target_family = "wasm"))]
pub mod exhaustive;
#[cfg(not(target_family = "wasm"))]
pub mod orders;
pub mod pool;
pub mod shrink;
#[cfg(not(target_family = "wasm"))]
pub mod sweep;
#[cfg(not(target_family = "wasm"))]
pub mod tolerance;
