//! Many runs: campaigns over seeds, sweeps over the points of one run, smaller plans of a failure, every state
//! within bounds, and how far each assumption may be broken.

pub mod campaign;
pub mod exhaustive;
pub mod pool;
pub mod shrink;
pub mod sweep;
pub mod tolerance;
