//! Killing everything that a command has started and that its group's end has left.
//!
//! Guard, reaper and supervisor are subreapers: what a dead process has left becomes their child,
//! also if it has left the group. So all descendants can be found, level by level, until no child
//! is left.

use std::fs;
use std::io;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

/// Kills and reaps all children of this process; true once there is none. Their own children are
/// found by the next call.
pub(crate) fn sweep() -> bool {
    if reap_all() {
        return true;
    }
    for child in children() {
        // It may have ended meanwhile. One that this user may not kill stays.
        let _ = kill(Pid::from_raw(child), Signal::SIGKILL);
    }
    reap_all()
}

/// Reaps all children that have ended; true if there is no other.
pub(crate) fn reap_all() -> bool {
    loop {
        match waitid(Id::All, WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG) {
            Ok(nix::sys::wait::WaitStatus::StillAlive) => return false,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return true,
        }
    }
}

fn children() -> Vec<i32> {
    listed().unwrap_or_else(|_| found())
}

/// From the lists that the kernel keeps, if it was built to.
fn listed() -> io::Result<Vec<i32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir("/proc/self/task")? {
        let list = fs::read_to_string(thread?.path().join("children"))?;
        children.extend(list.split_whitespace().filter_map(|word| word.parse::<i32>().ok()));
    }
    Ok(children)
}

/// From the parents of all processes.
fn found() -> Vec<i32> {
    let this = std::process::id().to_string();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| {
            let process: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name before it is in parentheses, and may have spaces and parentheses in it.
            let (_, rest) = stat.rsplit_once(')')?;
            (rest.split_whitespace().nth(1)? == this).then_some(process)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn both_lists_have_a_child() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let id = i32::try_from(child.id()).unwrap();
        assert!(found().contains(&id));
        if let Ok(listed) = listed() {
            assert!(listed.contains(&id));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
