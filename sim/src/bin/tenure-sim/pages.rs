//! The simulator's command lines on pages: this command accepts each of them.

use clap::Parser;
use clap::error::ErrorKind;

use crate::Arguments;

#[allow(dead_code, reason = "the tests of pages use the rest of it")]
#[path = "../../../../tests/documents/shell.rs"]
mod shell;

/// Fills in a placeholder for a name or a number.
fn filled_in(argument: &str) -> &str {
    match argument {
        "NAME" => "drift",
        "N" => "7",
        other => other,
    }
}

/// The fault of a command line, if any. A sentence may leave out the arguments that are needed.
fn fault(command: &shell::Command) -> Option<String> {
    let arguments = shell::simulator(&command.text)?;
    let name = std::iter::once("tenure-sim");
    let error = Arguments::try_parse_from(name.chain(arguments.iter().map(|one| filled_in(one))));
    match error.err()? {
        error if command.in_prose && error.kind() == ErrorKind::MissingRequiredArgument => None,
        error => Some(format!("{}:{}: {}: {error}", command.page, command.line, command.text)),
    }
}

fn commands(page: &str, text: &str) -> Vec<shell::Command> {
    let all = shell::commands(page, text).into_iter();
    all.filter(|command| shell::simulator(&command.text).is_some()).collect()
}

#[test]
fn every_command_line_on_a_page_is_accepted() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let pages = shell::pages(&root.canonicalize().expect("the folder of the repository"));
    let commands: Vec<_> = pages.iter().flat_map(|(page, text)| commands(page, text)).collect();
    let faults: Vec<_> = commands.iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(commands.len() > 80, "{} commands", commands.len());
}

#[test]
fn a_command_line_that_is_refused_is_found() {
    let found = |page| commands("page.md", page).iter().filter_map(fault).count();
    assert_eq!(
        found("```sh\nsim run --runs 3 --engine model   # some\nsim list > names\n```\n"),
        0
    );
    assert_eq!(
        found("```sh\ncargo run -p tenure-sim -- rnu\nsim run --rusn 3\nsim shrink\n```\n"),
        3
    );
    assert_eq!(
        found("```sh\nfor i in 1 2; do\n  tenure-sim run --shard \"$i/$n\" --lost &\ndone\n```\n"),
        1
    );
    assert_eq!(
        found("```yaml\n- tenure-sim lost\ntenure-sim run \\\n  --shard \"$((I + 1))/2\"\n```\n"),
        0
    );
    assert_eq!(found("```yaml\n  tenure-sim run \\\n  --shard \"$((I + 1))/none\"\n```\n"), 1);
    assert_eq!(
        found("The command `sim shrink` and `tenure-sim run\n--control NAME`, not `sim lost`.\n"),
        1
    );
}
