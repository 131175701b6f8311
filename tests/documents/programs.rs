//! Programs that pages show and that are examples too.

use std::fs;
use std::path::Path;

use super::{read, root};

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

#[test]
fn every_recipe_is_part_of_an_example() {
    let mut examples = Vec::new();
    sources(&root().join("tenure/examples"), &mut examples);
    let page = read("docs/recipes.md");
    let recipes: Vec<_> = page.split("```rust\n").skip(1).collect();
    assert!(recipes.len() >= 6, "{} recipes", recipes.len());
    for recipe in recipes {
        let recipe = recipe.split_once("```").expect("the end of the block").0;
        assert!(
            examples.iter().any(|example| example.contains(recipe)),
            "no example has\n{recipe}"
        );
    }
}

#[test]
fn the_page_on_testing_shows_the_example() {
    let page = read("docs/testing-your-code.md");
    let shown = block(&page, "rust").split("# //").next().unwrap();
    let shown = shown.split_once("\n\n").expect("imports, then the program").1;
    assert!(shown.contains("World::new"));
    let example = read("tenure/examples/testing.rs");
    assert!(example.contains(shown.trim_end()), "no example has\n{shown}");
}

fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else {
            found.push(fs::read_to_string(path).unwrap());
        }
    }
}
