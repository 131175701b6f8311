//! Many runs: campaigns over seeds, sweeps over the points of one run, the search for a smaller
//! failing plan, the exhaustive search of a bounded state space, those of the orders of a driver's
//! events and of what reaches a register, and the tolerance of each assumption.

#[cfg(not(target_family = "wasm"))]
mod breadth_first;
pub mod campaign;
#[cfg(not(target_family = "wasm"))]
pub mod exhaustive;
#[cfg(not(target_family = "wasm"))]
pub mod orders;
pub mod pool;
#[cfg(not(target_family = "wasm"))]
pub mod register;
pub mod shrink;
#[cfg(not(target_family = "wasm"))]
pub mod sweep;
#[cfg(not(target_family = "wasm"))]
pub mod tolerance;
