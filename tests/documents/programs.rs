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
