//! The table of docs/operations.md, compared with what the library describes and reports.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use std::{fs, thread};

use metrics::{set_default_local_recorder, with_local_recorder};
use tenure::metrics::Metrics;
use tenure::{Candidate, Config, Elections};

use super::recorder::{Description, Kept};
use super::support::{Remote, config, soon, steady, until};

/// The rows of the table, by name.
pub(crate) fn rows() -> BTreeMap<String, (Description, BTreeSet<String>)> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operations.md");
    let page = fs::read_to_string(page).unwrap();
    let table = page.lines().skip_while(|line| !line.starts_with("| metric | kind | unit |"));
    let rows = table.skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [name, kind, unit, labels, meaning] = cells[..] else { panic!("{row}") };
        let kind = ["counter", "gauge", "histogram"].into_iter().find(|one| *one == kind).unwrap();
        let (unit, meaning) = (unit.to_owned(), meaning.replace('`', ""));
        let labels = labels.split(", ").filter(|label| !label.is_empty());
        let labels = labels.map(|label| label.trim_matches('`').to_owned()).collect();
        (name.trim_matches('`').to_owned(), (Description { kind, unit, meaning }, labels))
    })
    .collect()
}

#[test]
fn the_page_lists_what_is_described() {
    let kept = Kept::default();
    with_local_recorder(&kept, tenure::metrics::describe);
    let listed: BTreeMap<_, _> =
        rows().into_iter().map(|(name, (description, _))| (name, description)).collect();
    assert_eq!(kept.described(), listed);
    assert!(listed.len() > 10);
    let ours = listed.keys().filter(|name| name.starts_with("tenure_")).count();
    assert_eq!(listed.len() - ours, 4, "the names of other libraries");
}

#[tokio::test]
async fn the_start_of_a_driver_describes() {
    let kept = Kept::default();
    let _guard = set_default_local_recorder(&kept);
    let candidate =
        Candidate::builder(Remote::default(), "described").config(config(2_000)).start().unwrap();
    assert_eq!(kept.described().len(), rows().len());
    soon(candidate.stop()).await.unwrap();
}

#[tokio::test]
async fn all_that_is_reported_is_listed() {
    let kept = Kept::default();
    let _guard = set_default_local_recorder(&kept);
    everything_happens(&kept).await;
    let listed: BTreeMap<_, _> =
        rows().into_iter().map(|(name, (_, labels))| (name, labels)).collect();
    let mut reported = BTreeSet::new();
    for (name, labels) in kept.series() {
        let labels: BTreeSet<String> = labels.into_keys().collect();
        assert_eq!(listed.get(&name), Some(&labels), "{name}");
        reported.insert(name);
    }
    let missing: Vec<_> = listed.keys().filter(|name| !reported.contains(*name)).collect();
    assert!(missing.is_empty(), "never reported: {missing:?}");
}

/// A life in which every metric is reported at least once.
async fn everything_happens(kept: &Kept) {
    let is_reported = |name: &str| kept.value(name, "all") > Some(0.0);
    let store = Remote::default();
    let elections = Elections::new(store.clone()).metrics(Metrics::new().leader_names(true));
    let leader = elections.candidate("all").config(steady()).start().unwrap();
    leader.on_elected(async |_| panic!("on purpose"));
    soon(leader.elected()).await.unwrap();
    // A TTL above the recorded quarantine.
    let other = elections.candidate("all").config(config(60_000)).start().unwrap();
    until(|| is_reported("tenure_contradictions_total")).await;

    // Less than a quarter of the validity is left at each renewal.
    let late = Config::builder(Duration::from_secs(3)).renew_interval(Duration::from_millis(2_100));
    let late = late.request_timeout(Duration::from_millis(100));
    let late = late
        .least_retry(Duration::from_millis(10))
        .largest_retry(Duration::from_millis(50))
        .build()
        .unwrap();
    let late = elections.candidate("all:late").config(late).start().unwrap();
    until(|| is_reported("tenure_late_renewals_total")).await;

    // The driver can't run.
    thread::sleep(Duration::from_millis(1_500));
    until(|| is_reported("tenure_driver_late_seconds")).await;
    store.cut();
    until(|| is_reported("tenure_renewal_failures_total")).await;
    store.heal();

    let worker = leader.clone();
    let work = async move { worker.run_while_leader(async |_| panic!("on purpose")).await };
    assert!(soon(tokio::spawn(work)).await.unwrap_err().is_panic());
    until(|| is_reported("tenure_work_lost_total")).await;
    for candidate in [leader, other, late] {
        soon(candidate.stop()).await.unwrap();
    }
}
