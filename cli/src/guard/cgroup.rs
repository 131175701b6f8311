//! A control group of the command's own (cgroup v2), where this user may make one.
//!
//! **Guarantee**: the kernel knows what is in it, and kills all of it at once: also processes that
//! are just being forked, and those of other users.
//!
//! **Not guaranteed**: that there is one. What a service manager starts for the command is not in
//! it.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Component, Path, PathBuf};

use tenure::runtime::{Runtime, TokioRuntime};

/// A control group, by its directory. Its end removes it, if it is empty.
#[derive(Debug)]
pub(crate) struct Cgroup(PathBuf);

const PROCESSES: &str = "cgroup.procs";
const KILL: &str = "cgroup.kill";

impl Cgroup {
    /// Makes an empty one below that of this process.
    ///
    /// # Errors
    /// If version 2 is not mounted, this user may not make a group and move processes into it, or
    /// the kernel can't kill one (before Linux 5.14).
    pub(crate) fn create() -> io::Result<Self> {
        let own = own()?;
        // To move a process needs a right at the group that both are below.
        can_be_written(&own.join(PROCESSES))?;
        // Namespaces of processes may share a group, so the number of this process is not enough.
        let now = TokioRuntime.now().as_nanos();
        let group = Self(own.join(format!("job-{}-{now}", std::process::id())));
        fs::create_dir(&group.0)?;
        can_be_written(&group.0.join(KILL))?;
        Ok(group)
    }

    /// The one that an argument names.
    pub(super) fn named(argument: &OsStr) -> Option<Self> {
        (!argument.is_empty()).then(|| Self(argument.into()))
    }

    /// The argument that names it, or none.
    pub(crate) fn argument(group: Option<&Self>) -> &OsStr {
        group.map_or(OsStr::new(""), |group| group.0.as_os_str())
    }

    /// Moves this process into it.
    pub(super) fn enter(&self) -> io::Result<()> {
        fs::write(self.0.join(PROCESSES), "0")
    }

    /// Kills all that is in it.
    pub(crate) fn kill(&self) {
        // One that is not there any more is empty.
        let _ = fs::write(self.0.join(KILL), "1");
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The kernel keeps one with processes in it.
        let _ = fs::remove_dir(&self.0);
    }
}

fn can_be_written(file: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(file).map(drop)
}

/// The directory of this process's own group.
fn own() -> io::Result<PathBuf> {
    let none = || io::Error::new(io::ErrorKind::NotFound, "cgroup v2 is not mounted");
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::")).ok_or_else(none)?;
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    mounts.lines().find_map(|mount| directory(mount, own)).ok_or_else(none)
}

/// The folder of a group in that mount, which is a line of `mountinfo`.
fn directory(mount: &str, group: &str) -> Option<PathBuf> {
    let (place, kind) = mount.split_once(" - ")?;
    if !kind.starts_with("cgroup2 ") {
        return None;
    }
    let mut words = place.split(' ').skip(3);
    let (root, point) = (words.next()?, words.next()?);
    let below = Path::new(group).strip_prefix(root).ok()?;
    // A namespace of control groups may hide it.
    let is_hidden = below.components().any(|part| part == Component::ParentDir);
    (!is_hidden).then(|| Path::new(point).join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_in_its_mount() {
        let of = |mount, group| directory(mount, group).map(|path| path.display().to_string());
        let whole = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw";
        let found = of(whole, "/system.slice/a.service");
        assert_eq!(found.as_deref(), Some("/sys/fs/cgroup/system.slice/a.service"));
        let part = "30 23 0:26 /docker/ab /sys/fs/cgroup rw - cgroup2 cgroup rw";
        assert_eq!(of(part, "/docker/ab/c").as_deref(), Some("/sys/fs/cgroup/c"));
        for (mount, group) in [
            (part, "/docker/other"),
            (whole, "/../other"),
            ("30 23 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids", "/"),
        ] {
            assert_eq!(of(mount, group), None, "{group} in {mount}");
        }
    }
}
