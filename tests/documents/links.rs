//! Every relative link of every page leads to a file, and its anchor to a heading of that file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::root;

/// A page without its blocks of code: what looks like a heading or a link there is none.
fn prose(page: &str) -> String {
    let mut in_block = false;
    let lines = page.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        !in_block && !is_fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let mut seen = BTreeMap::<String, u32>::new();
    let mut anchors = Vec::new();
    for heading in headings {
        let anchor = anchor(heading.trim_start_matches('#').trim());
        let count = seen.entry(anchor.clone()).or_default();
        anchors.push(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let dashed = |c: char| if c == ' ' { '-' } else { c };
    heading.to_lowercase().chars().filter(kept).map(dashed).collect()
}

/// The targets of links and pictures: `[text](target)`.
pub(crate) fn targets(page: &str) -> Vec<&str> {
    let after = page.split("](").skip(1);
    after.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target).collect()
}

/// The path with `..` carried out, so that a link that leaves the repository shows.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

pub(crate) fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" && name != "book" {
            pages(&path, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
}

/// The fault of a link of that page, if it has one.
fn fault(page: &Path, target: &str) -> Option<&'static str> {
    let (file, anchor) = target.split_once('#').map_or((target, None), |(f, a)| (f, Some(a)));
    let file =
        if file.is_empty() { page.to_owned() } else { plain(&page.parent().unwrap().join(file)) };
    if !file.starts_with(root()) || !file.exists() {
        return Some("no such file");
    }
    let anchor = anchor?;
    let text = fs::read_to_string(&file).unwrap();
    let found = anchors(&prose(&text)).iter().any(|other| other == anchor);
    (!found).then_some("no such heading")
}

#[test]
fn every_link_leads_somewhere() {
    let mut all = Vec::new();
    pages(&root(), &mut all);
    let (mut faults, mut links, mut with_anchor) = (Vec::new(), 0, 0);
    for page in &all {
        let text = prose(&fs::read_to_string(page).unwrap());
        for target in targets(&text).into_iter().filter(|target| !target.contains("://")) {
            links += 1;
            with_anchor += u32::from(target.contains('#'));
            if let Some(fault) = fault(page, target) {
                faults.push(format!("{}: {target}: {fault}", page.display()));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    let pages = all.len();
    assert!(
        pages > 40 && links > 150 && with_anchor > 40,
        "{pages} pages have {links} links, {with_anchor} of them with an anchor"
    );
}

/// A registry shows them without the repository around them.
#[test]
fn pages_of_packages_have_no_relative_links() {
    for package in ["cli", "core", "servers", "sim", "tenure"] {
        let page = root().join(package).join("README.md");
        let text = prose(&fs::read_to_string(&page).unwrap());
        let relative: Vec<_> =
            targets(&text).into_iter().filter(|target| !target.contains("://")).collect();
        assert!(relative.is_empty(), "{}: {relative:?}", page.display());
    }
}

#[test]
fn anchors_are_those_of_headings() {
    let page = "# `A` page: why?\n```\n# no heading\n```\n## It's here\n## It's here\n";
    assert_eq!(anchors(&prose(page)), ["a-page-why", "its-here", "its-here-1"]);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    assert_eq!(fault(&page, "no-such-file.md"), Some("no such file"));
    assert_eq!(fault(&page, "../../outside.md"), Some("no such file"));
    assert_eq!(fault(&page, "../docs/faq.md#no-such-question"), Some("no such heading"));
    assert_eq!(fault(&page, "../docs/faq.md#can-two-lead-at-once"), None);
}
