//! `tenure run` with one host: statuses, signals, the environment, warnings.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Output, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::hosts::{Host, Place, wait_until};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn shell(place: &Place, script: &str) -> Output {
    place.output(&["run", "job", "--", "sh", "-c", script])
}

#[test]
fn the_status_is_that_of_the_command() {
    let place = Place::new();
    for (script, status) in
        [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)]
    {
        assert_eq!(shell(&place, script).status.code(), Some(status), "{script}");
    }
    assert_eq!(place.status(&["run", "job", "--once", "--", "false"]), 1);
    // Told from that of `tenure`, as on the page.
    assert_eq!(shell(&place, "sh -c 'exit 75'; test $? = 0").status.code(), Some(1));
    // A shell around it ends its loop only for that.
    assert_eq!(shell(&place, "kill -INT $$").status.signal(), Some(2));
    assert_eq!(shell(&place, "exit 130").status.code(), Some(130));
    let missing = place.output(&["run", "job", "--", "/no/such/command"]);
    assert_eq!(missing.status.code(), Some(127));
    assert!(text(&missing.stderr).contains("/no/such/command can't be run: No such file"));
    assert_eq!(place.status(&["run", "job", "--", "/etc/passwd"]), 126);
}

#[test]
fn usage_is_refused_by_name() {
    let place = Place::new();
    for arguments in [
        &["run", "job"][..],
        &["run", "--", "true"],
        &["run", "job", "--wait", "soon", "--", "true"],
        &["run", "job", "--try", "--wait", "1s", "--", "true"],
        &["run", "job", "--hold", "0", "--", "true"],
        &["run", "job", "--hold", "25h", "--", "true"],
        &["run", "job", "--store", "mysql://host", "--", "true"],
        &["run", "", "--", "true"],
        &["run", "job", "--store-file", "/no/such/file", "--", "true"],
        &["status"],
        &["nonsense"],
    ] {
        let output = place.output(arguments);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}: {}", text(&output.stderr));
        assert!(!output.stderr.is_empty());
    }
    let mut command = place.tenure();
    command.env("TENURE_STOP_MARGIN", "1ms").args(["run", "job", "--", "true"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert!(
        text(&output.stderr).contains("set TENURE_STOP_MARGIN to 100ms"),
        "{}",
        text(&output.stderr)
    );
    for help in [&["--help"][..], &["run", "--help"], &["--version"]] {
        assert_eq!(place.status(help), 0, "{help:?}");
    }
}

#[test]
fn a_store_that_can_not_be_used_has_a_status() {
    let place = Place::new();
    let unreachable = ["--store", "redis://127.0.0.1:1"];
    let run = |options: &[&str]| {
        place.status(&[&["run", "job"], &unreachable[..], options, &["--", "true"]].concat())
    };
    assert_eq!(run(&["--try"]), 69);
    assert_eq!(run(&["--wait", "300ms"]), 69);
    assert_eq!(
        place.status(&[&["status", "job", "--timeout", "300ms"], &unreachable[..]].concat()),
        2
    );
    assert_eq!(
        place.status(&[&["handover", "job", "--timeout", "5s"], &unreachable[..]].concat()),
        69
    );
}

#[test]
fn another_leader_has_a_status() {
    let place = Place::new();
    let marker = place.file("runs");
    let script = format!("touch {}; exec sleep 600", marker.display());
    let mut leader = Host::start(place.tenure().args(["run", "job", "--", "sh", "-c", &script]));
    wait_until("the command", || marker.exists());
    for options in [&["--try"][..], &["--wait", "0"], &["--wait", "200ms"]] {
        let output = place.output(&[&["run", "job"], options, &["--", "true"]].concat());
        assert_eq!(output.status.code(), Some(75), "{options:?}");
    }
    assert_eq!(place.status(&["run", "job", "--try", "-E", "9", "--", "true"]), 9);
    // Nobody leads yet in a store that is new, and the command runs nowhere.
    let store = format!("sqlite://{}", place.file("new.db").display());
    let new = ["run", "job", "--store", &store, "--try", "-E", "9", "--", "true"];
    assert_eq!(place.status(&new), 75);
    // Other elections are not concerned.
    assert_eq!(place.status(&["run", "other", "--try", "--", "true"]), 0);
    leader.signal(Signal::SIGTERM);
    assert_eq!(leader.ends(), Some(143));
    assert_eq!(place.status(&["run", "job", "--try", "--", "true"]), 0);
}

#[test]
fn the_command_has_its_election_and_no_secrets() {
    let place = Place::new();
    let mut command = place.tenure();
    command.env("TENURE_STORE", format!("sqlite://{}", place.file("own.db").display()));
    command.env("TENURE_TTL", "8s").env("TENURE_METADATA", "hunter2").env("OTHER", "kept");
    // The environment of the guard, which the command's parent is, has none either.
    let script = "env; tr '\\0' '\\n' < /proc/$PPID/environ | sed 's/^/guard /'";
    command.args(["run", "job", "--name", "host-a", "--", "sh", "-c", script]);
    let output = command.output().unwrap();
    let output = text(&output.stdout);
    let ours = output.lines().filter(|line| line.contains("TENURE_"));
    // The store's name is there as it came.
    let (store, ours): (Vec<&str>, Vec<&str>) = ours.partition(|line| line.contains("_STORE="));
    assert!(ours.contains(&"TENURE_KEY=job") && ours.contains(&"TENURE_NAME=host-a"), "{ours:?}");
    let token = ours.iter().find_map(|line| line.strip_prefix("TENURE_TOKEN=")).unwrap();
    assert!(token.parse::<u64>().unwrap() > 0);
    assert_eq!(ours.len(), 5, "three, and two of the guard: {ours:?}");
    assert_eq!(store.len(), 2, "one is the guard's: {store:?}");
    assert!(output.contains("OTHER=kept") && !output.contains("hunter2"));
}

#[test]
fn a_password_on_the_command_line_is_warned_of() {
    let place = Place::new();
    let file = place.file("url");
    fs::write(&file, "redis://:hunter2@127.0.0.1:1\n").unwrap();
    let named = place.output(&[
        "run",
        "job",
        "--try",
        "--store-file",
        file.to_str().unwrap(),
        "--",
        "true",
    ]);
    let given = place.output(&[
        "run",
        "job",
        "--try",
        "--store",
        "redis://:hunter2@127.0.0.1:1",
        "--",
        "true",
    ]);
    assert_eq!((named.status.code(), given.status.code()), (Some(69), Some(69)));
    assert!(!text(&named.stderr).contains("--store-file, or into TENURE_STORE"));
    let said = text(&given.stderr);
    assert!(said.contains("has a password in it") && !said.contains("hunter2"), "{said}");
}

#[test]
fn input_and_output_are_those_of_the_command() {
    let place = Place::new();
    let mut command = place.tenure();
    command.args(["run", "job", "--", "tr", "a-z", "A-Z"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"hello").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("HELLO", Some(0)));
}

/// A command that says which signals it was sent, until SIGUSR2.
fn listener(place: &Place) -> (Host, std::path::PathBuf) {
    let said = place.file("said");
    let traps: String = ["HUP", "INT", "QUIT", "TERM", "USR1"]
        .map(|name| format!("trap 'echo {name} >> {}' {name}; ", said.display()))
        .concat();
    let script = format!(
        "{traps} trap 'exit 5' USR2; echo ready >> {}; while :; do sleep 0.01; done",
        said.display()
    );
    let command = ["run", "job", "--stop-grace", "1h", "--", "bash", "-c", &script];
    let host = Host::start(place.tenure().args(command));
    wait_until("the command", || said.exists());
    (host, said)
}

#[test]
fn signals_reach_the_command() {
    let place = Place::new();
    let (mut host, said) = listener(&place);
    for (signal, name) in [
        (Signal::SIGUSR1, "USR1"),
        (Signal::SIGHUP, "HUP"),
        (Signal::SIGINT, "INT"),
        (Signal::SIGQUIT, "QUIT"),
        (Signal::SIGTERM, "TERM"),
    ] {
        host.signal(signal);
        wait_until(name, || fs::read_to_string(&said).unwrap().lines().any(|line| line == name));
    }
    assert!(!host.has_ended());
    host.signal(Signal::SIGUSR2);
    assert_eq!(host.ends(), Some(5));
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let place = Place::new();
    let marker = place.file("runs");
    let mut command = std::process::Command::new("sh");
    let script = format!(
        "trap '' HUP; exec {} run job -- sh -c 'kill -HUP $$; touch {}; exec sleep 600'",
        env!("CARGO_BIN_EXE_tenure"),
        marker.display()
    );
    command.args(["-c", &script]).env("XDG_STATE_HOME", place.file("state"));
    let mut host = Host::start(&mut command);
    wait_until("the command", || marker.exists());
    host.signal(Signal::SIGHUP);
    thread::sleep(Duration::from_millis(200));
    assert!(!host.has_ended());
    host.signal(Signal::SIGTERM);
    assert_eq!(host.ends(), Some(143));
}

#[test]
fn a_command_that_ignores_sigterm_is_killed() {
    let place = Place::new();
    let marker = place.file("runs");
    let script = format!("trap '' TERM; touch {}; while :; do sleep 0.1; done", marker.display());
    let arguments = ["run", "job", "--stop-grace", "300ms", "--", "sh", "-c", &script];
    let mut host = Host::start(place.tenure().args(arguments));
    wait_until("the command", || marker.exists());
    host.signal(Signal::SIGTERM);
    assert_eq!(host.ends(), Some(137));
    // The lease was given back.
    assert_eq!(place.status(&["run", "job", "--try", "--", "true"]), 0);
}

#[test]
fn a_host_that_waits_ends_by_signals() {
    let place = Place::new();
    let mut leader = Host::start(place.tenure().args(["run", "job", "--", "sleep", "600"]));
    wait_until("a leader", || place.status(&["status", "job"]) == 0);
    for (signal, status) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130), (Signal::SIGQUIT, 131)]
    {
        let log = place.file("log");
        let mut command = place.tenure();
        command.args(["run", "job", "--verbose", "--", "true"]);
        let mut waits = Host::start(command.stderr(fs::File::create(&log).unwrap()));
        // It handles signals before it asks the store.
        wait_until("a host that waits", || {
            fs::read_to_string(&log).unwrap().contains("another candidate has the lease")
        });
        waits.signal(signal);
        assert_eq!(waits.ends(), Some(status));
    }
    leader.signal(Signal::SIGINT);
    assert_eq!(leader.ends(), Some(130));
}

/// Without a terminal that may have gone, SIGHUP asks a program to read its settings again.
#[test]
fn a_host_that_waits_outlives_sighup() {
    let place = Place::new();
    let leader = Host::start(place.tenure().args(["run", "job", "--", "sleep", "600"]));
    wait_until("a leader", || place.status(&["status", "job"]) == 0);
    let script = "exec setsid tenure run job --verbose -- true 2> log";
    let mut waits = Host::start(&mut place.shell(script));
    wait_until("a host that waits", || {
        let log = fs::read_to_string(place.file("log")).unwrap_or_default();
        log.contains("another candidate has the lease")
    });
    waits.signal(Signal::SIGHUP);
    thread::sleep(Duration::from_millis(200));
    leader.signal(Signal::SIGTERM);
    assert_eq!(waits.ends(), Some(0));
}

#[test]
fn a_command_that_outlives_a_signal_starts_again() {
    let place = Place::new();
    let (runs, reloads) = (place.file("runs"), place.file("reloads"));
    let script = format!(
        "trap 'echo >> {}' HUP INT; echo >> {}; while :; do sleep 0.05; done",
        reloads.display(),
        runs.display()
    );
    let mut command = place.tenure();
    command.env("TENURE_TTL", "8s").args(["run", "job", "--", "sh", "-c", &script]);
    let mut host = Host::start(&mut command);
    let has_lines = |file, count| {
        wait_until("a line of the command", || {
            fs::read_to_string(file).unwrap_or_default().lines().count() >= count
        });
    };
    has_lines(&runs, 1);
    host.signal(Signal::SIGHUP);
    has_lines(&reloads, 1);
    host.signal(Signal::SIGINT);
    has_lines(&reloads, 2);
    // A pause of the supervisor that is longer than its lease.
    host.signal(Signal::SIGSTOP);
    thread::sleep(Duration::from_secs(9));
    host.signal(Signal::SIGCONT);
    has_lines(&runs, 2);
    assert!(!host.has_ended());
}

/// `timeout` sends it to the process, and to its group.
#[test]
fn sigterm_that_is_repeated_gives_the_lead_back() {
    let place = Place::new();
    for _ in 0..3 {
        let marker = place.file("runs");
        let script = format!("touch {}; exec sleep 600", marker.display());
        let mut command = place.tenure();
        command.env("TENURE_TTL", "1h").args(["run", "job", "--", "sh", "-c", &script]);
        let mut host = Host::start(&mut command);
        wait_until("the command", || marker.exists());
        fs::remove_file(&marker).unwrap();
        wait_until("the end of tenure", || {
            for _ in 0..10 {
                host.signal(Signal::SIGTERM);
                thread::sleep(Duration::from_micros(300));
            }
            host.has_ended()
        });
        assert_eq!(place.status(&["status", "job"]), 1, "the lead was given back");
    }
    let script = "TENURE_TTL=1h timeout 2 tenure run job -- sleep 600; tenure status job";
    let output = place.shell(script).output().unwrap();
    assert_eq!(text(&output.stdout), "job: nobody leads\n");
}

/// The record that the last run has left is no other candidate.
#[test]
fn another_ttl_is_no_error() {
    let place = Place::new();
    for ttl in ["2s", "4s", "2s"] {
        let mut command = place.tenure();
        command.env("TENURE_TTL", ttl).args(["run", "job", "--", "true"]);
        let output = command.output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(!said.contains("ERROR") && !said.contains("another candidate"), "{said}");
    }
}

#[test]
fn nothing_outlives_the_command() {
    let place = Place::new();
    let file = place.file("processes");
    let script = format!(
        "sleep 600 & echo $! > {0}; setsid sleep 600 & echo $! >> {0}; exit 3",
        file.display()
    );
    assert_eq!(shell(&place, &script).status.code(), Some(3));
    for process in fs::read_to_string(&file).unwrap().lines() {
        assert!(!super::hosts::lives(process.parse().unwrap()), "{process}");
    }
}

/// Checked where the doctor says that this user may make one.
#[test]
fn the_command_has_a_control_group() {
    let place = Place::new();
    let doctor = text(&place.output(&["doctor"]).stdout);
    if doctor.contains("they have no control group of their own: ") {
        eprintln!("NOT CHECKED: {doctor}");
        return;
    }
    assert!(doctor.contains("and by a control group of their own"), "{doctor}");
    let script = "cat /proc/self/cgroup /proc/self/mountinfo";
    let output = place.output(&["run", "job", "--verbose", "--", "sh", "-c", script]);
    assert!(text(&output.stderr).contains("and by a control group of their own"));
    let output = text(&output.stdout);
    let group = output.lines().find_map(|line| line.strip_prefix("0::")).unwrap();
    assert!(group.contains("/job-"), "{group}");
    let mount = output.lines().find(|line| line.contains(" - cgroup2 ")).unwrap();
    let words: Vec<&str> = mount.split(' ').collect();
    let group = format!("{}/{}", words[4], group.trim_start_matches(words[3]));
    assert!(!std::path::Path::new(&group).exists(), "{group} is left");
}

#[test]
fn a_loss_ends_a_command_that_runs_once() {
    let place = Place::new();
    let marker = place.file("runs");
    let script = format!("touch {}; exec sleep 600", marker.display());
    let mut command = place.tenure();
    command.env("TENURE_TTL", "2s").args(["run", "job", "--once", "--", "sh", "-c", &script]);
    let mut host = Host::start(&mut command);
    wait_until("the command", || marker.exists());
    // A pause of the supervisor that is longer than its lease.
    host.signal(Signal::SIGSTOP);
    thread::sleep(Duration::from_secs(3));
    host.signal(Signal::SIGCONT);
    assert_eq!(host.ends(), Some(76));
}
