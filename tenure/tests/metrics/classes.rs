//! Classes of elections: what the label `key_class` says.

use std::collections::BTreeSet;

use metrics::set_default_local_recorder;
use tenure::Elections;
use tenure::metrics::Metrics;
use tenure::store::Memory;

use super::recorder::Kept;
use super::support::{config, soon, until};

fn classes(kept: &Kept) -> BTreeSet<String> {
    kept.series().into_iter().filter_map(|(_, labels)| labels.get("key_class").cloned()).collect()
}

#[tokio::test]
async fn elections_of_one_class_share_their_series() {
    let kept = Kept::default();
    let _guard = set_default_local_recorder(&kept);
    let elections = Elections::new(Memory::new());
    let start = |number| elections.candidate(format!("shared:{number}")).config(config(20_000));
    let candidates: Vec<_> = (0..250).map(|number| start(number).start().unwrap()).collect();
    for candidate in &candidates {
        soon(candidate.elected()).await.unwrap();
    }
    assert_eq!(classes(&kept), BTreeSet::from(["shared".to_owned()]));
    assert_eq!(kept.value("tenure_leading", "shared"), Some(250.0));
    let series = kept.series().len();
    assert!(series < 40, "{series}");
    drop(candidates);
    until(|| kept.value("tenure_candidates", "shared") == Some(0.0)).await;
}

#[tokio::test]
async fn keys_are_mapped_to_classes() {
    let kept = Kept::default();
    let _guard = set_default_local_recorder(&kept);
    let last = Metrics::new().key_class(|key| key.as_str().rsplit('/').next().unwrap().to_owned());
    let elections = Elections::new(Memory::new()).metrics(last);
    let mapped = elections.candidate("acme/mapped").config(config(2_000)).start().unwrap();
    let own = Metrics::new().key_class(|_| "own".to_owned());
    let other = elections.candidate("acme/x").config(config(2_000)).metrics(own).start().unwrap();
    soon(mapped.elected()).await.unwrap();
    soon(other.elected()).await.unwrap();
    assert_eq!(classes(&kept), BTreeSet::from(["mapped", "own"].map(ToOwned::to_owned)));
    soon(mapped.stop()).await.unwrap();
    soon(other.stop()).await.unwrap();
}
