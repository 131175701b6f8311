//! Every block of code on every page is of a known kind, and code in Rust is compiled.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::{read, root, shell};

/// The page whose programs a test of the command runs as they stand there.
const OTHER_LANGUAGES: &str = "docs/other-languages.md";
/// The kinds of blocks that are neither programs nor commands: data, output and settings.
const OTHER: &[&str] = &["diff", "json", "sql", "text", "toml", "yaml"];

/// The Rust files below a folder, if there is one.
fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// The pages whose code rustdoc compiles: those that some crate has as the documentation of an
/// item.
fn doctested() -> BTreeSet<String> {
    let mut files = Vec::new();
    for package in ["core/src", "tenure/src", "sim/src", "servers/src"] {
        rust_files(&root().join(package), &mut files);
    }
    let mut pages = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for at in text.split("#[doc = include_str!(\"").skip(1) {
            let (path, rest) = at.split_once("\")]").unwrap();
            assert!(rest.trim_start().starts_with("struct "), "{}: {path}", file.display());
            let page = file.parent().unwrap().join(path).canonicalize().unwrap();
            pages.insert(page.strip_prefix(root()).unwrap().display().to_string());
        }
    }
    pages
}

/// The text without the indentation that all its lines have.
fn without_indent<'a>(lines: impl Iterator<Item = &'a str> + Clone) -> Vec<&'a str> {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let least = lines.clone().filter(|line| !line.trim().is_empty());
    let least = least.map(|line| indent(&line)).min().unwrap_or(0);
    lines.map(|line| line.get(least..).unwrap_or("")).collect()
}

/// True if these lines stand in the source one after the other, apart from their indentation.
fn is_excerpt(block: &str, source: &str) -> bool {
    let block = without_indent(block.lines());
    let source: Vec<_> = source.lines().collect();
    !block.is_empty()
        && source.windows(block.len()).any(|part| without_indent(part.iter().copied()) == block)
}

/// The examples that a test runs as a process, the code beside this test, and what needs a server:
/// path and text.
fn sources() -> BTreeMap<String, String> {
    let mut programs = Vec::new();
    rust_files(&root().join("tests/programs"), &mut programs);
    let programs: String = programs.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let mut files = Vec::new();
    rust_files(&root().join("tests/documents/shown"), &mut files);
    rust_files(&root().join("integrations"), &mut files);
    rust_files(&root().join("examples"), &mut files);
    files.push(root().join("tests/stores/postgres/old_lock.rs"));
    for entry in fs::read_dir(root().join("tenure/examples")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if !programs.contains(&format!("example(\"{name}\")")) {
            continue;
        }
        if path.is_dir() { rust_files(&path, &mut files) } else { files.push(path) }
    }
    let name = |path: &PathBuf| path.strip_prefix(root()).unwrap().display().to_string();
    files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

/// The fault of a block of Rust, if it has one.
fn fault(
    block: &shell::Block,
    doctested: &BTreeSet<String>,
    sources: &BTreeMap<String, String>,
) -> Option<&'static str> {
    let mut words = block.language.split(',');
    match (words.next(), words.next()) {
        (Some("rust"), None) if sources.values().any(|text| is_excerpt(&block.text, text)) => None,
        (Some("rust"), None) if block.text.contains("#[test]\n") => {
            Some("has a test that nothing runs: rustdoc leaves tests out")
        }
        (Some("rust"), None | Some("no_run")) if doctested.contains(&block.page) => None,
        (Some("rust"), None) => Some("is no excerpt of an example or of tests/documents/shown"),
        (Some("rust"), Some(_)) => Some("is not compiled as it is marked"),
        (Some("sh"), None) => None,
        (Some("bash" | "go" | "js" | "python"), None) if block.page == OTHER_LANGUAGES => None,
        (Some(other), None) if OTHER.contains(&other) => None,
        _ => Some("has no known language"),
    }
}

#[test]
fn every_block_of_rust_is_compiled() {
    let (doctested, sources) = (doctested(), sources());
    assert!(
        read("scripts/check").contains("cargo test \"${all[@]}\" --doc\n"),
        "no documentation tests"
    );
    assert!(doctested.len() >= 4 && sources.len() >= 10, "{doctested:?}\n{:?}", sources.keys());
    let (mut faults, mut blocks) = (Vec::new(), 0);
    for block in shell::pages(&root()).iter().flat_map(|(page, text)| shell::blocks(page, text)) {
        blocks += u32::from(block.language.starts_with("rust"));
        if let Some(fault) = fault(&block, &doctested, &sources) {
            faults.push(format!("{}:{}: the block {fault}", block.page, block.line));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(blocks > 20, "{blocks} blocks");
}

/// True if the package of that name is in that folder.
fn is_package(name: &str, folder: &str) -> bool {
    let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml"));
    manifest.is_ok_and(|text| text.contains(&format!("name = \"{name}\"")))
}

/// The faults of a page's packages that are to be had as a folder:
/// `NAME = { path = "../tenure/.." }`.
fn missing_packages(page: &str, text: &str) -> Vec<String> {
    let blocks = shell::blocks(page, text);
    let lines = blocks.iter().flat_map(|block| block.text.lines());
    let needed = lines.filter_map(|line| line.split_once(" = { path = \"../tenure/"));
    let needed: Vec<_> =
        needed.map(|(name, rest)| (name, rest.split('"').next().unwrap())).collect();
    let missing = needed.iter().filter(|(name, folder)| !is_package(name, folder));
    let mut faults: Vec<_> =
        missing.map(|(name, folder)| format!("{page}: no {name} in {folder}")).collect();
    let jobs = blocks.iter().filter(|block| block.language == "yaml" && !needed.is_empty());
    let cannot_build = |block: &&shell::Block| {
        block.text.contains("run: cargo ") && !block.text.contains(" ../tenure ")
    };
    faults.extend(jobs.filter(cannot_build).map(|_| format!("{page}: a job without ../tenure")));
    faults
}

#[test]
fn packages_in_folders_are_there_in_jobs_too() {
    let pages = shell::pages(&root());
    let faults: Vec<_> =
        pages.iter().flat_map(|(page, text)| missing_packages(page, text)).collect();
    assert!(faults.is_empty(), "{faults:?}");
    let page = "```toml\ntenure-sim = { path = \"../tenure/sin\" }\n```\n```yaml\n- run: cargo test\n```\n";
    let found = ["page.md: no tenure-sim in sin", "page.md: a job without ../tenure"];
    assert_eq!(missing_packages("page.md", page), found);
}

#[test]
fn code_that_nothing_compiles_is_found() {
    let page = "```rust\n    b();\n    c();\n```\n```rust\nd();\n```\n```rust,ignore\na();\n```\n```\n```\n\
                ```rust\n#[test]\nfn e() {}\n```\n";
    let sources =
        BTreeMap::from([("one.rs".to_owned(), "{\n  a();\n  b();\n  c();\n}\n".to_owned())]);
    let judged = |page_name: &str, doctested: &[&str]| {
        let doctested = doctested.iter().map(|&page| page.to_owned()).collect();
        let blocks = shell::blocks(page_name, page);
        blocks.iter().map(|block| fault(block, &doctested, &sources)).collect::<Vec<_>>()
    };
    let (marked, unknown) =
        (Some("is not compiled as it is marked"), Some("has no known language"));
    let no_excerpt = Some("is no excerpt of an example or of tests/documents/shown");
    let not_run = Some("has a test that nothing runs: rustdoc leaves tests out");
    assert_eq!(judged("page.md", &[]), [None, no_excerpt, marked, unknown, not_run]);
    assert_eq!(judged("page.md", &["page.md"]), [None, None, marked, unknown, not_run]);
}
