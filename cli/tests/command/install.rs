//! Files installed beside the command: completions, as bash uses them, and manual pages.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use super::hosts::Place;

const COMMANDS: [&str; 10] = [
    "completions",
    "doctor",
    "handover",
    "man",
    "migrate",
    "notify",
    "purge",
    "run",
    "sidecar",
    "status",
];

/// The offers for the last word, in a bash that loaded the completions.
fn offered(words: &[&str]) -> BTreeSet<String> {
    let script = r#"
        source <("$0" completions bash)
        COMP_WORDS=(tenure "$@"); COMP_CWORD=$#
        _tenure tenure "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let bash = Command::new("bash")
        .args(["--norc", "--noprofile", "-euc", script, env!("CARGO_BIN_EXE_tenure")])
        .args(words)
        .output()
        .unwrap();
    assert!(bash.status.success(), "{bash:?}");
    String::from_utf8(bash.stdout).unwrap().lines().map(ToOwned::to_owned).collect()
}

#[test]
fn bash_completes_commands_and_options() {
    assert_eq!(offered(&["hand"]), BTreeSet::from(["handover".to_owned()]));
    assert_eq!(offered(&["run", "--stop"]), BTreeSet::from(["--stop-grace".to_owned()]));
    let all = offered(&[""]);
    assert!(COMMANDS.iter().all(|one| all.contains(*one)), "{all:?}");
    assert!(!all.iter().any(|one| one.starts_with("__")), "{all:?}");
}

#[test]
fn every_command_has_a_manual_page() {
    let place = Place::new();
    let folder = place.file("man");
    assert_eq!(place.status(&["man", "--out", folder.to_str().unwrap()]), 0);
    for one in COMMANDS {
        let page = fs::read_to_string(folder.join(format!("tenure-{one}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH DESCRIPTION"), "{one}: {page}");
    }
    let page = String::from_utf8(place.output(&["man"]).stdout).unwrap();
    assert_eq!(page, fs::read_to_string(folder.join("tenure.1")).unwrap());
    let refused = place.output(&["man", "--out", "/dev/null/man"]);
    assert_eq!(refused.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--out: /dev/null/man"));
}
