//! Logs of the real library.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use tenure::runtime::TokioRuntime;
use tenure::store::{AnyStore, Memory};
use tenure::trace::Log;
use tenure::{Candidate, Config, Elections};
use tenure_sim::audit::{Audit, Report, Settings, Verdict};

/// The audit of all logs of a folder.
fn audited(folder: &tempfile::TempDir, uncertainty: Option<Duration>) -> Report {
    let mut audit = Audit::new(Settings { uncertainty, ..Settings::default() });
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read(&path).unwrap();
        audit.read(&path.display().to_string(), text.as_slice()).unwrap();
    }
    audit.judge().unwrap()
}

/// A lease that outlasts a pause of the machine, and is renewed a few times in each tenure.
fn config() -> Config {
    let config = Config::builder(Duration::from_secs(30));
    config.renew_interval(Duration::from_millis(50)).build().unwrap()
}

fn elections(store: &Memory, log: &Log) -> Elections {
    let elections = Elections::with_runtime(AnyStore::new(store.clone()), Arc::new(TokioRuntime));
    elections.trace(log.clone())
}

/// Leads once for some renewals, with a write, and hands over.
async fn lead(candidate: &Candidate) {
    let tenure = candidate.elected().await.unwrap();
    for _ in 0..3 {
        let write = tenure.trace_write("jobs");
        tokio::time::sleep(Duration::from_millis(100)).await;
        if tenure.is_current() {
            write.accepted();
        }
    }
    candidate.resign().await.unwrap();
}

#[test]
fn two_processes_with_one_store_are_innocent() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Memory::new();
        let logs = [Log::create_in(folder.path()).unwrap(), Log::create_in(folder.path()).unwrap()];
        let start = |log: &Log, name| {
            let candidate = elections(&store, log).candidate("job").name(name).config(config());
            candidate.hold_off(Duration::from_millis(50)).start().unwrap()
        };
        let candidates = [start(&logs[0], "one"), start(&logs[1], "two \"quoted\"")];
        for _ in 0..3 {
            tokio::join!(lead(&candidates[0]), lead(&candidates[1]));
        }
        for candidate in &candidates {
            candidate.stop().await.unwrap();
        }
        logs.iter().for_each(Log::flush);
    });
    for uncertainty in [None, Some(Duration::from_millis(1))] {
        let report = audited(&folder, uncertainty);
        assert_eq!(report.verdict(), Verdict::Held, "{report:#?}");
        assert_eq!((report.files, report.clocks, report.without_end), (2, 1, 0), "{report:#?}");
        assert!(report.tenures >= 6 && report.writes >= 6, "{report:#?}");
        for (property, counts) in &report.properties {
            assert!(counts.compared > 0 && counts.undecided == 0, "{property}: {counts:?}");
        }
    }
}

/// Two stores that know nothing of each other: both candidates lead.
#[test]
fn two_stores_are_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let logs = [Log::create_in(folder.path()).unwrap(), Log::create_in(folder.path()).unwrap()];
        let start = |log: &Log| {
            elections(&Memory::new(), log).candidate("job").config(config()).start().unwrap()
        };
        let candidates = [start(&logs[0]), start(&logs[1])];
        tokio::join!(lead(&candidates[0]), lead(&candidates[1]));
        logs.iter().for_each(Log::flush);
    });
    let report = audited(&folder, None);
    assert_eq!(report.verdict(), Verdict::Violated, "{report:#?}");
    let properties: Vec<_> = report.violations.iter().map(|one| one.property).collect();
    assert!(properties.contains(&"single-leader"), "{report:#?}");
}
