//! Many runs: campaigns over seeds, sweeps over the points of one run, the search for a smaller
//! failing plan, the exhaustive search of a bounded state space, and the tolerance of each
//! assumption.

pub mod campaign;
#[cfg(not(target_family = "wasm"))]
pub mod exhaustive;
pub mod pool;
pub mod shrink;
#[cfg(not(target_family = "wasm"))]
pub mod sweep;
#[cfg(not(target_family = "wasm"))]
pub mod tolerance;
