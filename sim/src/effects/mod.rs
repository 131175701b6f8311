//! Which of the faults that were ordered have had an effect.
//!
//! An engine says that a fault was ordered where the plan says so, and that it had an effect where the effect is
//! seen: at the message that was late, the connection that broke, the request that waited, the clock that moved.
//! If anything between the two is left out, the effects of that kind are missing. [`leave_out`] does so on purpose,
//! kind by kind: [`Engine::run_without`](crate::engine::Engine::run_without) orders a kind of fault and does not
//! carry it out.
//!
//! A fault has at most one effect, its first. Not guaranteed: that a fault without one was harmless. A message may be
//! late because of two faults at once, and a campaign counts it for none of them in turmoil, for one in the model.

mod awaited;
mod left_out;

pub(crate) use awaited::{Awaited, Kinds};
pub use left_out::{LeftOut, SEEDS, leave_out};
