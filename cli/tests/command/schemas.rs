//! The schemas in `docs/schemas` have all that `tenure status --json` and the sidecar print, and
//! nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::hosts::{Host, Place, wait_until};
use super::http::Sidecar;

/// Fields by their paths, each with its types.
type Fields = BTreeSet<(String, String)>;

/// Others would be checked by nothing.
const KEYWORDS: [&str; 6] = ["$schema", "title", "type", "description", "properties", "required"];

fn schema(name: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let text = fs::read_to_string(root.join(format!("docs/schemas/{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn documented(schema: &Value, at: &str, found: &mut Fields) {
    for (word, value) in schema.as_object().unwrap() {
        assert!(KEYWORDS.contains(&word.as_str()), "{at}: {word}");
        match value {
            Value::String(one) if word == "type" => {
                found.insert((at.to_owned(), one.clone()));
            }
            Value::Array(all) if word == "type" => {
                found.extend(
                    all.iter().map(|one| (at.to_owned(), one.as_str().unwrap().to_owned())),
                );
            }
            _ => {}
        }
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        assert!(field["description"].is_string(), "{at}/{name} is not described");
        documented(field, &format!("{at}/{name}"), found);
    }
}

/// Fields of an answer, which has all that are required.
fn printed(answer: &Value, schema: &Value, at: &str, found: &mut Fields) {
    let kind = match answer {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_u64() => "integer",
        Value::String(_) => "string",
        Value::Object(_) => "object",
        Value::Number(_) | Value::Array(_) => panic!("{at}: {answer}"),
    };
    found.insert((at.to_owned(), kind.to_owned()));
    let Some(fields) = answer.as_object() else { return };
    for required in schema["required"].as_array().into_iter().flatten() {
        assert!(fields.contains_key(required.as_str().unwrap()), "{at} lacks {required}");
    }
    for (name, field) in fields {
        printed(field, &schema["properties"][name], &format!("{at}/{name}"), found);
    }
}

fn is_all_of(printed: &Fields, schema: &Value) {
    let mut expected = Fields::new();
    documented(schema, "", &mut expected);
    assert_eq!(*printed, expected);
}

#[test]
fn status_prints_what_its_schema_has() {
    let (place, schema) = (Place::new(), schema("status"));
    // With etcd, whose tokens are no times.
    let mut found = Fields::from([("/since".to_owned(), "null".to_owned())]);
    let mut look = |arguments: &[&str]| {
        let output = place.output(&[&["status", "job", "--json"], arguments].concat());
        let line = String::from_utf8(output.stdout).unwrap();
        printed(&serde_json::from_str(&line).unwrap(), &schema, "", &mut found);
        line
    };
    let missing = format!("sqlite://{}", place.file("none.db").display());
    look(&["--store", &missing]);
    look(&[]);
    let leader = ["run", "job", "--name", "host-a", "--", "sleep", "600"];
    let leader = Host::start(place.tenure().args(leader));
    wait_until("a leader", || place.status(&["status", "job"]) == 0);
    look(&[]);
    let wish = ["handover", "job", "--to", "host-z", "--timeout", "60s"];
    let wish = Host::start(place.tenure().args(wish));
    wait_until("a wish", || look(&[]).contains("\"wanted\":\""));
    drop((leader, wish));
    is_all_of(&found, &schema);
}

#[test]
fn the_sidecar_answers_what_its_schema_has() {
    let (place, schema) = (Place::new(), schema("sidecar"));
    let start = |name: &str, options: &[&str]| {
        let mut command = place.tenure();
        command.args(["sidecar", "job", "--name", name]).args(options);
        Sidecar::start(&place, name, &mut command)
    };
    let first = start("host-a", &[]);
    wait_until("the lead", || first.leads());
    let second = start("host-b", &[]);
    wait_until("a known leader", || !second.standing()["leader"].is_null());
    let alone = start("host-c", &["--store", "redis://127.0.0.1:1"]);
    let mut found = Fields::new();
    for sidecar in [&first, &second, &alone] {
        printed(&sidecar.standing(), &schema, "", &mut found);
    }
    is_all_of(&found, &schema);
}
