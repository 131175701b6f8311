//! The files of ops/ name only what exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::table::rows;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// The text of every file in ops/.
fn texts() -> Vec<(PathBuf, String)> {
    let folders = ["prometheus", "grafana"].map(|folder| root().join("ops").join(folder));
    let files = folders.into_iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = files.map(|file| file.unwrap().path());
    paths.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// The words that have the form of a metric's name.
fn metrics(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("tenure_") || word.starts_with("leader_"))
}

#[test]
fn every_metric_that_ops_names_is_in_the_table() {
    let rows = rows();
    let mut named = BTreeSet::new();
    for (path, text) in texts() {
        for word in metrics(&text) {
            // A histogram has these series.
            let of_histogram = ["_sum", "_count", "_bucket"].into_iter().find_map(|end| {
                let name = word.strip_suffix(end)?;
                rows.get(name).filter(|(row, _)| row.kind == "histogram").map(|_| name)
            });
            let plain = rows.get(word).filter(|(row, _)| row.kind != "histogram").map(|_| word);
            let name = plain.or(of_histogram);
            named.insert(name.unwrap_or_else(|| panic!("{}: {word}", path.display())).to_owned());
        }
    }
    let ours = rows.keys().filter(|name| name.starts_with("tenure_"));
    let unused: Vec<_> = ours.filter(|name| !named.contains(*name)).collect();
    assert!(unused.is_empty(), "no rule, panel or sample has these: {unused:?}");
}

#[test]
fn every_alert_has_a_section_of_the_runbook() {
    let runbook = fs::read_to_string(root().join("docs/runbook.md")).unwrap();
    let headings = runbook.lines().filter_map(|line| line.strip_prefix("## "));
    let anchors: BTreeSet<String> =
        headings.map(|heading| heading.to_lowercase().replace(' ', "-")).collect();
    let rules = fs::read_to_string(root().join("ops/prometheus/tenure.rules.yml")).unwrap();
    let alerts = rules.matches("- alert: ").count();
    let links: Vec<&str> =
        rules.lines().filter_map(|line| line.trim().strip_prefix("runbook: ")).collect();
    assert_eq!(links.len(), alerts);
    assert!(alerts >= 6);
    for link in links {
        let anchor = link.strip_prefix("docs/runbook.md#").unwrap();
        assert!(anchors.contains(anchor), "{link} is not among {anchors:?}");
    }
}
