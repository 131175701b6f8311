//! The certificate and the search for the least margin, by command.

use serde_json::Value;

use super::{command, json, path, refused};

#[test]
fn a_certificate_names_the_frontier_and_gives_the_plans_on_both_sides_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let plans = folder.path().to_str().unwrap();
    let said =
        json(&["tolerance", "--ttl", "5s", "--magnitudes", "clock-back", "--plan-out", plans]);
    let row = &said["rows"][0];
    let (holds, breaks) = (row["holds"].as_u64().unwrap(), row["breaks"].as_u64().unwrap());
    assert!(holds + 1 == breaks && row["agrees"] == true, "{row}");
    let sides = ["holds", "breaks"].map(|side| {
        let plan = path(folder.path(), &format!("clock-back-{side}.json"));
        let text = std::fs::read_to_string(&plan).unwrap();
        assert_eq!(command(&["replay", "--beyond", "--plan", &plan]).status.code(), Some(1));
        text
    });
    assert_ne!(sides[0], sides[1]);
    assert!(sides[0].contains(&holds.to_string()) && sides[1].contains(&breaks.to_string()));
}

#[test]
fn the_least_margin_found_is_that_of_its_plan() {
    let folder = tempfile::tempdir().unwrap();
    let plan = path(folder.path(), "least.json");
    let said = json(&["margin", "--ttl", "5s", "--runs", "40", "--plan-out", &plan]);
    let lapsed = said["least"].as_array().unwrap().iter().find(|one| one["after"] == "lapsed");
    let found = |key: &str| lapsed.unwrap()[key].as_f64().unwrap();
    assert!(found("margin_ms") >= found("bound_ms") && said["violation"] == Value::Null, "{said}");
    let replayed = json(&["replay", "--plan", &plan]);
    assert_eq!(replayed["verdict"], "held", "{replayed}");
}

#[test]
fn settings_that_cannot_hold_and_names_that_nobody_knows_are_refused() {
    refused(
        &["tolerance", "--ttl", "5s", "--renew-interval", "9s"],
        &["renew interval is 9s", "within 1ms and 5s"],
    );
    refused(&["tolerance", "--magnitudes", "height"], &["unknown magnitude \"height\"", "drift"]);
    refused(&["tolerance", "--ttl", "5q"], &["'5q'", "15s or 1500ms"]);
    refused(&["margin", "--runs", "0"], &["'--runs <RUNS>'"]);
    refused(&["margin", "--plan", "/nowhere/plan.json"], &["/nowhere/plan.json"]);
}
