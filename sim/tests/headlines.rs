//! The headline of a doc comment is a noun phrase or a verb, so that it says at once what an item
//! is or does.

use std::fs;

use super::architecture::{files, root};

/// Words that begin a clause.
const CLAUSES: [&str; 12] =
    ["As", "How", "If", "Of", "That", "What", "When", "Where", "Whether", "Which", "Who", "Why"];

/// A file, the first line of a headline in it, and the reason why no other wording would do.
const EXCEPTIONS: [(&str, &str, &str); 0] = [];

/// The first line of each doc comment, and its number.
fn headlines(text: &str) -> Vec<(usize, &str)> {
    let mut before = None;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let doc =
            ["///", "//!"].into_iter().find_map(|mark| Some((mark, line.strip_prefix(mark)?)));
        // Four slashes begin an ordinary comment.
        let doc = doc.filter(|(_, text)| !text.starts_with('/'));
        if let Some((mark, text)) = doc
            && before != Some(mark)
        {
            found.push((index + 1, text.trim()));
        }
        before = doc.map(|(mark, _)| mark);
    }
    found
}

fn is_clause(headline: &str) -> bool {
    let word = headline.split(|c: char| !c.is_alphabetic()).next();
    word.is_some_and(|word| CLAUSES.contains(&word))
}

#[test]
fn headlines_are_no_clauses() {
    let root = root();
    let (mut count, mut faults) = (0, Vec::new());
    for path in files(&root) {
        let text = fs::read_to_string(&path).unwrap();
        let file = path.strip_prefix(&root).unwrap().to_str().unwrap();
        for (line, headline) in headlines(&text) {
            count += 1;
            let is_excepted = EXCEPTIONS.iter().any(|one| (one.0, one.1) == (file, headline));
            if is_clause(headline) && !is_excepted {
                faults.push(format!("{file}:{line}: {headline}"));
            }
        }
    }
    assert!(count > 5_000, "{count} headlines");
    let rule = "a headline is a noun phrase or a verb";
    assert!(faults.is_empty(), "{rule}; {} are not:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn headlines_are_read() {
    let text =
        "//! A store.\n//! What.\n\n    /// What's kept.\n//// Which.\n// Who.\n/// Whatever.";
    let found = headlines(text);
    assert_eq!(found, [(1, "A store."), (4, "What's kept."), (7, "Whatever.")]);
    assert_eq!(found.iter().filter(|(_, headline)| is_clause(headline)).count(), 1);
}
