//! Many runs: campaigns over seeds, sweeps over the points of one run, the search for a smaller
//! failing plan, the exhaustive search of a bounded state space, and the tolerance of each
//! assumption.

pub mod campaign;
pub mod exhaustive;
pub mod pool;
pub mod shrink;
pub mod sweep;
pub mod tolerance;
