//! Programs that pages show and that are examples too.

use super::read;

/// The first block of that language on a page.
fn block<'a>(page: &'a str, language: &str) -> &'a str {
    let after = page.split_once(&format!("```{language}\n")).expect("a block of that language").1;
    after.split_once("```").expect("the end of the block").0
}

#[test]
fn the_readme_shows_the_example() {
    let (readme, example) = (read("README.md"), read("tenure/examples/nightly_report.rs"));
    let block = block(&readme, "rust");
    assert!(block.contains("run_until") && example.contains(block), "{block}");
}

/// The page shows the program for Redis, and which lines differ for SQLite; the example has those.
#[test]
fn getting_started_shows_the_minimal_example() {
    let (page, example) = (read("docs/getting-started.md"), read("tenure/examples/minimal.rs"));
    let mut program = block(&page, "rust,no_run").to_owned();
    let lines: Vec<_> = block(&page, "diff").lines().collect();
    assert_eq!(lines.len(), 4);
    for pair in lines.chunks(2) {
        let (old, new) = (pair[0].strip_prefix('-').unwrap(), pair[1].strip_prefix('+').unwrap());
        assert_eq!(program.matches(old).count(), 1, "{old}");
        program = program.replace(old, new);
    }
    assert!(example.ends_with(&program), "the example differs from\n{program}");
}
