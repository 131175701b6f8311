//! The guard: the parent of the command, which kills the command's group in time.
//!
//! **Problem**: the process that renews the lease may be paused or killed. Then it can't end the
//! command, and another host may lead before it runs again. So this second process of the same
//! program knows nothing but the deadlines, which it learns with each renewal, and the end of its
//! socket, which is the end of the supervisor. A third process, the reaper, is the guard's parent,
//! and inherits what a guard leaves that has ended.
//!
//! | what is paused or killed | what ends the command, and when |
//! |---|---|
//! | the supervisor is killed | the guard, at the socket's end |
//! | the supervisor is paused | the guard: SIGTERM at `term_at`, SIGKILL at `kill_at` |
//! | the guard is killed | its child by the parent's death signal; the reaper kills the rest, which it inherits, and so does the supervisor if the reaper has not within some milliseconds |
//! | the guard is paused | it hears of no renewal, so the kernel kills it at the last `hard_at` that it knows; then as above |
//! | the guard is late, and the lease is not renewed | the supervisor, soon after `kill_at` |
//! | the reaper is killed | the supervisor, which inherits the guard |
//! | the reaper is paused | nothing: it has nothing to do while the guard lives |
//! | supervisor and guard are killed | as if the guard alone were: the reaper has another name than `tenure` |
//! | supervisor and guard are paused | the kernel kills the guard at `hard_at`; then the same |
//! | supervisor and reaper are killed or paused | the guard, as if the supervisor alone were |
//! | guard and reaper are killed or paused | the supervisor, as if the guard alone were |
//! | all three are killed or paused | at `hard_at` at the latest, the guard's child dies by the parent's death signal |
//! | the guard is paused or killed between spawn and report | as above: the shim has its death signal before the command runs |
//!
//! Where this user may make one, a control group of the command's own takes part in each kill.
//!
//! **Not guaranteed**: that grandchildren end in time if all three are paused or killed together,
//! and that processes end which have a death signal no more and are in no control group (programs
//! with setuid or file capabilities) or whose kill the kernel delays (uninterruptible sleep).

mod cgroup;
mod kernel_timer;
mod machine;
mod message;
mod process;
mod reaper;
mod shell;
mod shim;
mod sweep;

use std::io;

pub(crate) use cgroup::Cgroup;
pub(crate) use machine::{CONT, INT, TERM, deadlines};
pub(crate) use message::{Deadlines, Ending, Order, Report};
pub(crate) use process::{kill_group, program};
pub(crate) use reaper::{main as reap, reaper};
pub(crate) use shell::main as guard;
pub(crate) use shim::main as shim;
pub(crate) use sweep::{reap_all, sweep};

/// The hidden subcommands.
pub(crate) const GUARD: &str = "__guard";
pub(crate) const REAPER: &str = "__reaper";
pub(crate) const SHIM: &str = "__shim";

/// The ways to kill a command's processes here, for people.
pub(crate) fn protection(cgroup: &io::Result<Cgroup>) -> String {
    let by = "the command's processes are killed by its guard and its reaper";
    match cgroup {
        Ok(_) => format!("{by}, and by a control group of their own"),
        Err(error) => format!("{by}; they have no control group of their own: {error}"),
    }
}
