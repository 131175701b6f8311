//! A log and an output that can't be written, or that nobody reads.

use std::fs;
use std::io::{PipeReader, Write};
use std::process::Stdio;

use nix::sys::signal::Signal;
use rustix::fs::{OFlags, fcntl_setfl};

use super::hosts::{Host, Place, wait_until};

/// A pipe without room, and its other end, which nobody reads.
fn full() -> (Stdio, PipeReader) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
    while writer.write(&[b'.'; 4096]).is_ok() {}
    while writer.write(b".").is_ok() {}
    fcntl_setfl(&writer, OFlags::empty()).unwrap();
    (writer.into(), reader)
}

#[test]
fn a_log_that_can_not_be_written_ends_no_command() {
    let place = Place::new();
    for log in ["2> /dev/full", "2>&-", "2>&1 | true"] {
        let script = format!(
            "{{ tenure run job --verbose -- sh -c 'sleep 0.5; exit 7'; echo $? > status; }} {log}"
        );
        place.shell(&script).output().unwrap();
        assert_eq!(fs::read_to_string(place.file("status")).unwrap(), "7\n", "{log}");
        let next = "tenure run job --try -- true";
        assert!(place.shell(next).status().unwrap().success(), "{log}: the lead was given back");
    }
    let wrong = place.shell("tenure run job -- /no/such/command 2> /dev/full").status().unwrap();
    assert_eq!(wrong.code(), Some(127));
}

#[test]
fn a_log_that_nobody_reads_costs_no_lead() {
    let place = Place::new();
    let (log, reader) = full();
    let mut command = place.tenure();
    command.env("TENURE_TTL", "15s").env("TENURE_RENEW_INTERVAL", "500ms");
    command.args(["run", "job", "--name", "host-a", "--verbose", "--", "sh", "-c"]);
    command.arg("sleep 16; exit 7").stderr(log);
    let mut host = Host::start(&mut command);
    // Without renewals, the lead would be lost before its end.
    assert_eq!(host.ends(), Some(7));
    assert_eq!(place.status(&["run", "job", "--try", "--", "true"]), 0, "the lead was given back");
    drop(reader);
}

/// The guard and the command's own process have the same log.
#[test]
fn a_message_that_nobody_reads_delays_no_end() {
    let place = Place::new();
    for (status, arguments) in [
        (127, &["run", "job", "--", "/no/such/command"][..]),
        (64, &["run", "job", "--store", "mysql://host", "--", "true"]),
        (1, &["handover", "job"]),
    ] {
        let (log, reader) = full();
        let mut host = Host::start(place.tenure().args(arguments).stderr(log));
        assert_eq!(host.ends(), Some(status), "{arguments:?}");
        drop(reader);
    }
}

#[test]
fn a_sidecar_outlives_its_log() {
    let place = Place::new();
    let (nobody_reads, reader) = full();
    for log in [Stdio::from(fs::File::create("/dev/full").unwrap()), nobody_reads] {
        let mut command = place.tenure();
        command.args(["sidecar", "job", "--verbose", "--name", "host-a"]);
        let mut host = Host::start(command.args(["--listen", "127.0.0.1:0"]).stderr(log));
        let look = ["status", "job", "--wait-for", "host-a", "--timeout", "5s"];
        wait_until("the lead", || place.status(&look) == 0);
        assert!(!host.has_ended());
        host.signal(Signal::SIGTERM);
        assert_eq!(host.ends(), Some(143));
        assert_eq!(place.status(&["status", "job"]), 1, "the lead was given back");
    }
    drop(reader);
}

#[test]
fn an_output_that_can_not_be_written_has_a_status() {
    let place = Place::new();
    for command in [
        "tenure status job",
        "tenure status job --watch",
        "tenure doctor",
        "tenure man",
        "tenure purge --older-than 1h",
    ] {
        let output = place.shell(&format!("{command} > /dev/full")).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(71), "{command}: {said}");
        assert!(said.contains("the output: No space left on device"), "{command}: {said}");
    }
}

/// Nothing changes, so nothing more is printed.
#[test]
fn readers_that_have_gone_end_a_watch() {
    let place = Place::new();
    let script = "{ timeout 60 tenure status job --watch; echo $? > status; } | head -n 1";
    let output = place.shell(script).output().unwrap();
    assert_eq!(output.stdout, b"job: nobody leads\n");
    assert_eq!(fs::read_to_string(place.file("status")).unwrap(), "0\n");
}

/// The store does not answer, so nothing is printed at all.
#[test]
fn readers_that_have_gone_end_a_list() {
    let place = Place::new();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let script = format!(
        "{{ timeout 120 tenure status --all --timeout 1h --store redis://{address}; echo $? > status; }} | true"
    );
    let output = place.shell(&script).output().unwrap();
    assert_eq!(fs::read_to_string(place.file("status")).unwrap(), "2\n");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!said.contains("panicked") && !said.contains("the output"), "{said}");
}
