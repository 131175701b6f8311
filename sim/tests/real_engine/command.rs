//! The command's output about stores, missing servers, and hunts.

use std::process::Command;

use serde_json::Value;

use super::tenure_sim;

/// A hunt of `mutants` reports the condition that it waits for and that its runs do not meet.
#[test]
fn a_hunt_reports_what_is_never_met() {
    let hunt = ["hunt", "--engine", "real", "--store", "redis", "--runs", "1"];
    let until = ["--until", "login-refused-under-a-leader", "--faults", "resign"];
    let ran = tenure_sim(&[&hunt[..], &until].concat());
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    let lines = String::from_utf8_lossy(&ran.stdout).into_owned();
    let seen = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let unmet: Vec<_> =
        seen.filter_map(|one| Some(one["seen"]["unmet"].as_str()?.to_owned())).collect();
    assert_eq!(unmet, ["login-refused-under-a-leader"]);
}

#[test]
fn a_missing_server_is_named_with_its_package() {
    let ran = Command::new(env!("CARGO_BIN_EXE_tenure-sim"))
        .args(["replay", "--engine", "real", "--store", "redis", "--seed", "1"])
        .env("PATH", "")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(text.contains("apt-get install redis-server"), "{text}");
    assert_eq!(ran.status.code(), Some(1));
}

#[test]
fn stores_belong_to_the_real_engine() {
    for (arguments, what) in [
        (&["run", "--engine", "real"][..], "'--engine real' needs '--store', one of redis, fred"),
        (&["run", "--store", "redis"], "'--store redis' needs '--engine real'"),
        (&["replay", "--seed", "1", "--store", "fred"], "'--store fred' needs '--engine real'"),
        (
            &["run", "--engine", "real", "--store", "paper"],
            "possible values: redis, fred, redis-sentinel",
        ),
        (
            &["run", "--engine", "real", "--store", "redis", "--check-determinism"],
            "'--check-determinism' needs an engine that simulates",
        ),
    ] {
        let ran = tenure_sim(arguments);
        let text = String::from_utf8_lossy(&ran.stderr);
        assert!(text.contains(what), "{arguments:?}: {text}");
        assert_eq!(ran.status.code(), Some(64), "{arguments:?}");
    }
}
