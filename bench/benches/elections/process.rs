//! The resources of processes, as the system counts them.

use std::fs;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};
use tenure_bench::Outcome;

/// The CPU time of this process, of all its threads.
pub(crate) fn own_cpu() -> Duration {
    cpu(ClockId::ProcessCPUTime)
}

/// The CPU time of the thread that calls this.
pub(crate) fn thread_cpu() -> Duration {
    cpu(ClockId::ThreadCPUTime)
}

fn cpu(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The CPU time of a process and its children, to a hundredth of a second: a PostgreSQL server has
/// a process for each connection.
pub(crate) fn cpu_of(pid: u32) -> Outcome<Duration> {
    let mut ticks = ticks_of(pid)?;
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    for child in children.split_whitespace() {
        // A child may have ended since; its time is then its parent's.
        ticks += ticks_of(child.parse()?).unwrap_or(0);
    }
    Ok(Duration::from_secs(1) * u32::try_from(ticks)? / u32::try_from(clock_ticks_per_second())?)
}

/// The time of a process and of the children that it has waited for (`proc_pid_stat(5)`, fields 14
/// to 17).
fn ticks_of(pid: u32) -> Outcome<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The second field is the program's name in parentheses, and may have spaces.
    let (_, fields) = stat.rsplit_once(')').ok_or("no program's name in /proc/PID/stat")?;
    let mut ticks = 0;
    for field in fields.split_whitespace().skip(11).take(4) {
        ticks += field.parse::<u64>()?;
    }
    Ok(ticks)
}

/// The memory of this process that is in RAM, in bytes.
pub(crate) fn resident() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next());
    Ok(kibibytes.ok_or("no VmRSS in /proc/self/status")?.parse::<u64>()? * 1024)
}

/// The number of open descriptors of this process.
pub(crate) fn descriptors() -> Outcome<usize> {
    // One of them belongs to the listing itself.
    Ok(fs::read_dir("/proc/self/fd")?.count() - 1)
}
