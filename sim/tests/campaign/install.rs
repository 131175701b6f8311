//! Files installed beside the command: completions, as a shell uses them, and manual pages, as
//! `man` shows them.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use super::{command, path, refused};

/// The subcommands that `--help` lists.
fn subcommands() -> BTreeSet<String> {
    let help = String::from_utf8(command(&["--help"]).stdout).unwrap();
    let list = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names = names.filter(|name| !name.is_empty() && *name != "help").map(ToOwned::to_owned);
    names.collect()
}

/// A bash's offers for the last word, with the completions loaded.
fn offered(words: &[&str]) -> BTreeSet<String> {
    let script = r#"
        source <("$0" completions bash)
        COMP_WORDS=(tenure-sim "$@"); COMP_CWORD=$#
        complete=$(complete -p tenure-sim); function=${complete#*-F }; function=${function%% *}
        "$function" tenure-sim "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let bash = Command::new("bash")
        .args(["--norc", "--noprofile", "-euc", script, env!("CARGO_BIN_EXE_tenure-sim")])
        .args(words)
        .output()
        .unwrap();
    assert!(bash.status.success(), "{bash:?}");
    String::from_utf8(bash.stdout).unwrap().lines().map(ToOwned::to_owned).collect()
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn bash_completes_commands_flags_and_values() {
    assert_eq!(offered(&["rep"]), set(&["replay"]));
    assert_eq!(offered(&["replay", "--bey"]), set(&["--beyond"]));
    assert_eq!(offered(&["replay", "--engine", "mo"]), set(&["model"]));
    let all = offered(&[""]);
    assert!(all.is_superset(&subcommands()), "{all:?}");
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = command(&["completions", shell]);
        let text = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && text.contains("shrink"), "{shell}: {ran:?}");
    }
    refused(&["completions", "cmd"], &["cmd", "bash, elvish, fish, powershell, zsh"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "man/man1");
    // Twice: an installed page is replaced.
    for _ in 0..2 {
        let ran = command(&["man", "--out", &out]);
        assert!(ran.status.success(), "{ran:?}");
    }
    let pages: BTreeSet<String> = fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut expected: BTreeSet<String> =
        subcommands().iter().map(|name| format!("tenure-sim-{name}.1")).collect();
    expected.insert("tenure-sim.1".to_owned());
    assert!(expected.len() > 15, "{expected:?}");
    assert_eq!(pages, expected);
    for page in &pages {
        let text = formatted(&path(folder.path(), &format!("man/man1/{page}")));
        for heading in ["NAME", "SYNOPSIS", "OPTIONS"] {
            assert!(text.contains(heading), "{page}: no {heading} in {text}");
        }
    }
    let printed = command(&["man"]).stdout;
    assert_eq!(printed, fs::read(path(folder.path(), "man/man1/tenure-sim.1")).unwrap());
    let text = formatted(&path(folder.path(), "man/man1/tenure-sim-shrink.1"));
    assert!(text.contains("--property"), "{text}");
}

/// The page as the formatter of `man` lays it out, without bold type. Its warnings are errors.
fn formatted(page: &str) -> String {
    let groff = Command::new("groff")
        .args(["-man", "-Tascii", "-ww", "-P-c", page])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(groff.status.success() && groff.stderr.is_empty(), "{page}: {groff:?}");
    let mut text = String::from_utf8(groff.stdout).unwrap();
    // A bold letter is the letter, a backspace and the letter again.
    while let Some(at) = text.find('\u{8}') {
        text.replace_range(at - 1..=at, "");
    }
    text
}

#[test]
fn manual_pages_need_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "file");
    fs::write(&file, "keep").unwrap();
    refused(&["man", "--out", &file], &["file", "exists"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "keep");
}
