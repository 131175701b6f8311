//! Simpler values: optional ones left out, switches off, settings at their defaults, numbers round.
//!
//! A plan is walked through as JSON, so that a field is shrunk without being named here.

use serde_json::Value;

use super::Progress;
use super::numbers::{around, digits, simpler};
use super::search::Search;
use crate::plan::{Plan, Program, Settings};

/// The default latency of a message, in microseconds.
const PLAIN_LATENCY_US: u64 = 1_000;
/// The default number of work items in a TTL.
const PLAIN_WORK: u64 = 10;
/// Fields whose numbers are names and not magnitudes.
const NAMES: [&str; 4] = ["schema", "node", "shift", "ttl_ms"];

/// Resets groups of values that rarely matter to their defaults, each group in one step.
pub(super) fn default_groups<F, P>(search: &mut Search<F, P>)
where
    F: FnMut(&Plan) -> bool,
    P: FnMut(Progress),
{
    search.change(|plan| plan.program = Program::default());
    search.change(|plan| plan.program.elections = Program::default().elections);
    search.change(|plan| plan.program.manner = Program::default().manner);
    search.change(|plan| plan.nodes.iter_mut().for_each(|node| node.settings = None));
    for node in 0..search.best().nodes.len() {
        search.change(|plan| {
            plan.settings = plan.settings_of(node);
            plan.nodes.iter_mut().for_each(|node| node.settings = None);
        });
    }
    search.change(|plan| {
        plan.store.clock_rate_ppm = 0;
        plan.nodes.iter_mut().for_each(|node| node.clock_rate_ppm = 0);
    });
    search.change(|plan| plan.nodes.iter_mut().for_each(|node| node.clock_offset_ms = 0));
    let ttl_ms = search.best().settings.ttl_ms;
    let one_digit = around(ttl_ms, 1)[0];
    if digits(ttl_ms) > 1
        && let Some(scaled) = scaled(search.best(), ttl_ms, one_digit)
    {
        search.take(scaled);
    }
    search.change(|plan| {
        if let Some(plain) = by_default(plan) {
            plan.settings = plain;
        }
    });
    search.change(|plan| plan.latency_us = (PLAIN_LATENCY_US, PLAIN_LATENCY_US));
    search.change(|plan| {
        plan.work.every_ms = (plan.settings.ttl_ms / PLAIN_WORK).max(1);
        plan.work.takes_us = 0;
    });
}

/// Simplifies every value by itself.
pub(super) fn plainer<F, P>(search: &mut Search<F, P>)
where
    F: FnMut(&Plan) -> bool,
    P: FnMut(Progress),
{
    let Ok(value) = serde_json::to_value(search.best()) else { return };
    let mut places = Vec::new();
    walk(&value, String::new(), &mut places);
    // In the order of their names: `calm_from_ms` and `faults` come first.
    for place in &places {
        while plain_at(search, place) {}
    }
}

/// The places of all values that can be simpler, as JSON pointers.
fn walk(value: &Value, place: String, places: &mut Vec<String>) {
    let name = place.rsplit('/').next().unwrap_or_default();
    match value {
        Value::Object(fields) => {
            if name == "settings" && place.starts_with("/nodes") {
                places.push(place.clone());
            }
            fields.iter().for_each(|(name, field)| walk(field, format!("{place}/{name}"), places));
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| walk(item, format!("{place}/{index}"), places));
        }
        // A filter of a trigger; the node of a fault is no filter.
        _ if place.contains("/when/on/") && matches!(name, "node" | "of") => places.push(place),
        Value::Bool(true) if name != "to_store" => places.push(place),
        Value::Number(_) if !NAMES.contains(&name) => places.push(place),
        _ => {}
    }
}

/// Makes one value simpler, if the plan still fails with it.
fn plain_at<F, P>(search: &mut Search<F, P>, place: &str) -> bool
where
    F: FnMut(&Plan) -> bool,
    P: FnMut(Progress),
{
    let Ok(value) = serde_json::to_value(search.best()) else { return false };
    let Some(now) = value.pointer(place) else { return false };
    let plain = plain_number(search.best(), place);
    simpler_values(now, plain).into_iter().any(|other| {
        let mut value = value.clone();
        if let Some(there) = value.pointer_mut(place) {
            *there = other;
        }
        serde_json::from_value(value).is_ok_and(|smaller| search.take(smaller))
    })
}

/// The values to try in place of another.
fn simpler_values(value: &Value, plain: u64) -> Vec<Value> {
    match value {
        Value::Bool(true) => vec![false.into()],
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => simpler(number, plain).into_iter().map(Value::from).collect(),
            (None, Some(number)) => {
                let simpler = simpler(number.unsigned_abs(), plain);
                let negative = |size: u64| 0_i64.checked_sub_unsigned(size).map(Value::from);
                simpler.into_iter().filter_map(negative).collect()
            }
            (None, None) => Vec::new(),
        },
        Value::Object(_) | Value::String(_) => vec![Value::Null],
        Value::Bool(false) | Value::Null | Value::Array(_) => Vec::new(),
    }
}

/// The default number at that place.
fn plain_number(plan: &Plan, place: &str) -> u64 {
    let name = place.rsplit('/').next().unwrap_or_default();
    let of = |settings: Option<Settings>| {
        let value = serde_json::to_value(settings?).ok()?;
        value.get(name)?.as_u64()
    };
    if place.starts_with("/settings") {
        of(by_default(plan)).unwrap_or(0)
    } else if place.starts_with("/nodes") && place.contains("/settings/") {
        of(Some(plan.settings)).unwrap_or(0)
    } else if place.starts_with("/latency_us") {
        PLAIN_LATENCY_US
    } else if name == "every_ms" {
        plan.settings.ttl_ms / PLAIN_WORK
    } else {
        0
    }
}

/// The default settings for its TTL.
fn by_default(plan: &Plan) -> Option<Settings> {
    Settings::of_ttl(std::time::Duration::from_millis(plan.settings.ttl_ms)).ok()
}

/// The plan with another TTL, and all times in proportion.
fn scaled(plan: &Plan, from: u64, to: u64) -> Option<Plan> {
    let mut value = serde_json::to_value(plan).ok()?;
    scale(&mut value, from, to);
    serde_json::from_value(value).ok()
}

fn scale(value: &mut Value, from: u64, to: u64) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let is_a_time = name.ends_with("_ms") && name != "clock_offset_ms";
                match field.as_i64() {
                    Some(time) if is_a_time && time != 0 => *field = in_proportion(time, from, to),
                    _ => scale(field, from, to),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| scale(item, from, to)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// At least one, so that no duration becomes zero.
fn in_proportion(time: i64, from: u64, to: u64) -> Value {
    let scaled = u128::from(time.unsigned_abs()) * u128::from(to) / u128::from(from);
    let scaled = i64::try_from(scaled).unwrap_or(i64::MAX).max(1);
    (time.signum() * scaled).into()
}
