//! The findings that `docs/doctor.md` lists: each is planted by a test.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{kubernetes, postgres, redis, settings, sqlite};

/// Findings that no test plants, and why.
const NOT_PLANTED: &[(&str, &str)] = &[
    ("network-file-system", "a mount of NFS or FUSE, which a test can't make"),
    ("not-granted", "a store that answers and never grants"),
    ("log-fails", "a disk that fails under an append-only file"),
    ("identity-withheld", "a server that only resembles Redis"),
    ("round-trips", "a note in each run"),
    ("clocks", "a note in each run"),
    ("command-ends", "a note in each run"),
    ("server-version", "a note in each run"),
    ("quarantine", "a note at each new store"),
];

#[test]
fn every_finding_of_the_page_is_planted() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/doctor.md");
    let page = fs::read_to_string(page).unwrap();
    let listed = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let listed: BTreeSet<_> = listed.collect();
    let tables = [postgres::FAULTS, redis::FAULTS, settings::FAULTS, sqlite::FAULTS];
    let planted = tables.iter().flat_map(|faults| faults.iter().map(|row| row.1));
    let planted = planted.chain(kubernetes::FAULTS.iter().map(|row| row.1));
    let planted: BTreeSet<_> = planted.chain(sqlite::MOUNTED.iter().copied()).collect();
    let excused: BTreeSet<_> = NOT_PLANTED.iter().map(|(id, _)| *id).collect();
    assert!(planted.is_disjoint(&excused), "planted and excused");
    assert_eq!(listed, planted.union(&excused).copied().collect());
}
