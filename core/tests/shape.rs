//! The absence of dependencies, an allocator, the standard library and floating point.

use crate::sights::{NAME, RENEWED, looked, unwatched};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tenure_core::{
    Candidate, Config, Event, Input, Instant, Output, Reply, Request, Seed, Token, Unknown,
};

#[test]
fn depends_on_nothing_unless_asked_to() {
    let manifest = include_str!("../Cargo.toml");
    let (mut table, mut depends) = ("", Vec::new());
    for line in manifest.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with('[') {
            table = line;
        } else if table.contains("dependencies") && table != "[dev-dependencies]" {
            depends.push((table, line));
        }
    }
    let serde = r#"serde = { version = "1", default-features = false, optional = true }"#;
    assert_eq!(depends, [("[dependencies]", serde)]);
    assert!(!manifest.contains("default ="), "no feature is on by default");
}

#[test]
fn is_no_std_without_alloc_or_floats() {
    assert!(include_str!("../src/lib.rs").contains("\n#![no_std]\n"));
    let mut files = 0;
    for file in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = std::fs::read_to_string(&file).expect("readable");
        files += 1;
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let words: Vec<_> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            for banned in ["extern", "alloc", "std", "f32", "f64", "unsafe"] {
                let found = words.contains(&banned);
                assert!(!found, "{}:{}: {line}", file.display(), number + 1);
            }
        }
    }
    assert!(files > 10, "looked at {files} files only");
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found
}

/// A run with unknown outcomes, a past that is watched, a tenure that expires, and a second tenure.
#[test]
fn allocates_nothing() {
    let mut candidate = Candidate::new(Config::normal(), NAME, Seed::new(7));
    let mut elected = 0;
    let counted = allocation_counter::measure(|| elected = live(&mut candidate));
    assert_eq!(elected, 2, "{candidate:?}");
    assert_eq!(counted.count_total, 0);
}

/// The number of its elections.
fn live(candidate: &mut Candidate) -> u32 {
    let mut now = Instant::from_nanos(1);
    let mut elected = 0;
    let mut requests = 0;
    let mut input = Input::Campaign;
    for _ in 0..120 {
        candidate.handle(now, input);
        let mut next = None;
        if candidate.pending().is_some() {
            next = Some(Input::Admitted);
        }
        while let Some(output) = candidate.poll() {
            match output {
                Output::Send { id, request, .. } => {
                    requests += 1;
                    next = Some(Input::Reply { id, result: answer(requests, request) });
                }
                Output::Event(Event::Elected(_)) => elected += 1,
                Output::Event(_) => {}
            }
        }
        let _ = candidate.claim(now);
        now = if next.is_some() {
            now + Duration::from_millis(3)
        } else {
            candidate.deadline().unwrap_or(now)
        };
        // Nothing sent and nothing to wait for: the expired tenure's work has to end.
        input = next.unwrap_or(if candidate.deadline().is_some() {
            Input::Wake
        } else {
            Input::Drained
        });
    }
    elected
}

/// The store's answer to the request of that number.
fn answer(number: u32, request: Request) -> Result<Reply, Unknown> {
    match (number, request) {
        (1, _) => Err(Unknown),
        (2, Request::Acquire(_)) => Ok(unwatched(1, Duration::ZERO)),
        (_, Request::Look { .. }) => Ok(looked(unwatched(1, Duration::ZERO))),
        (..=9, Request::Acquire(_)) => Ok(Reply::Granted { token: Token::FIRST }),
        (..=15, Request::Renew { .. }) => Ok(RENEWED),
        (_, Request::Renew { .. }) => Err(Unknown),
        (_, Request::Acquire(_)) => Ok(Reply::Granted { token: Token::FIRST.next() }),
        (_, Request::Release { .. }) => Ok(Reply::Released),
        (_, Request::Ask { .. } | Request::Want { .. } | Request::Purge { .. }) => Err(Unknown),
    }
}
