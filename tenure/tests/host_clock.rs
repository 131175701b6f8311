//! The host's clock by which a leader stops: it counts the time in which the machine is suspended.
//!
//! No test can suspend the machine that it runs on. In a time namespace of Linux the boot clock,
//! which counts suspends, is set ahead of the monotonic clock, which does not, as after a suspend
//! of that length.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tenure::runtime::{Runtime, TokioRuntime};
use tenure::store::Memory;
use tenure::{Candidate, Config, Instant};

const SUSPENDED: Duration = Duration::from_secs(1_000_000);

fn of(clock: ClockId) -> Instant {
    let time = clock_gettime(clock);
    Instant::ORIGIN + Duration::try_from(time).unwrap()
}

/// Needs util-linux and a kernel that lets users create namespaces, but no special rights.
#[test]
fn the_clock_and_its_timers_count_suspends() {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--fork", "--time", "--boottime"]);
    command.arg(SUSPENDED.as_secs().to_string()).arg(std::env::current_exe().unwrap());
    command
        .args(["--exact", "host_clock::after_a_suspend", "--ignored", "--nocapture"])
        .stdin(Stdio::null());
    let output = command.output().expect("unshare, of util-linux");
    let [out, err] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let passed = output.status.success() && out.contains("1 passed");
    assert!(passed, "{command:?} ended with {}:\n{out}\n{err}", output.status);
}

#[tokio::test]
#[ignore = "carried out in a time namespace"]
async fn after_a_suspend() {
    let monotonic = of(ClockId::Monotonic);
    let suspended = of(ClockId::Boottime).since(monotonic);
    assert!(suspended >= SUSPENDED, "this is no such namespace: {suspended:?}");

    let (before, now) = (of(ClockId::Boottime), TokioRuntime.now());
    let after = of(ClockId::Boottime);
    assert!(before <= now && now <= after, "{now:?} is not within {before:?} and {after:?}");

    let told = TokioRuntime.suspended();
    assert!(told.abs_diff(suspended) < Duration::from_secs(1), "{told:?} is not {suspended:?}");

    let moment = Duration::from_millis(50);
    let soon = Duration::from_secs(20);
    let asleep = TokioRuntime.sleep_until(now + moment);
    tokio::time::timeout(soon, asleep).await.expect("a timer on the clock rings");
    let asleep = TokioRuntime.now().since(now);
    // At the end of the timeout, the clock alone would end the sleep.
    assert!((moment..soon / 2).contains(&asleep), "rung after {asleep:?}");

    // A leader's claim ends by it too.
    let ttl = Config::fast_failover().ttl();
    let candidate = Candidate::builder(Memory::new(), "job").config(Config::fast_failover());
    let candidate = candidate.start().unwrap();
    let before = of(ClockId::Boottime);
    let tenure = tokio::time::timeout(soon, candidate.elected()).await.unwrap().unwrap();
    let until = tenure.valid_until();
    assert!(before < until && until < of(ClockId::Boottime) + ttl, "until {until:?}");
}
