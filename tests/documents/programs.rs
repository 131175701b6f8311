//! The program that a page shows for two stores.

use super::read;

/// The first block of that language on a page.
fn block<'a>(page: &'a str, language: &str) -> &'a str {
    let after = page.split_once(&format!("```{language}\n")).expect("a block of that language").1;
    after.split_once("```").expect("the end of the block").0
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

#[test]
fn the_page_on_testing_shows_the_example() {
    let page = read("docs/testing-your-code.md");
    let shown = block(&page, "rust").split_once("\n\n").expect("imports, then the program").1;
    assert!(shown.contains("World::new") && shown.contains("#[tokio::test]\n"));
    // The example calls the test itself, so it has it without the attribute.
    let shown = shown.replace("#[tokio::test]\n", "");
    let example = read("tenure/examples/testing.rs");
    assert!(example.contains(shown.trim_end()), "no example has\n{shown}");
}
