//! Requests as the page sends them. `scripts/playground check` sends them in a browser, and compares
//! the hashes of runs with those of the command.

#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

use serde_json::{Value, json};
use tenure_playground::answer;

fn ask(request: &Value) -> Value {
    serde_json::from_str(&answer(&request.to_string())).unwrap()
}

fn plan(answer: &Value) -> &str {
    answer["plan"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

fn quiet(members: u64) -> String {
    let answer = ask(&json!({ "do": "preset", "scenario": null, "members": members }));
    plan(&answer).to_owned()
}

fn changed(plan: &str, change: &Value) -> Value {
    ask(&json!({ "do": "change", "plan": plan, "change": change }))
}

fn error(answer: &Value) -> &str {
    answer["error"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

fn run(plan: &str, contender: &str) -> Value {
    ask(&json!({ "do": "run", "plan": plan, "contender": contender }))
}

#[test]
fn a_cut_off_key_with_a_ttl_has_two_leaders() {
    let plan_of_quiet = quiet(3);
    let calm = run(&plan_of_quiet, "key-flag");
    assert_eq!(calm["lines"]["overlaps"], json!([]));
    let leads =
        calm["run"]["items"].as_array().unwrap().iter().find(|item| item["kind"] == "leads");
    let node = &leads.unwrap()["node"];
    let add = json!({ "change": "add", "tool": "cut-off", "node": node, "at_ms": 10_000 });
    let cut = changed(&plan_of_quiet, &add);
    let below = run(plan(&cut), "key-flag");
    assert!(below["lines"]["longest"].as_u64().unwrap() > 5_000_000_000, "{}", below["lines"]);
    assert!(below["lines"]["why"].as_str().unwrap().contains("no clock ends that"));
    assert_eq!(below["run"]["violations"][0]["property"], "single-leader");
    let above = run(plan(&cut), "tenure");
    assert_eq!(above["lines"]["overlaps"], json!([]));

    let shrink = |contender| {
        ask(&json!({ "do": "shrink", "plan": plan(&cut), "contender": contender, "runs": 200 }))
    };
    let small = shrink("key-flag");
    assert_ne!(run(plan(&small), "key-flag")["lines"]["longest"], 0);
    assert!(error(&shrink("tenure")).contains("no two members lead"));
}

#[test]
fn plans_are_changed_without_a_rounded_number() {
    let seed = (u64::MAX - 1).to_string();
    let first = changed(&quiet(3), &json!({ "change": "seed", "seed": seed }));
    assert!(plan(&first).contains(&seed) && first["short"].as_str().unwrap().contains(&seed));
    let add = json!({ "change": "add", "tool": "pause", "node": 2, "at_ms": 39_000 });
    let mut now = changed(plan(&first), &add);
    let faults = |now: &Value| run(plan(now), "tenure")["lines"]["faults"].clone();
    assert_eq!(
        (&faults(&now)[0]["at_ms"], &faults(&now)[0]["for_ms"]),
        (&json!(39_000), &json!(9_000))
    );
    let moved = json!({ "change": "move", "index": 0, "at_ms": 41_000, "for_ms": 500 });
    now = changed(plan(&now), &moved);
    assert_eq!(
        (&faults(&now)[0]["at_ms"], &faults(&now)[0]["for_ms"]),
        (&json!(41_000), &json!(500))
    );
    for (change, field, value) in [
        (json!({ "change": "ttl", "ms": 6_000 }), "ttl_ms", json!(6_000)),
        (json!({ "change": "renew", "ms": 1_000 }), "renew_ms", json!(1_000)),
        (json!({ "change": "members", "count": 5 }), "members", json!(5)),
    ] {
        now = changed(plan(&now), &change);
        assert_eq!(run(plan(&now), "tenure")["lines"][field], value, "{change}");
    }
    assert_eq!(faults(&now).as_array().unwrap().len(), 1);
    // The fault's member is gone.
    now = changed(plan(&now), &json!({ "change": "members", "count": 2 }));
    assert_eq!(faults(&now), json!([]));
    let fast = json!({ "change": "add", "tool": "fast-clock", "node": 1, "at_ms": 0 });
    now = changed(plan(&now), &fast);
    assert!(plan(&now).contains("\"clock_rate_ppm\": 100000"));
    assert!(!plan(&changed(plan(&now), &fast)).contains("100000"), "taken back");
}

#[test]
fn what_is_refused_is_named_with_its_bound() {
    let of = |change: &Value| error(&changed(&quiet(3), change)).to_owned();
    let store = json!({ "change": "add", "tool": "lose-data", "node": 1, "at_ms": 1 });
    assert_eq!(of(&store), "\"lose its data\" is a fault of the store: choose its lane");
    let far = json!({ "change": "add", "tool": "pause", "node": 7, "at_ms": 1 });
    assert_eq!(of(&far), "field \"faults[0].what.node\" is 7, and must be 0 to 2");
    assert!(of(&json!({ "change": "remove", "index": 3 })).contains("index 3"));
    assert!(
        of(&json!({ "change": "seed", "seed": "-1" })).contains("from 0 to 18446744073709551615")
    );
    assert!(of(&json!({ "change": "renew", "ms": 2_900 })).contains("contradict each other: "));
    assert!(of(&json!({ "change": "members", "count": 0 })).contains("nodes.length"));
    let read = |plan: &str| ask(&json!({ "do": "read", "plan": plan }));
    assert!(error(&read("{")).contains("line 1"));
    assert_eq!(plan(&read(&quiet(2))), quiet(2));
    assert!(error(&ask(&json!({ "do": "fly" }))).contains("unknown variant"));
    assert!(answer("\u{0}").contains("error"));
}

#[test]
fn the_menu_has_what_there_is_to_choose_from() {
    let menu = ask(&json!({ "do": "menu" }));
    assert_eq!(menu["scenarios"].as_array().unwrap().len(), 7);
    for scenario in menu["scenarios"].as_array().unwrap() {
        let request = json!({ "do": "preset", "scenario": scenario["value"], "members": 3 });
        let preset = ask(&request);
        for contender in menu["contenders"].as_array().unwrap() {
            let run = run(plan(&preset), contender["value"].as_str().unwrap());
            assert!(run["lines"]["hash"].is_string(), "{run}");
        }
    }
    for tool in menu["tools"].as_array().unwrap() {
        let node = if tool["of_store"] == true { Value::Null } else { json!(0) };
        let add = json!({ "change": "add", "tool": tool["value"], "node": node, "at_ms": 9_000 });
        let run = run(plan(&changed(&quiet(3), &add)), "tenure");
        assert!(run["lines"]["hash"].is_string(), "{tool}: {run}");
    }
}
