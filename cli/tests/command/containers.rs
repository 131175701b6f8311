//! `tenure` as the first process of a container, which is a namespace of processes here; and what
//! ops/ has for images.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use serde_json::Value;

use super::hosts::{Host, Place, send, wait_until};
use super::http::Sidecar;

/// `tenure`, with these arguments, as process 1 of a namespace of its own, with its own `/proc`.
fn as_first_process(place: &Place, arguments: &[&str]) -> Command {
    let refused =
        Command::new("unshare").args(["--pid", "--fork", "--mount-proc", "true"]).output();
    let refused = refused.unwrap_or_else(|error| panic!("unshare (of util-linux): {error}"));
    assert!(
        refused.status.success(),
        "this test needs the right to make a namespace of processes (root, or CAP_SYS_ADMIN): {}",
        String::from_utf8_lossy(&refused.stderr)
    );
    let tenure = place.tenure();
    let mut command = Command::new("unshare");
    // With its end, that of all its processes.
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child"]).arg(tenure.get_program());
    for (name, value) in tenure.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.args(arguments);
    command
}

/// The number outside of the namespace of its first process.
fn first_process(unshare: &Host) -> i32 {
    let file = format!("/proc/{0}/task/{0}/children", unshare.id());
    let mut first = None;
    wait_until("the first process", || {
        let children = fs::read_to_string(&file).unwrap_or_default();
        first = children.split_whitespace().next().and_then(|child| child.parse().ok());
        first.is_some()
    });
    first.unwrap()
}

/// Those that have ended, and that nobody has waited for, in the namespace of that process.
fn zombies(first: i32) -> usize {
    let namespace = |process: &Path| fs::read_link(process.join("ns/pid")).ok();
    let own = namespace(Path::new(&format!("/proc/{first}"))).expect("the first process");
    let is_zombie = |process: &Path| {
        let status = fs::read_to_string(process.join("status")).unwrap_or_default();
        // A zombie has no namespace any more, but a number in each of them.
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        let is_inner = numbers.is_some_and(|numbers| numbers.split_whitespace().count() >= 2);
        status.contains("State:\tZ") && is_inner
    };
    assert_ne!(namespace(Path::new("/proc/self")), Some(own), "a namespace of its own");
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    processes.filter(|process| is_zombie(process) && ancestor(process, first)).count()
}

/// True if the process descends from that one.
fn ancestor(process: &Path, of: i32) -> bool {
    let number = process.file_name().and_then(|name| name.to_str()?.parse::<i32>().ok());
    let up = std::iter::successors(number, |process| super::hosts::parent(*process));
    up.take(64).any(|process| process == of)
}

/// Processes of the namespace, by their number there, that have such a name.
fn count(first: i32, name: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let is_named = |process: &Path| {
        let said = fs::read_to_string(process.join("comm")).unwrap_or_default();
        said.trim() == name && ancestor(process, first)
    };
    processes.filter(|process| is_named(process)).count()
}

/// Starts something in the namespace, as `docker exec` does, and leaves it there as an orphan.
fn orphan_in(first: i32, script: &str) {
    let target = first.to_string();
    let entering = ["--target", &target, "--pid", "--mount", "sh", "-c"];
    let status =
        Command::new("nsenter").args(entering).arg(format!("({script}) & exit 0")).status();
    assert!(status.unwrap().success());
}

#[test]
fn run_as_first_process_reaps_and_forwards() {
    let place = Place::new();
    let ready = place.file("ready");
    // The orphans of a command, some of which end before it, and some with it.
    let script = format!(
        "trap 'exit 5' TERM; for i in 1 2 3 4 5; do (sleep 0.1 &); (setsid sleep 0.1 &); done; sleep 0.5; \
         (sleep 600 &); touch {}; while :; do sleep 0.05; done",
        ready.display()
    );
    let mut unshare =
        Host::start(&mut as_first_process(&place, &["run", "job", "--", "sh", "-c", &script]));
    wait_until("the command", || ready.exists());
    let first = first_process(&unshare);
    wait_until("no zombies of the command", || zombies(first) == 0);
    for _ in 0..5 {
        orphan_in(first, "sleep 0.1");
    }
    wait_until("the end of orphans that came later", || {
        zombies(first) == 0 && count(first, "sleep") <= 2
    });
    send(first, Signal::SIGTERM);
    assert_eq!(unshare.ends(), Some(5), "the command's own status after SIGTERM");
    assert_eq!(place.status(&["status", "job"]), 1, "the lead was given back");
}

#[test]
fn a_killed_command_has_its_status_there() {
    let place = Place::new();
    for (script, status) in [("exit 7", 7), ("kill -9 $$", 137), ("(sleep 600 &) ; exit 0", 0)] {
        let arguments = ["run", "job", "--", "sh", "-c", script];
        let mut unshare = Host::start(&mut as_first_process(&place, &arguments));
        assert_eq!(unshare.ends(), Some(status), "{script}");
    }
}

#[test]
fn a_sidecar_as_first_process_reaps_and_ends() {
    let place = Place::new();
    let mut command = as_first_process(&place, &["sidecar", "job"]);
    let mut sidecar = Sidecar::start(&place, "log", &mut command);
    wait_until("the lead", || sidecar.leads());
    let first = first_process(&sidecar.host);
    for _ in 0..5 {
        orphan_in(first, "sleep 0.1");
    }
    wait_until("the end of orphans", || zombies(first) == 0 && count(first, "sleep") == 0);
    send(first, Signal::SIGTERM);
    assert_eq!(sidecar.host.ends(), Some(143));
    assert_eq!(place.status(&["status", "job"]), 1, "the lead was given back");
}

fn file(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The container `tenure` of the manifest: its arguments and its probes, with a store of the
/// test's.
#[test]
fn the_sidecar_of_the_manifest_answers_its_probes() {
    let manifest = file("ops/kubernetes/sidecar.yaml");
    let objects = manifest.split("\n---\n").map(|one| serde_saphyr::from_str(one).unwrap());
    let deployment = objects.into_iter().find(|object: &Value| object["kind"] == "Deployment");
    let pod = &deployment.unwrap()["spec"]["template"]["spec"];
    assert_eq!(pod["enableServiceLinks"], false);
    let containers = pod["containers"].as_array().unwrap();
    let container = containers.iter().find(|one| one["name"] == "tenure").unwrap();
    let arguments = container["args"].as_array().unwrap();
    let arguments: Vec<&str> = arguments.iter().map(|one| one.as_str().unwrap()).collect();
    // The probes ask at the port that it listens on, and by an address that is not of the pod
    // alone.
    assert!(arguments.contains(&"0.0.0.0:8406"), "{arguments:?}");
    assert_eq!(container["ports"][0]["containerPort"], 8406);
    let free = arguments.iter().map(|one| if *one == "0.0.0.0:8406" { "0.0.0.0:0" } else { one });

    let place = Place::new();
    let log = place.file("log");
    let mut command = place.tenure();
    command.args(free).env("TENURE_NAME", "pod-1").stdin(Stdio::null());
    let host = Host::start(command.stderr(fs::File::create(&log).unwrap()));
    let mut sidecar = Sidecar::listening(host, log);
    sidecar.address = sidecar.address.replace("0.0.0.0", "127.0.0.1");
    let path = |probe: &str| container[probe]["httpGet"]["path"].as_str().unwrap().to_owned();
    assert_eq!(container["readinessProbe"]["httpGet"]["port"], container["ports"][0]["name"]);
    wait_until("ready", || sidecar.get(&path("readinessProbe")).status == 200);
    assert_eq!(sidecar.get(&path("livenessProbe")).status, 200);
    assert_eq!(sidecar.standing()["name"], "pod-1");
    sidecar.host.signal(Signal::SIGTERM);
    let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
    assert!(grace >= 15, "it ends within 10 s");
    assert_eq!(sidecar.host.ends(), Some(143));
}

/// Docker is not needed: what the file names exists here, and its last line is a command line of
/// `tenure`.
#[test]
fn the_image_has_the_command() {
    let text = file("ops/docker/Dockerfile");
    let one = |word: &str| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
        let found = lines.next().unwrap_or_else(|| panic!("no {word}")).to_owned();
        assert!(lines.next().is_none() || word == "FROM", "two of {word}");
        found
    };
    let list = |word: &str| serde_json::from_str::<Vec<String>>(&one(word)).unwrap();
    assert_eq!(list("ENTRYPOINT"), ["tenure"]);
    let arguments = list("CMD");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let place = Place::new();
    assert_eq!(place.status(&arguments), 0, "{arguments:?}");
    assert!(one("USER").split(':').all(|number| number.parse::<u32>().unwrap() > 0));
    // The profile and the package that it builds, and the commands that its comment shows.
    assert!(one("RUN").contains("--profile dist --path cli --root /installed"));
    assert!(file("Cargo.toml").contains("[profile.dist]"));
    assert!(file("cli/Cargo.toml").contains("name = \"tenure\""));
    assert!(text.contains("COPY --from=build /installed/bin/tenure /usr/local/bin/tenure"));
    let shown = text.lines().find_map(|line| line.split_once("tenure:1 sidecar")).unwrap().1;
    let mut shown: Vec<&str> = shown.split_whitespace().collect();
    // With all that it says, and then help instead of its work.
    shown.insert(0, "sidecar");
    shown.push("--help");
    assert_eq!(place.status(&shown), 0, "{shown:?}");
}
