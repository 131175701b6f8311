//! The book of all pages in docs/, which `scripts/book` makes.

use std::collections::BTreeSet;

use super::links::{pages, targets};
use super::{read, root};

#[test]
fn the_book_has_every_page_once() {
    let docs = root().join("docs");
    let mut found = Vec::new();
    pages(&docs, &mut found);
    let names = found.iter().map(|path| path.strip_prefix(&docs).unwrap().display().to_string());
    let mut expected: BTreeSet<_> = names.collect();
    assert!(expected.remove("SUMMARY.md") && expected.len() > 30);

    let summary = read("docs/SUMMARY.md");
    let listed = targets(&summary);
    let once: BTreeSet<_> = listed.iter().map(|&target| target.to_owned()).collect();
    assert_eq!(once.len(), listed.len(), "a page is listed twice");
    assert_eq!(once, expected);
}
