//! The guard: the parent of the command, which kills the command's group in time.
//!
//! **Problem**: the process that renews the lease may be paused or killed. Then it can't end the
//! command, and another host may lead before it runs again. So this second process of the same
//! program knows nothing but the deadlines, which it learns with each renewal, and the end of its
//! socket, which is the end of the supervisor.
//!
//! | what is paused or killed | what ends the command, and when |
//! |---|---|
//! | the supervisor is killed | the guard, at the socket's end |
//! | the supervisor is paused | the guard: SIGTERM at `term_at`, SIGKILL at `kill_at` |
//! | the guard is killed | its child by the parent's death signal; the supervisor kills the rest, which it inherits |
//! | the guard is paused | it hears of no renewal, so the kernel kills it at the last `hard_at` that it knows; then as above |
//! | the guard is late, and the lease is not renewed | the supervisor, soon after `kill_at` |
//! | both are paused | the kernel kills the guard at `hard_at`; its child dies by the parent's death signal |
//! | the guard is paused or killed between spawn and report | as above: the shim has its death signal before the command runs |
//!
//! **Not guaranteed**: that grandchildren end in time if supervisor and guard are paused or killed
//! together, and that processes end which have a death signal no more (programs with setuid or file
//! capabilities) or whose kill the kernel delays (uninterruptible sleep).

mod kernel_timer;
mod machine;
mod message;
mod process;
mod shell;
mod shim;
mod sweep;

pub(crate) use machine::{CONT, INT, TERM, deadlines};
pub(crate) use message::{Deadlines, Ending, Order, Report};
pub(crate) use process::{kill_group, program};
pub(crate) use shell::main as guard;
pub(crate) use shim::main as shim;
pub(crate) use sweep::sweep;

/// The hidden subcommands.
pub(crate) const GUARD: &str = "__guard";
pub(crate) const SHIM: &str = "__shim";
